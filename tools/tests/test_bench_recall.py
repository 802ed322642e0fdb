"""What recall is measured on, and how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native._ranking import Ranked

from tools.bench.bm25 import PlainBm25
from tools.bench.embedding import letters
from tools.bench.recall import Tally, report, through_source
from tools.bench.sets import Question, chinese, locomo


def test_the_chinese_set_is_large_enough_and_its_evidence_exists() -> None:
    own = chinese()
    names = {name for name, _, _ in own.memories}
    assert len({text for _, text, _ in own.memories}) == len(own.memories) >= 200
    assert len({question.text for question in own.questions}) == len(own.questions) >= 60
    assert all(question.evidence and question.evidence <= names for question in own.questions)
    contents = " ".join(text for _, text, _ in own.memories)
    assert not any(question.text in contents for question in own.questions)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    turns = [
        {"speaker": "Ann", "dia_id": "D1:1", "text": "I adopted a cat."},
        {"speaker": "Bob", "dia_id": "D1:2", "text": "What a joy!"},
    ]
    later = [{"speaker": "Ann", "dia_id": "D10:1", "text": "It snows."}]
    asked = [
        {"question": "Who adopted a cat?", "category": 4, "evidence": ["D1:1"]},
        {"question": "Who never spoke?", "category": 5, "evidence": ["D1:1"]},
        {"question": "What is unknown?", "category": 3, "evidence": []},
    ]
    conversation = {
        "speaker_a": "Ann",
        "session_10": later,
        "session_10_date_time": "1:56 pm on 8 May, 2023",
        "session_1": turns,
        "session_1_date_time": "12:09 am on 13 September, 2022",
    }
    file = tmp_path / "locomo.json"
    file.write_text(
        json.dumps([{"sample_id": "conv-1", "conversation": conversation, "qa": asked}])
    )
    return file


def test_a_locomo_file_is_read_in_order_of_its_sessions(sample: Path) -> None:
    digest, (talk,) = locomo(sample)
    assert len(digest) == 12
    assert talk.memories == (
        ("D1:1", "Ann: I adopted a cat.", "2022-09-13T00:09:00Z"),
        ("D1:2", "Bob: What a joy!", "2022-09-13T00:09:00Z"),
        ("D10:1", "Ann: It snows.", "2023-05-08T13:56:00Z"),
    )
    assert [question.text for question in talk.questions] == ["Who adopted a cat?"]


def test_the_report_covers_a_locomo_file_or_says_that_it_is_skipped(sample: Path) -> None:
    lines = list(report(sample, vectors=False, quick=True))
    (about,) = [line for line in lines if line.startswith("LoCoMo")]
    assert "1 conversations, 3 turns, 1 questions" in about
    assert lines[-4].split()[1:5] == ["1.000"] * 4, "hybrid finds the cat"
    without = list(report(None, vectors=False, quick=True))
    assert any(line.startswith("LoCoMo: SKIPPED") for line in without)


def test_recall_is_the_share_of_the_evidence_that_was_found() -> None:
    tally = Tally()
    found = ["a", "x", "y", "z", "w", "b"]
    tally.add(Question("?", 4, frozenset("ab")), lambda depth: found[:depth])
    assert tally.line("it").split()[1:5] == ["0.500", "0.500", "1.000", "1.000"]


def test_the_source_lets_through_all_high_and_four_medium() -> None:
    scores = [0.9, 0.5, 0.5, 0.5, 0.5, 0.5, 0.7, 0.2]
    rows = [Ranked(id=str(n), score=score, via="") for n, score in enumerate(scores)]
    assert [row.id for row in through_source(rows, 10)] == ["0", "6", "1", "2", "3", "4"]
    assert [row.id for row in through_source(rows, 2)] == ["0", "1"]


def test_the_yardstick_counts_words_as_they_are() -> None:
    assert PlainBm25(["a dog", "a cat", "cats"]).rank("cat", 1) == [1]


def test_the_stand_in_knows_letters() -> None:
    cats, cat, dog = map(letters, ("cats", "cat", "dog"))

    def alike(one: list[float], other: list[float]) -> float:
        return sum(a * b for a, b in zip(one, other, strict=True))

    assert alike(cats, cat) > alike(dog, cat)
    assert alike(cat, cat) == pytest.approx(1.0)

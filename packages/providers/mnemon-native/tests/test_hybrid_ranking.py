"""What `hybrid` recall finds, in which order, and how relevant it says it is."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._hybrid import (
    SIGNALS,
    HybridRanking,
    lexical,
    priors,
    vectors,
)
from dsh_mnemon_provider_mnemon_native._hybrid.relevance import relevance
from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._index.schema import FILE
from dsh_mnemon_provider_mnemon_native._ranking import Answer, Query, Scope
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._store.sessions import open_session
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._write.links import forget

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TIME = "2026-11-30T12:00:00Z"
HIGH, LOW = 0.6, 0.25

# Bystanders, so that words have the rarity they have in a real store.
OTHERS = (
    "Lunch is at noon in the canteen",
    "The printer on the third floor jams",
    "Her flight to Lisbon leaves on Friday",
    "Invoices are paid within thirty days",
    "The garden needs water twice a week",
    "Backups run every night at three",
    "The museum is closed on Mondays",
    "His guitar has a broken string",
    "The new logo is dark green",
    "Trains to the coast leave hourly",
)

pytestmark = pytest.mark.requirement("native:hybrid:signals")


class Memory:
    """A store with the ranking under test."""

    def __init__(self, path: Path) -> None:
        numbers = itertools.count(1)
        create_file(path)
        self.session: Session = open_session(
            path, index=QuickIndex, clock=lambda: NOW, new_id=lambda: f"m{next(numbers)}"
        )

    @property
    def index(self) -> QuickIndex:
        assert isinstance(self.session.index, QuickIndex)
        return self.session.index

    def put(self, content: str, vector: tuple[float, ...] | None = None, **values: Any) -> str:
        fields: dict[str, Any] = {
            "rowid": 0,
            "id": self.session.new_id(),
            "content": content,
            "category": "general",
            "importance": 3,
            "tags": (),
            "entities": (),
            "source": "user",
            "access_count": 0,
            "created_at": TIME,
            "updated_at": TIME,
            **values,
        }
        with self.session.writing() as writing:
            row = writing.insert(Row(**fields), vector)
        return row.id

    def put_all(self, contents: tuple[str, ...] = OTHERS) -> list[str]:
        return [self.put(content) for content in contents]

    def link(self, source: str, target: str, type: str, weight: float = 1.0) -> None:
        with self.session.writing() as writing:
            writing.edge(source, target, type, weight, "{}", TIME)

    def recall(self, text: str, without: str = "", **options: Any) -> Answer:
        ranking = HybridRanking(self.session.connection, self.index, SIGNALS - {without})
        with self.session.reading():
            answer = ranking.recall(Query(text=text, **options))
        ranking.committed(())
        ranking.close()
        return answer

    def ids(self, text: str, without: str = "", **options: Any) -> list[str]:
        return [row.id for row in self.recall(text, without, **options).rows]

    def scores(self, text: str, without: str = "", **options: Any) -> dict[str, float]:
        return {row.id: row.score for row in self.recall(text, without, **options).rows}


@pytest.fixture
def memory(path: Path) -> Iterator[Memory]:
    opened = Memory(path)
    yield opened
    opened.session.index.close()
    opened.session.connection.close()


# -- relevance (D63) --------------------------------------------------------------------------


@pytest.mark.requirement("native:hybrid:relevance")
def test_an_empty_store_has_no_answer(memory: Memory) -> None:
    answer = memory.recall("anything at all")
    assert answer.rows == ()
    assert answer.hint == "sparse_results"


@pytest.mark.parametrize(
    "text",
    [
        "quantum chromodynamics",
        "what was it about",
        "是什么",
        '"AND" OR NOT *',
        '""" \'\' ((',
        "🎉🎉",
        "stems : lunch* NEAR(",
        "x" * 2000,
    ],
)
@pytest.mark.requirement("native:hybrid:relevance")
def test_what_matches_nothing_returns_nothing_or_little(memory: Memory, text: str) -> None:
    memory.put_all()
    assert all(score < HIGH for score in memory.scores(text).values())
    if "lunch" not in text:
        assert memory.ids(text) == []


@pytest.mark.requirement("native:hybrid:relevance")
def test_the_syntax_of_full_text_search_is_just_words(memory: Memory) -> None:
    lunch, *_ = memory.put_all()
    assert memory.ids('lunch" OR "printer* NOT -noon')[:1] == [lunch]


@pytest.mark.requirement("native:hybrid:relevance")
def test_scores_do_not_depend_on_what_else_was_found(memory: Memory) -> None:
    memory.put_all()
    before = memory.scores("broken printer of Ada Lovelace's office")
    assert before
    assert max(before.values()) < HIGH, "one word of four is no high relevance"


@pytest.mark.requirement("native:hybrid:relevance")
def test_a_full_match_is_fully_relevant_and_a_paraphrase_is_found(memory: Memory) -> None:
    memory.put_all()
    wanted = memory.put("The billing service stores its records in PostgreSQL")
    assert memory.scores("billing service records PostgreSQL")[wanted] > 0.85
    assert memory.ids("Which database holds the bills?")[:1] == [wanted]


@pytest.mark.requirement("native:hybrid:relevance")
def test_a_topical_match_outranks_a_shared_entity_and_importance(memory: Memory) -> None:
    memory.put_all()
    shared = [
        memory.put(f"Atlas {text}", entities=("Atlas",), importance=5)
        for text in ("moved its meeting to Friday", "got a new room", "was praised by the board")
    ]
    topical = memory.put("The vector database we chose is Qdrant", importance=1)
    ids = memory.ids("Which vector database does Atlas use?")
    assert ids[0] == topical
    scores = memory.scores("Which vector database does Atlas use?")
    assert all(scores.get(id, 0.0) < LOW for id in shared)


@pytest.mark.requirement("native:hybrid:relevance")
def test_the_curve_is_fixed_and_rises() -> None:
    values = [relevance(step / 100) for step in range(101)]
    assert values == sorted(values)
    assert (values[0], values[-1], relevance(1.3)) == (0.0, 1.0, 1.0)


@pytest.mark.requirement("native:hybrid:relevance")
def test_all_scores_lie_between_0_and_1(memory: Memory) -> None:
    memory.put("printer printer", importance=5, tags=("printer",), entities=("Printer",))
    memory.put_all()
    assert all(0 < score <= 1 for score in memory.scores("printer").values())


# -- words --------------------------------------------------------------------------------------


def test_word_forms_are_one_word(memory: Memory) -> None:
    memory.put_all()
    wanted = memory.put("She bought three children's books")
    assert memory.ids("buying a book for a child")[:1] == [wanted]


def test_an_unknown_word_stands_for_those_that_begin_with_it(memory: Memory) -> None:
    memory.put_all()
    wanted = memory.put("We chose PostgreSQL for its transactions")
    assert memory.ids("postgres") == [wanted]
    assert memory.ids("pos") == []
    assert memory.ids("postgresqlite") == []


@pytest.mark.parametrize("word", ["猫", "缓存", "机器学习", "订单"])
def test_chinese_words_of_any_length_are_found(memory: Memory, word: str) -> None:
    memory.put_all(("今天下雨", "我们去爬山", "晚饭吃面"))
    wanted = memory.put("订单缓存用机器学习预测，也叫猫")
    assert memory.ids(word) == [wanted]


def test_a_paraphrased_chinese_question_is_answered(memory: Memory) -> None:
    memory.put_all(("今天下雨", "我们去爬山", "晚饭吃面", "快递柜在门口", "会议改到下午"))
    wanted = memory.put("牙医说右下的智齿要拔，约在下个月八号")
    assert memory.ids("什么时候去拔牙？")[:1] == [wanted]


def test_labels_count_and_content_with_a_label_counts_more(memory: Memory) -> None:
    memory.put_all()
    label = memory.put("It is replaced every spring", tags=("zeppelin",))
    content = memory.put("The zeppelin is replaced in spring")
    both = memory.put("The zeppelin is painted in spring", tags=("zeppelin",))
    scores = memory.scores("zeppelin hangar")
    assert scores[both] > scores[content] > scores[label] > 0
    assert label not in memory.ids("zeppelin hangar", "labels")


def test_what_tells_more_comes_first(memory: Memory) -> None:
    memory.put_all()
    short = memory.put("Ann: zeppelin!")
    asking = memory.put("Did the old zeppelin ever fly over the northern harbour?")
    telling = memory.put("The old zeppelin flew over the northern harbour that summer")
    assert memory.ids("zeppelin") == [telling, asking, short]
    flat = memory.scores("zeppelin", "substance")
    assert len(set(flat.values())) == 1


def test_commoner_words_do_not_widen_a_large_pool(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lexical, "_POOL", 1)
    memory.put_all()
    wanted = memory.put("The zeppelin leaves on Friday")
    answer = memory.recall("zeppelin leave", "neighbours")
    assert [row.id for row in answer.rows] == [wanted]
    assert answer.rows[0].score > 0.8


# -- neighbours ---------------------------------------------------------------------------------

TALK = (
    "Ann: Have you decided on a place for the wedding?",
    "Bob: Yes, we took the old mill by the river.",
    "Ann: Lovely, I know it well.",
)


def test_the_answer_to_a_question_is_found_by_the_question(memory: Memory) -> None:
    memory.put_all()
    question, answer, _ = memory.put_all(TALK)
    asked = "Which place was decided on for the wedding?"
    found = memory.recall(asked)
    assert {row.id for row in found.rows[:2]} == {question, answer}
    assert {row.id: row.via for row in found.rows}[answer] == "temporal"
    assert found.rows[1].score >= HIGH
    assert answer not in memory.ids(asked, "neighbours")


def test_what_lies_beside_a_find_needs_a_word_of_its_own(memory: Memory) -> None:
    memory.put_all()
    *_, bystander = memory.put_all(TALK)
    assert bystander not in memory.ids("Which place was decided on for the wedding?")
    # "Ann" is a word of its own, and the wedding was spoken of two turns before.
    assert bystander in memory.ids("What does Ann know of the wedding?")


def test_facts_stand_for_themselves(memory: Memory) -> None:
    memory.put_all()
    memory.put("Ann keeps bees")
    other = memory.put("Ann drives a van")
    scores = memory.scores("Where does Ann keep bees?")
    assert scores.get(other, 0.0) < HIGH


# -- entities, graph, dates, priors ---------------------------------------------------------------


def test_carrying_the_name_that_was_asked_for_helps(memory: Memory) -> None:
    memory.put_all()
    plain = memory.put("New York office opens at nine o'clock daily")
    named = memory.put("New York office opens at nine o'clock always", entities=("New York",))
    query = "When does the New York office open, and who guards the door?"
    scores = memory.scores(query, "labels")
    assert scores[named] > scores[plain]
    assert memory.recall(query).rows[0].via == "entity"
    without = memory.recall(query, "entities")
    assert all(row.signals.entity == 0 for row in without.rows)


def test_chinese_names_are_recognized(memory: Memory) -> None:
    memory.put_all(("今天下雨", "我们去爬山", "晚饭吃面", "快递柜在门口"))
    named = memory.put("《三体》读到第二部", entities=("三体",))
    (row,) = memory.recall("三体看到哪里了").rows
    assert (row.id, row.signals.entity) == (named, 1.0)


def test_what_is_superseded_steps_back_behind_its_successor(memory: Memory) -> None:
    memory.put_all()
    old = memory.put("The staging server password rotates monthly")
    new = memory.put("Rotation now happens every week")
    memory.link(new, old, "supersedes")
    first, second = memory.recall("When does the staging server password rotate?").rows[:2]
    assert (first.id, first.via, first.superseded) == (new, "supersedes", False)
    assert (second.id, second.superseded) == (old, True)
    assert second.score < HIGH
    assert memory.ids("When does the staging server password rotate?", "graph")[0] == old


def test_causes_come_along_most_of_all_when_asked_for(memory: Memory) -> None:
    memory.put_all()
    effect = memory.put("The launch slipped to September")
    cause = memory.put("Chips were out of stock all summer")
    memory.link(cause, effect, "causal", 0.9)
    why = memory.recall("Why did the launch slip to September?").rows
    assert [(row.id, row.via) for row in why[:2]] == [(effect, "keyword"), (cause, "causal")]
    general = memory.scores("launch slipped September")
    assert why[1].score > general[cause] > 0
    assert why[1].signals.graph == pytest.approx(why[1].score)


def test_links_stay_inside_the_filter(memory: Memory) -> None:
    memory.put_all()
    one = memory.put("The launch slipped to September", source="agent")
    other = memory.put("Chips were out of stock", source="user")
    memory.link(one, other, "semantic")
    asked = "launch slipped September"
    assert other in memory.ids(asked)
    assert memory.ids(asked, scope=Scope(source="agent")) == [one]
    assert memory.ids(asked, scope=Scope(source="agent", category="fact")) == []


def test_a_question_for_a_time_prefers_what_names_one(memory: Memory) -> None:
    memory.put_all()
    undated = memory.put("Maria adopted a gentle puppy called Biscuit")
    dated = memory.put("Maria adopted a gentle puppy last week")
    asked = "When did Maria adopt a puppy?"
    assert memory.ids(asked)[:2] == [dated, undated]
    scores = memory.scores(asked, "dates")
    assert scores[dated] == pytest.approx(scores[undated], abs=0.02)
    assert memory.recall("Maria puppy", intent="WHEN").intent_source == "override"


def test_recency_and_importance_settle_what_is_equal(memory: Memory) -> None:
    memory.put_all()
    old = memory.put("zeppelin hangar one", created_at="2024-01-01T00:00:00Z", importance=5)
    new = memory.put("zeppelin hangar two", importance=1)
    middle = memory.put("zeppelin hangar three", importance=3)
    assert memory.ids("zeppelin hangar")[0] == old
    assert memory.ids("zeppelin hangar", "importance")[-1] == old
    assert memory.ids("zeppelin hangar", "recency") == [old, middle, new]


def test_the_priors_stay_near_one() -> None:
    assert priors.recency(0.0, 1e12) == pytest.approx(1.0)
    assert priors.recency(2.0, 1.0) == priors.recency(1.0, 1.0) < 1.05
    assert [priors.importance(level) for level in (0, 1, 3, 5, 9)] == pytest.approx(
        [0.98, 0.98, 1.0, 1.02, 1.02]
    )


# -- vectors --------------------------------------------------------------------------------------


def axis(number: int, share: float = 1.0) -> tuple[float, ...]:
    return tuple(share if place == number else 0.01 for place in range(16))


def test_meaning_finds_what_words_do_not(memory: Memory) -> None:
    for number, content in enumerate(OTHERS):
        memory.put(content, axis(number))
    wanted = memory.put("Our feline is called Mittens", axis(12))
    both = memory.put("The cat's name is Tom", axis(12))
    asked = "What is the name of the cat?"
    answer = memory.recall(asked, vector=axis(12))
    assert [(row.id, row.via) for row in answer.rows[:2]] == [(both, "hybrid"), (wanted, "vector")]
    assert answer.rows[1].score >= HIGH
    assert answer.rows[1].signals.similarity > 0.7
    assert wanted not in memory.ids(asked, "vectors", vector=axis(12))
    assert wanted not in memory.ids(asked)


def test_vectors_of_another_model_find_nothing(memory: Memory) -> None:
    memory.put("Our feline is called Mittens", axis(1))
    assert memory.ids("cat", vector=(1.0, 2.0)) == []


def test_vectors_respect_the_filter_and_substance(memory: Memory) -> None:
    inside = memory.put("Our feline is called Mittens", axis(1), source="agent")
    memory.put("The tomcat sleeps", axis(1))
    scope = Scope(source="agent")
    assert memory.ids("kitten", vector=axis(1), scope=scope) == [inside]
    full = memory.scores("kitten", "substance", vector=axis(1), scope=scope)[inside]
    assert full > memory.scores("kitten", vector=axis(1), scope=scope)[inside]


def test_turns_are_judged_together_with_those_around(memory: Memory) -> None:
    turns = [memory.put(f"Ann: turn number {n} here", axis(n)) for n in range(3)]
    lone = memory.put("turn without company", axis(1, 0.5))
    similarity = {r.id: r.signals.similarity for r in memory.recall("x", vector=axis(1)).rows}
    assert turns[1] in similarity
    assert similarity[turns[0]] > 0, "its neighbour is what was asked for"
    assert lone in similarity


def test_the_background_is_what_a_model_finds_in_any_text() -> None:
    assert vectors.background([0.8] * 5) == 0.1
    assert vectors.background([0.8] * 40) == pytest.approx(0.8)
    assert vectors.background([-0.5] * 40) == 0.1
    assert vectors.background([1.0] * 40) == 0.9


# -- robustness -----------------------------------------------------------------------------------


def test_forgotten_insights_never_come_back(memory: Memory) -> None:
    memory.put_all()
    gone = memory.put("The zeppelin hangar burned", axis(1))
    kept = memory.put("The zeppelin flew", axis(2))
    memory.link(kept, gone, "causal")
    with memory.session.writing() as writing:
        forget(writing, gone, NOW)
    assert memory.ids("zeppelin hangar burned", vector=axis(1)) == [kept]


def test_the_limit_is_kept_and_few_results_are_said(memory: Memory) -> None:
    memory.put_all(tuple(f"zeppelin number {n}" for n in range(40)))
    answer = memory.recall("zeppelin", limit=7)
    assert len(answer.rows) == 7
    assert answer.hint is None
    assert answer.traversed == 40
    assert memory.recall("39", limit=7).hint == "sparse_results"


@pytest.mark.parametrize("signal", sorted(SIGNALS))
def test_every_signal_can_be_switched_off(memory: Memory, signal: str) -> None:
    for number, content in enumerate(OTHERS):
        memory.put(content, axis(number))
    assert memory.ids("lunch at noon", signal, vector=axis(0))[0] == "m1"


def test_a_recall_survives_the_loss_of_the_index(memory: Memory) -> None:
    lunch, *_ = memory.put_all()
    memory.index.live.connection.execute("DROP TABLE terms")
    assert memory.ids("lunch at noon")[0] == lunch


def test_a_find_that_left_the_index_meanwhile_is_skipped(memory: Memory, path: Path) -> None:
    lunch, *_ = memory.put_all()
    with memory.session.reading():
        assert memory.index.live.columns.count
    memory.index.live.connection.execute("DELETE FROM docs WHERE id = ?", (lunch,))
    assert lunch not in memory.ids("lunch at noon")
    other = sqlite3.connect(path.parent / FILE, isolation_level=None)
    other.execute("UPDATE docs SET mass = mass + 1")
    other.close()
    # The next look at the file finds what is missing.
    assert lunch in memory.ids("lunch at noon")


def test_turning_everything_off_leaves_the_words(memory: Memory) -> None:
    lunch, *_ = memory.put_all()
    ranking = HybridRanking(memory.session.connection, memory.index, {"words"})
    with memory.session.reading():
        (row,) = ranking.recall(Query(text="lunch at noon")).rows
    assert (row.id, row.score, row.via) == (lunch, 1.0, "keyword")

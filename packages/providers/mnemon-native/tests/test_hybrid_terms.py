"""How texts and questions become terms."""

from __future__ import annotations

import random

import pytest
from dsh_mnemon_provider_mnemon_native._terms.asking import MOST_TERMS, ask, characters
from dsh_mnemon_provider_mnemon_native._terms.forms import FUNCTION_WORDS, IRREGULAR
from dsh_mnemon_provider_mnemon_native._terms.reading import (
    label_terms,
    revision,
    stem,
    substance,
    terms,
)
from dsh_mnemon_provider_mnemon_native._terms.runs import Run, pairs, runs

pytestmark = pytest.mark.requirement("native:hybrid:terms")


def asked(question: str) -> list[str]:
    return [term.text for term in ask(question)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Running, runs; ran", ("run",)),
        ("The children went home", ("child", "go", "home")),
        ("don't we'll I've", ()),
        ("v0.2.9 of foo_bar", ("v0", "2", "9", "foo", "bar")),
        ("C++ and C# and C, a+b", ("cplusplus", "csharp", "c", "b")),
        ("naïve Café ＡＢＣ", ("naiv", "cafe", "abc")),
        ("数据库 go", ("数据", "据库", "库", "go")),
        ("がっこう", ("がっ", "っこ", "こう", "う")),
        ("क्यों नहीं", ("क्यों", "नहीं")),
        ("🎉 — …", ()),
        ("Straße", ("strass",)),
    ],
)
def test_texts_become_stems_and_pairs(text: str, expected: tuple[str, ...]) -> None:
    assert terms(text) == expected


def test_a_run_tells_its_script() -> None:
    assert list(runs("Redis缓存 café")) == [
        Run("redis", False),
        Run("缓存", True),
        Run("cafe", False),
    ]
    assert pairs("库") == ["库"]


def test_stemming_leaves_other_words_whole() -> None:
    assert stem("b217") == "b217"
    assert stem("почему") == "почему"
    assert stem("bought") == stem("buying") == "buy"


def test_no_irregular_form_is_a_function_word_or_a_base_of_its_own() -> None:
    assert not FUNCTION_WORDS & IRREGULAR.keys()
    assert not IRREGULAR.keys() & set(IRREGULAR.values())


def test_labels_are_read_apart() -> None:
    assert label_terms(["数据", "库存", "New York"]) == ("数据", "据", "库存", "存", "new", "york")


@pytest.mark.parametrize(
    ("content", "mass", "asks", "dated", "spoken"),
    [
        ("Caroline: I went to a support group yesterday.", 5, False, True, True),
        ("小明：今天吃什么？", 4, True, True, True),
        ('Who is it?"', 0, True, False, False),
        ("https://example.org is up", 3, False, False, False),
        ("12: not a name", 2, False, False, False),
        ("会议在周四", 3, False, False, False),
        ("下周四开会", 3, False, True, False),
    ],
)
def test_substance(content: str, mass: int, asks: bool, dated: bool, spoken: bool) -> None:
    read = substance(content)
    assert (read.mass, read.asks, read.dated, read.spoken) == (mass, asks, dated, spoken)


def test_the_mass_is_bounded() -> None:
    assert substance(" ".join(f"word{n}" for n in range(400))).mass == 255


def test_the_revision_names_the_stemmer() -> None:
    rules, stemmer = revision().split("/")
    assert rules.isdecimal()
    assert stemmer[0].isdecimal()


def test_questions_lose_what_they_are_built_with() -> None:
    assert asked("What did Caroline research?") == ["carolin", "research"]
    assert asked("订单系统用的什么数据库？") == ["订单", "单系", "系统", "统用", "数据", "据库"]
    assert asked("是什么") == []
    assert asked("what was it about") == []
    assert asked('"AND" OR NOT * (NEAR') == ["near"]
    assert asked("🎉") == []


def test_one_word_of_one_or_two_characters_is_searched_for_as_it_stands() -> None:
    (single,) = ask("的")
    assert single.begins
    assert asked("是否") == ["是否"]


def test_pairs_of_grammar_weigh_less() -> None:
    weights = {term.text: term.weight for term in ask("我们学校のこと")}
    assert weights["学校"] == 1.0
    assert weights["我们"] < 1.0
    assert weights["のこ"] < 1.0


def test_a_long_question_is_judged_by_its_first_terms() -> None:
    assert len(ask(" ".join(f"word{n}" for n in range(500)))) == MOST_TERMS
    assert len(ask("".join(chr(0x4E00 + n) for n in range(500)))) == MOST_TERMS


def test_characters_stand_in_for_unknown_pairs_only_where_no_known_pair_covers_them() -> None:
    first, joint, last = ask("天气预报")
    assert characters([joint], [first, last]) == []
    assert [term.text for term in characters([joint, last], [first])] == ["预", "报"]
    assert all(term.begins and term.weight <= 0.5 for term in characters([last], []))


def test_any_text_is_read() -> None:
    picked = random.Random(7)
    for _ in range(300):
        text = "".join(chr(picked.randrange(1, 0xD7FF)) for _ in range(40))
        for term in (*terms(text), *asked(text)):
            assert term
            assert '"' not in term
            assert not term.isspace()

"""Words of a text (spec/mnemon-native.md §6)."""

from __future__ import annotations

import unicodedata

import pytest
from dsh_mnemon_provider_mnemon_native._tokens import (
    STOP_WORDS,
    field_tokens,
    overlap_ratio,
    tokens,
)
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.requirement("native:tokens")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", set()),
        ("The cat and THE Dog", {"cat", "dog"}),
        ("数据库", {"数据", "据库"}),
        ("库", {"库"}),
        ("用SQLite存数据", {"用", "sqlite", "存数", "数据"}),
        ("snake_case-word v2.4", {"snake", "case", "word", "v2", "4"}),
        ("ひらがな カタカナ", {"ひらがな", "カタカナ"}),
        ("한국어 텍스트", {"한국어", "텍스트"}),
        ("naïve Straße", {"naïve", "straße"}),
        ("हिन्दी", {"ह", "न", "द"}),
        ("x² ⅷ ½ ٣٤", {"x", "٣٤"}),
    ],
)
def test_tokens_of_mixed_scripts(text: str, expected: set[str]) -> None:
    assert tokens(text) == expected


def naive(text: str) -> set[str]:
    """Scan character by character, as the rules are written."""
    found: set[str] = set()
    han, word = "", ""
    for character in text.lower() + " ":
        is_han = "CJK" in unicodedata.name(character, "") and character.isalpha()
        if han and not is_han:
            found |= {han[i : i + 2] for i in range(len(han) - 1)} if len(han) > 1 else {han}
            han = ""
        is_word = unicodedata.category(character)[0] == "L" or character.isdecimal()
        if word and (is_han or not is_word):
            found |= {word} - STOP_WORDS
            word = ""
        if is_han:
            han += character
        elif is_word:
            word += character
    return found


ALPHABET = "abc XYZ_-.,数据库存储ひカ한é²ⅷ½٣हिन्9"


@given(st.text(st.sampled_from(ALPHABET) | st.characters(max_codepoint=0x2FF)))
def test_tokens_are_those_of_a_plain_scan(text: str) -> None:
    assert tokens(text) == naive(text)


def test_pairs_never_span_two_fields() -> None:
    assert field_tokens("数据", ["库存"], ["a b"]) == {"数据", "库存", "b"}
    assert field_tokens("one", [], []) == {"one"}


def test_an_empty_query_overlaps_with_nothing() -> None:
    assert overlap_ratio(frozenset(), frozenset("a")) == 0
    assert overlap_ratio(frozenset("ab"), frozenset("bc")) == 0.5

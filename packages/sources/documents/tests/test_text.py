"""White space, scripts, tokens."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from dsh_mnemon_source_documents._text import (
    collapse,
    han,
    normalize,
    required,
    runs,
    strip,
    tokens,
)


@pytest.mark.requirement("documents:file:rendering")
def test_white_space_is_that_of_the_original() -> None:
    assert collapse("\ufeff a\u3000\n b\u00a0\ufeff") == "a b"
    assert strip("\ufeff\u3000a b\u2028") == "a b"
    assert collapse("a\x85\x1c b") == "a\x85\x1c b"


@pytest.mark.requirement("documents:search:tokens")
def test_han_covers_all_ideographs() -> None:
    for point in range(sys.maxunicode + 1):
        name = unicodedata.name(chr(point), "")
        if name.startswith(("CJK UNIFIED IDEOGRAPH", "CJK COMPATIBILITY IDEOGRAPH", "CJK RADICAL")):
            assert han().match(chr(point)), name
        elif name.startswith(("HIRAGANA", "KATAKANA", "HANGUL", "LATIN", "BOPOMOFO", "GREEK")):
            assert not han().match(chr(point)), name


@pytest.mark.requirement("documents:search:tokens")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("use-pnpm安装x", ["use-pnpm", "安装", "x"]),
        ("éa-б1 -", ["éa-б1", "-"]),
        ("aé数b", ["aé", "数", "b"]),
        ("カタカナ漢字", ["カタカナ", "漢字"]),
    ],
)
def test_runs_are_maximal(text: str, found: list[str]) -> None:
    assert runs().findall(text) == found


@pytest.mark.requirement("documents:search:tokens")
def test_tokens_and_how_many_are_needed() -> None:
    assert tokens(normalize("Ａ数 X数据库 ﬁt")) == ["数", "数据", "据库", "fit"]
    assert [required(count) for count in (0, 1, 3, 4, 8, 9, 64)] == [0, 1, 1, 2, 2, 3, 16]
    assert len(tokens(" ".join(f"t{n}" for n in range(99)))) == 64

"""Terms of a text (§6.7)."""

from __future__ import annotations

import pytest
from dsh_mnemon_provider_holographic import _terms


@pytest.mark.requirement("holographic:search:terms")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The billing-api, a", {"the", "billing-api"}),
        ("-- --flag", {"flag"}),
        ("ＡＢＣ Café", {"abc", "cafe"}),
        ("备份 x", {"备", "份", "备份"}),
        ("数据库backup", {"数", "据", "库", "数据", "据库", "backup"}),
        ("", set()),
    ],
)
def test_terms(text: str, expected: set[str]) -> None:
    assert _terms.terms(text) == expected


@pytest.mark.requirement("holographic:search:terms")
def test_stop_words_stay_when_there_is_nothing_else() -> None:
    assert _terms.significant(frozenset({"the", "port"})) == {"port"}
    assert _terms.significant(frozenset({"the", "of"})) == {"the", "of"}


@pytest.mark.requirement("holographic:search:terms")
def test_chinese_is_looked_for_in_pairs() -> None:
    assert _terms.pairs("数据库 和 port 备份") == ["数据", "据库", "和", "备份"]
    assert len(_terms.pairs("".join(chr(0x4E00 + number) for number in range(99)))) == 32


@pytest.mark.requirement("holographic:search:terms")
def test_an_expression_finds_any_term() -> None:
    expression = _terms.match_expression(frozenset({"billing-api", "port"}))
    assert expression == '"billing-api" OR "port"'

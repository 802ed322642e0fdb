"""Anchors and words of a query (spec/sources.md §3.6, §4.7)."""

from __future__ import annotations

import pytest
from dsh_mnemon_source_memory_spaces._recall.anchors import recovery_plan
from dsh_mnemon_source_memory_spaces._recall.tokens import required, tokens

pytestmark = pytest.mark.requirement("memory-spaces:recall:recovery")


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("端口8080和9090", ("8080", "9090")),
        ("0.1.7-rc.2 and V0.2.0", ("0.1.7-rc.2", "v0.2.0")),
        ("2026-01-01T10:00 or 2026-01-02", ("2026-01-01", "2026-01-02")),
        ("at 09:30:15 in ORD_12-3", ("09:30:15", "ord_12-3")),
        ("３５％ and 5 per cent", ("35%", "5%")),
        ("80, 443.", ("80", "443")),
        ("error-budget is 百分之 12.5", ("error-budget", "12.5%")),
    ],
)
def test_anchors_are_found_wherever_they_stand(query: str, terms: tuple[str, ...]) -> None:
    plan = recovery_plan(query)
    assert plan is not None
    assert (plan.kind, plan.terms) == ("exact", terms)


@pytest.mark.parametrize("query", ["a1b 12ab", "5 5", "", "1.2.3.4"])
def test_one_anchor_or_none_is_no_exact_plan(query: str) -> None:
    assert recovery_plan(query) is None


def test_at_most_eight_anchors_count_and_four_are_required() -> None:
    plan = recovery_plan(" ".join(str(number) for number in range(10, 30)))
    assert plan is not None
    assert (len(plan.terms), plan.required_matches) == (8, 4)
    assert plan.reached("10 11 12 13")
    assert not plan.reached("10 11 12 130")


def test_at_most_32_words_count() -> None:
    plan = recovery_plan(" ".join("w" + chr(97 + n % 26) * (2 + n // 26) for n in range(50)))
    assert plan is not None
    assert (plan.kind, len(plan.terms), plan.required_matches) == ("lexical", 32, 8)


def test_words_of_every_script_are_told_apart() -> None:
    assert tokens("API网关与 DB-1 a", 64) == ("api", "网关", "关与", "db-1")
    assert tokens("中 文", 64) == ("中", "文")


@pytest.mark.parametrize(("count", "least"), [(0, 0), (1, 1), (3, 1), (4, 2), (9, 3), (32, 8)])
def test_how_many_words_must_be_found(count: int, least: int) -> None:
    assert required(count) == least

"""Facts, insights and ids (§6.5)."""

from __future__ import annotations

import attrs
import pytest
from dsh_mnemon_provider_holographic import _mapping as mapping

FACT = mapping.Fact(
    number=7,
    content="A fact.",
    category="fact",
    tags=("a",),
    trust=0.5,
    created_at="2026-01-02 03:04:05",
    updated_at="2026-01-02 03:04:05",
    entities=("Ada",),
    extras={"source": "agent", "importance": 4},
)


@pytest.mark.requirement("holographic:map:insight")
def test_a_fact_is_shown_with_what_was_kept_beside_it() -> None:
    shown = mapping.insight(FACT, score=0.5)
    assert (shown.id, shown.category, shown.tags, shown.entities) == (
        "holo-7",
        "fact",
        ("a",),
        ("Ada",),
    )
    assert (shown.source, shown.importance, shown.score) == ("agent", 4, 0.5)
    assert shown.created_at == "2026-01-02T03:04:05.000Z"


@pytest.mark.requirement("holographic:map:category")
@pytest.mark.parametrize(
    ("stored", "seen", "tags"),
    [
        ("user_pref", "preference", ("a", "hermes:user_pref")),
        ("project", "fact", ("a", "hermes:project")),
        ("tool", "insight", ("a", "hermes:tool")),
        ("general", "general", ("a",)),
        ("decision", "decision", ("a",)),
        ("of-a-fork", "general", ("a", "hermes:of-a-fork")),
    ],
)
def test_a_category_of_hermes_is_translated(stored: str, seen: str, tags: tuple[str]) -> None:
    shown = mapping.insight(attrs.evolve(FACT, category=stored))
    assert (shown.category, shown.tags) == (seen, tags)


@pytest.mark.requirement("holographic:map:insight")
def test_what_hermes_wrote_is_external() -> None:
    shown = mapping.insight(attrs.evolve(FACT, extras={"importance": "high"}, created_at="?"))
    assert (shown.source, shown.importance, shown.created_at) == ("external", None, None)


@pytest.mark.requirement("holographic:map:trust")
@pytest.mark.parametrize(
    ("importance", "default", "expected"),
    [
        (1, 0.5, 0.3),
        (2, 0.5, 0.4),
        (3, 0.5, 0.5),
        (4, 0.5, 0.6),
        (5, 0.5, 0.7),
        (1, 0.1, 0.0),
        (5, 0.9, 1.0),
    ],
)
def test_importance_becomes_trust(importance: int, default: float, expected: float) -> None:
    assert mapping.trust_of(importance, default) == expected


@pytest.mark.requirement("holographic:map:insight")
@pytest.mark.parametrize("identity", ["holo-", "holo-07", "holo-x", "7", "holo-6b143dd4-7f22"])
def test_what_is_no_public_id_has_no_number(identity: str) -> None:
    assert mapping.number_of(identity) is None
    assert mapping.number_of(mapping.public_id(7)) == 7

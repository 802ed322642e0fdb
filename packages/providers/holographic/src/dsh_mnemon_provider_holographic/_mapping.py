"""A stored fact and the insight a caller sees (§6.5)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

import attrs
from dsh_mnemon_core.instant import iso_utc, parse_utc
from dsh_mnemon_source_memory_spaces.provider_sdk import CATEGORIES, SOURCES, Insight

__all__ = (
    "Fact",
    "category_of",
    "clamp",
    "insight",
    "moment_of",
    "number_of",
    "public_id",
    "source_of",
    "stamp",
    "stored_categories",
    "stored_tags",
    "trust_of",
)

_ID: Final = re.compile(r"holo-([1-9][0-9]{0,17})")
_SEEN_AS: Final = {"user_pref": "preference", "project": "fact", "tool": "insight"}
_STEP_OF_IMPORTANCE: Final = {1: -0.2, 2: -0.1, 3: 0.0, 4: 0.1, 5: 0.2}


@attrs.frozen(kw_only=True)
class Fact:
    """One row of ``facts`` with what belongs to it.

    Attributes:
        number: ``fact_id``.
        category: As stored.
        trust: 0..1.
        created_at: ``YYYY-MM-DD HH:MM:SS``, UTC, as is ``updated_at``.
        entities: Names as stored.
        extras: What this Provider keeps besides: ``source``, ``importance``, ``peerId``.
    """

    number: int
    content: str
    category: str
    tags: tuple[str, ...]
    trust: float
    created_at: str
    updated_at: str
    entities: tuple[str, ...]
    extras: Mapping[str, Any]


# -- single values --------------------------------------------------------------------------------


def public_id(number: int) -> str:
    """Return the id a caller knows a fact by."""
    return f"holo-{number}"


def number_of(identity: str) -> int | None:
    """Return the number in a public id; ``None`` when it is none."""
    match = _ID.fullmatch(identity)
    return int(match.group(1)) if match else None


def category_of(stored: str) -> str:
    """Return the category a caller sees; Hermes has names of its own, forks have others."""
    seen = _SEEN_AS.get(stored, stored)
    return seen if seen in CATEGORIES else "general"


def stored_categories(category: str) -> tuple[tuple[str, ...], bool]:
    """Return stored names and whether it is they, or all others, that are seen as a category."""
    if category == "general":
        return (*(name for name in CATEGORIES if name != "general"), *_SEEN_AS), False
    return (category, *(name for name, seen in _SEEN_AS.items() if seen == category)), True


def stored_tags(text: str) -> tuple[str, ...]:
    """Return the tags of a comma-separated list."""
    return tuple(tag.strip() for tag in text.split(",") if tag.strip())


def clamp(trust: float) -> float:
    """Return a trust within 0..1, without the dust of binary fractions."""
    return min(1.0, max(0.0, round(trust, 12)))


def trust_of(importance: int, default: float) -> float:
    """Return the trust of a new fact of importance 1..5 (§1.2)."""
    return clamp(default + _STEP_OF_IMPORTANCE[importance])


def stamp(moment: datetime) -> str:
    """Return a moment as SQLite writes it: ``YYYY-MM-DD HH:MM:SS``, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")


def moment_of(stamped: str) -> datetime | None:
    """Return the moment that a stored time means; ``None`` when it is none."""
    return parse_utc(stamped)


def source_of(fact: Fact) -> str:
    """Return who said it; what other programs wrote is external."""
    source = fact.extras.get("source")
    return source if source in SOURCES else "external"


# -- insights -------------------------------------------------------------------------------------


def insight(fact: Fact, **more: Any) -> Insight:
    """Return a fact as a caller sees it; ``more`` are further fields, such as ``score``."""
    importance = fact.extras.get("importance")
    created = moment_of(fact.created_at)
    seen = category_of(fact.category)
    tags = fact.tags if seen == fact.category else (*fact.tags, f"hermes:{fact.category}")
    return Insight(
        id=public_id(fact.number),
        content=fact.content,
        category=seen,
        importance=importance if importance in _STEP_OF_IMPORTANCE else None,
        tags=tags,
        entities=fact.entities,
        source=source_of(fact),
        created_at=None if created is None else iso_utc(created),
        **more,
    )

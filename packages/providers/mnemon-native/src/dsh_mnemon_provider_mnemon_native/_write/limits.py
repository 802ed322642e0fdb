"""What a store accepts, checked before anything is written (spec/mnemon-native.md §3). Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import CATEGORIES

from dsh_mnemon_provider_mnemon_native.errors import InvalidInput, TextNotUnicode

__all__ = (
    "CONTENT_BYTES",
    "EXACT_BYTES",
    "EntityMode",
    "NewInsight",
    "check_category",
    "check_content",
    "check_importance",
    "check_insight",
    "check_list",
    "check_text",
)

EntityMode: TypeAlias = Literal["merge", "provided", "auto"]
"""Provided and found entities, only the provided ones, or only the found ones."""

CONTENT_BYTES: Final = 8_000
EXACT_BYTES: Final = 8_192
"""An archived original may be as long as an entry of the Runtime (D38)."""

_LISTS: Final = {"tags": ("tag", 20, 100), "entities": ("entity", 50, 200)}
_MODES: Final = ("merge", "provided", "auto")


@attrs.frozen(kw_only=True)
class NewInsight:
    """An insight to write.

    Attributes:
        exact: An archived original (D38): a little longer, and never pruned.
        diff: Whether a repeat is skipped and similar insights are looked for.
    """

    content: str
    category: str = "general"
    importance: int = 3
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source: str = "user"
    entity_mode: EntityMode = "merge"
    exact: bool = False
    diff: bool = True


def _bytes(field: str, text: str) -> int:
    try:
        return len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise TextNotUnicode(field, f"{field} is no well-formed Unicode") from error


def check_text(field: str, *texts: str) -> None:
    """Refuse half characters, wherever text comes in (D52)."""
    for text in texts:
        _bytes(field, text)


def check_category(category: str) -> None:
    """Refuse a category there is not."""
    if category not in CATEGORIES:
        raise InvalidInput("category", f"category is one of {', '.join(CATEGORIES)}")


def check_importance(importance: int) -> None:
    """Refuse an importance outside 1..5."""
    if not 1 <= importance <= 5:
        raise InvalidInput("importance", f"importance is 1 to 5, not {importance}")


def check_content(content: str, limit: int = CONTENT_BYTES, *, blank: bool = False) -> None:
    """Refuse content that is empty or longer than ``limit`` bytes; ``blank`` allows white space."""
    if not content or not (blank or content.strip()):
        raise InvalidInput("content", "content is empty")
    size = _bytes("content", content)
    if size > limit:
        raise InvalidInput("content", f"content has {size} bytes; at most {limit} fit")


def check_list(field: str, values: Sequence[str]) -> None:
    """Refuse too many or too long ``tags`` or ``entities``."""
    one, count, size = _LISTS[field]
    if any(_bytes(field, value) > size for value in values):
        raise InvalidInput(field, f"{one} has more than {size} bytes")
    if len(values) > count:
        raise InvalidInput(field, f"{len(values)} {field}; at most {count} fit")


def _trimmed(values: Sequence[str]) -> tuple[str, ...]:
    return tuple(text for value in values if (text := value.strip()))


def check_insight(insight: NewInsight) -> NewInsight:
    """Return the insight with its lists trimmed, blanks dropped.

    Raises:
        InvalidInput: The first value that breaks a limit, in the tool's own order.
    """
    check_category(insight.category)
    check_importance(insight.importance)
    if insight.entity_mode not in _MODES:
        raise InvalidInput("entity_mode", f"entity mode is one of {', '.join(_MODES)}")
    check_content(insight.content, EXACT_BYTES if insight.exact else CONTENT_BYTES)
    tags, entities = _trimmed(insight.tags), _trimmed(insight.entities)
    check_list("tags", tags)
    check_list("entities", entities)
    check_text("source", insight.source)
    return attrs.evolve(insight, tags=tags, entities=entities)

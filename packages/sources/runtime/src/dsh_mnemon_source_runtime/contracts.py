"""Public records of the Runtime Source: entries, limits and mutations (spec/sources.md §2)."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, get_args

import attrs

__all__ = (
    "ACTIONS",
    "FILE_NAMES",
    "IMPORTANCES",
    "MAX_ENTRY_BYTES",
    "SEPARATOR",
    "TARGETS",
    "Action",
    "Entry",
    "Importance",
    "Limits",
    "Mutation",
    "Target",
)

Target: TypeAlias = Literal["memory", "user"]
"""Which file an entry belongs to: MEMORY.md or USER.md."""

Importance: TypeAlias = Literal["critical", "normal", "low"]
"""How long an entry stays when room is scarce, most important first."""

Action: TypeAlias = Literal["add", "replace", "remove"]
"""What a mutation does."""

TARGETS: Final[tuple[Target, ...]] = get_args(Target)
IMPORTANCES: Final[tuple[Importance, ...]] = get_args(Importance)
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)

FILE_NAMES: Final[dict[Target, str]] = {"user": "USER.md", "memory": "MEMORY.md"}
"""Markdown file of each target, in the order in which they are written."""

SEPARATOR: Final = "\n§\n"
"""What stands between two entries of a Markdown file: 4 bytes."""

MAX_ENTRY_BYTES: Final = 8192
"""Largest content of one entry, in UTF-8 bytes."""


@attrs.frozen(kw_only=True)
class Entry:
    """One remembered fact, as memories.json keeps it.

    Attributes:
        content: Collapsed text without ``§``; at most `MAX_ENTRY_BYTES` when it was written here.
        created_at: ISO-8601 UTC with milliseconds; any text when somebody else wrote it.
        updated_at: Likewise.
        target: The file it belongs to.
        importance: Its rank when room is scarce.
        branches: Git branches it is visible on; ``None`` is every one. Memory only.
    """

    content: str
    created_at: str
    updated_at: str
    target: Target
    importance: Importance
    branches: tuple[str, ...] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the stored object: keys in file order, ``branches`` only when there are any."""
        # Written out: every change does this for every entry, several times.
        stored: dict[str, Any] = {
            "content": self.content,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "target": self.target,
            "importance": self.importance,
        }
        if self.branches is not None:
            stored["branches"] = list(self.branches)
        return stored


@attrs.frozen(kw_only=True)
class Limits:
    """Capacity of each target in UTF-8 bytes of joined contents (spec/sources.md §2.5)."""

    memory: int = 10_240
    user: int = 4_096

    def of(self, target: Target) -> int:
        """Return the limit of one target, in bytes."""
        return self.memory if target == "memory" else self.user


@attrs.frozen(kw_only=True)
class Mutation:
    """One requested change, texts as they were given.

    Attributes:
        action: What to do.
        target: Where.
        content: New text, for add and replace.
        old_text: Full content or unique part of the entry meant, for replace and remove.
        importance: Rank; absent means ``normal`` for add and unchanged for replace.
        branches: Branch names; absent keeps them, an empty list clears them.
    """

    action: Action
    target: Target
    content: str | None = None
    old_text: str | None = None
    importance: Importance | None = None
    branches: tuple[Any, ...] | None = None

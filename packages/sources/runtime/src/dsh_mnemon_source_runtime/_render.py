"""The snapshot a model sees and the presentation a person sees (spec/sources.md §2.6; pure)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Final

from dsh_mnemon_core.instant import parse_utc
from dsh_mnemon_core.sdk import Presentation, PresentationItem, truncate

from dsh_mnemon_source_runtime._changes import State
from dsh_mnemon_source_runtime._entries import of_target, used_bytes
from dsh_mnemon_source_runtime.contracts import FILE_NAMES, SEPARATOR, Entry, Limits, Target

_DAY: Final = 86_400
_HEADINGS: Final[dict[Target, str]] = {"user": "user profile", "memory": "working reference"}
_NOTE: Final = (
    "Note: a bracketed line above an entry is an annotation and no part of it; its ages are whole"
    " days, counted when this snapshot was taken. What the user says now outranks every entry."
    " To name an entry as old text, quote only the entry itself."
)
_ITEMS, _TITLE, _EXCERPT = 24, 160, 600

_instant = lru_cache(maxsize=4096)(parse_utc)


def is_visible(entry: Entry, branch: str) -> bool:
    """Tell whether an entry is shown on a branch; without one everything is."""
    return not branch or not entry.branches or branch in entry.branches


def age(stamp: str, now: datetime) -> str:
    """Return whole 24-hour days since a stamp: ``28d``, ``future`` or ``unknown``."""
    moment = _instant(stamp)
    if moment is None:
        return "unknown"
    seconds = (now - moment).total_seconds()
    return "future" if seconds < 0 else f"{int(seconds // _DAY)}d"


def annotated(entries: Sequence[Entry], now: datetime) -> str:
    """Join entries, each under a line with its importance and ages."""
    return SEPARATOR.join(
        f"[importance={entry.importance}; created={age(entry.created_at, now)};"
        f" updated={age(entry.updated_at, now)}]\n{entry.content}"
        for entry in entries
    )


def snapshot(state: State, branch: str, *, limits: Limits, now: datetime) -> str:
    """Render the complete snapshot; contents stand in it literally.

    Args:
        state: What is shown, and its revision.
        branch: Current git branch; empty when there is none.
        limits: Capacities, for the headings.
        now: Capture time, aware.
    """
    shown = [entry for entry in state.entries if is_visible(entry, branch)]
    lines = ["MNEMON RUNTIME MEMORY SNAPSHOT", f"Revision: {state.revision}"]
    if branch:
        lines.append(f"Git branch: {branch}{_hidden(len(state.entries) - len(shown))}")
    lines.append(_NOTE)
    for target, name in FILE_NAMES.items():
        entries = of_target(shown, target)
        used = f"{used_bytes(state.entries, target)}/{limits.of(target)}"
        lines += [
            "",
            f"Contents of {name} ({_HEADINGS[target]}; entries: {len(entries)};"
            f" UTF-8 bytes: {used})",
            f'<runtime-memory-file name="{name}">',
            annotated(entries, now) or "(empty)",
            "</runtime-memory-file>",
        ]
    return "\n".join(lines)


def _hidden(count: int) -> str:
    if not count:
        return ""
    return f" ({count} branch-scoped {'entry' if count == 1 else 'entries'} hidden)"


def presentation(state: State, branch: str) -> Presentation:
    """Describe the projection for people: counts and the first entries shown."""
    items = [
        PresentationItem(
            id=f"{entry.target}:{truncate(entry.created_at, 200)}:{index}",
            title=truncate(entry.content, _TITLE),
            excerpt=truncate(entry.content, _EXCERPT) if len(entry.content) > _TITLE else None,
        )
        for index, entry in enumerate(state.entries)
        if is_visible(entry, branch)
    ]
    return Presentation(
        visible_items=len(items),
        total_items=len(state.entries),
        items=tuple(items[:_ITEMS]) or None,
    )

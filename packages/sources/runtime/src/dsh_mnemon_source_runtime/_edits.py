"""Hand-edited Markdown compared with the store, entry by entry (D57; pure)."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.instant import parse_utc

from dsh_mnemon_source_runtime._entries import (
    collapse,
    joined_bytes,
    match,
    normalize,
    of_target,
)
from dsh_mnemon_source_runtime.contracts import Entry, Target

_DELIMITER: Final = re.compile(r"^[^\S\n]*§[^\S\n]*$", re.MULTILINE)
_SIMILAR: Final = 0.6


def parse(text: str) -> tuple[str, ...]:
    """Return the collapsed entries of a Markdown file; line endings and blanks do not matter."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return tuple(content for part in _DELIMITER.split(lines) if (content := collapse(part)))


def compare(
    text: str, entries: Sequence[Entry], target: Target, edited_at: datetime | None = None
) -> list[dict[str, Any]]:
    """List what a hand-edited file changes, as mutations that make the store follow it.

    Args:
        text: The edited file.
        entries: All entries of the store.
        target: The target the file belongs to.
        edited_at: When the person saved it: an entry that is younger was not there to be deleted.

    Returns:
        ``[{kind, from?, to?, mutation, problem?}]``, removals and replacements in store order,
        then additions in file order. ``kind`` is ``remove``, ``replace`` or ``add``; ``problem``
        is the code that the mutation would be refused with. Similar texts count as replaced, so
        that importance, branches and dates stay.
    """
    stored = of_target(entries, target)
    known = {entry.content for entry in stored}
    written = parse(text)
    seen = [entry.content for entry in stored if not _is_younger(entry, edited_at)]
    gone = _without(seen, written)
    new = [content for content in dict.fromkeys(written) if content not in known]
    replaced = _pair(gone, new)
    return [
        _difference(entries, target, old, content)
        for old, content in (
            *((old, replaced.get(old)) for old in gone),
            *((None, content) for content in new if content not in replaced.values()),
        )
    ]


def in_order(differences: Sequence[dict[str, Any]], used: int, limit: int) -> list[dict[str, Any]]:
    """Order differences so that each one has room when those before it were applied.

    Removals come last, or as soon as something needs their room: whoever stops at the first
    refusal has lost nothing that was to be replaced.

    Args:
        differences: What `compare` returned.
        used: Bytes that the target uses.
        limit: Bytes that the target may use.

    Returns:
        The differences; one that has no room even so carries the problem ``runtime-capacity``.
    """
    removals = [item for item in differences if item["kind"] == "remove"]
    others = [item for item in differences if item["kind"] != "remove"]
    # Every entry counts with a separator behind it; one of them is not there.
    room = limit + _size("") - (used + _size("") if used else 0)
    ordered: list[dict[str, Any]] = []
    for item in sorted(others, key=lambda item: _growth(item) > 0):
        growth = _growth(item)
        while growth > max(room, 0) and removals:
            ordered.append(removals.pop(0))
            room -= _growth(ordered[-1])
        if growth > max(room, 0):
            ordered.append({"problem": "runtime-capacity", **item})
        else:
            ordered.append(item)
            room -= growth
    return [*ordered, *removals]


def _growth(item: dict[str, Any]) -> int:
    """Return by how many bytes a difference makes its target larger; nothing when refused."""
    if "problem" in item:
        return 0
    return _size(item.get("to")) - _size(item.get("from"))


def _size(content: str | None) -> int:
    return 0 if content is None else joined_bytes([content, ""])


def _is_younger(entry: Entry, moment: datetime | None) -> bool:
    updated = parse_utc(entry.updated_at)
    return moment is not None and updated is not None and updated > moment


def _without(items: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return items that have no counterpart among others, counted with repetition."""
    left = Counter(others)
    missing: list[str] = []
    for item in items:
        if left[item]:
            left[item] -= 1
        else:
            missing.append(item)
    return missing


def _pair(gone: Sequence[str], new: Sequence[str]) -> dict[str, str]:
    """Match every vanished text with the most similar new one, each used once."""
    pairs: dict[str, str] = {}
    for old in dict.fromkeys(gone):
        free = [item for item in new if item not in pairs.values()]
        for similar in difflib.get_close_matches(old, free, n=1, cutoff=_SIMILAR):
            pairs[old] = similar
    return pairs


def _difference(
    entries: Sequence[Entry], target: Target, old: str | None, content: str | None
) -> dict[str, Any]:
    action = "add" if old is None else "remove" if content is None else "replace"
    mutation: dict[str, Any] = {"action": action, "target": target}
    difference: dict[str, Any] = {"kind": action}
    if old is not None:
        mutation["oldText"] = difference["from"] = old
    if content is not None:
        mutation["content"] = difference["to"] = content
    difference["mutation"] = mutation
    try:
        if content is not None:
            normalize(content, "content")
        if old is not None:
            match(entries, target, old)
    except MnemonError as error:
        difference["problem"] = error.code
    return difference

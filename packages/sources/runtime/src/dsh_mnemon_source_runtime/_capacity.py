"""Capacity plan, packing and compaction (spec/sources.md §2.5, §2.8; pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from dsh_mnemon_core.errors import ConflictError, InputError
from dsh_mnemon_core.sdk import to_wire

from dsh_mnemon_source_runtime._entries import joined_bytes, normalize, read_branches
from dsh_mnemon_source_runtime._mutation import Prepared
from dsh_mnemon_source_runtime.contracts import (
    IMPORTANCES,
    SEPARATOR,
    Action,
    Entry,
    Importance,
    Limits,
    Target,
)
from dsh_mnemon_source_runtime.errors import RuntimeCapacityError
from dsh_mnemon_source_runtime.lineage import source_end

_SEPARATOR_BYTES = len(SEPARATOR.encode("utf-8"))


@attrs.frozen(kw_only=True)
class Candidate:
    """An entry that compaction proposes to keep: content, importance, maybe branches."""

    content: str
    importance: Importance
    branches: tuple[Any, ...] | None = None


def keep_budget(limit: int, prepared: Prepared) -> int:
    """Return the bytes that may stay beside the pending entry when a target is compacted.

    Seven tenths of the limit, less the pending entry and, when anything stands before it, the
    separator in between.
    """
    pending = prepared.pending
    if pending is None:
        return limit * 7 // 10
    separator = _SEPARATOR_BYTES if prepared.rest else 0
    return max(0, limit * 7 // 10 - joined_bytes([pending.content]) - separator)


def plan(
    action: Action, prepared: Prepared, limits: Limits, *, revision: str, view_revision: str
) -> dict[str, Any]:
    """Describe what a mutation needs; nothing is written.

    Args:
        action: The mutation's action.
        prepared: The mutation, applied in memory.
        limits: Capacities.
        revision: Store revision.
        view_revision: View revision; the same unless the roots are split.

    Returns:
        ``{revision, viewRevision, action, target, entries, pending?, excluded?, used, projected,
        limit, requiresMaintenance, budget, sources}``: sizes in bytes; ``pending`` as ``{content,
        importance, branches?}``; ``budget`` are the bytes that may stay; ``sources`` are the
        lineage sources of ``entries``, in their order, empty for USER.md, which is never archived.
    """
    described: dict[str, Any] = {
        "revision": revision,
        "viewRevision": view_revision,
        "action": action,
        "target": prepared.target,
        "entries": [entry.to_json() for entry in prepared.rest],
    }
    if prepared.pending is not None:
        stored = prepared.pending.to_json()
        keys = ("content", "importance", "branches")
        described["pending"] = {key: stored[key] for key in keys if key in stored}
    if prepared.excluded is not None:
        described["excluded"] = prepared.excluded.to_json()
    limit = limits.of(prepared.target)
    return {
        **described,
        "used": prepared.used,
        "projected": prepared.projected,
        "limit": limit,
        "requiresMaintenance": prepared.overflows(limits),
        "budget": keep_budget(limit, prepared),
        "sources": [
            to_wire(source_end(revision, number, entry))
            for number, entry in enumerate(prepared.rest, 1)
            if entry.target == "memory"
        ],
    }


def pack(entries: Sequence[Entry], max_bytes: int) -> tuple[int, ...]:
    """Choose the entries that fit a budget, the most important first.

    An entry that does not fit is skipped and the next one tried. Ties: input order.

    Args:
        entries: Candidates of one target.
        max_bytes: Budget in bytes of joined contents.

    Returns:
        Indexes of the survivors, ascending.
    """
    ranked = sorted(range(len(entries)), key=lambda i: IMPORTANCES.index(entries[i].importance))
    chosen: list[int] = []
    room = max_bytes
    for index in ranked:
        size = joined_bytes([entries[index].content]) + (_SEPARATOR_BYTES if chosen else 0)
        if size <= room:
            chosen.append(index)
            room -= size
    return tuple(sorted(chosen))


def read_budget(value: object, limit: int, *, default: int) -> int:
    """Read a compaction budget: an integer 0..``limit`` bytes, ``default`` when absent.

    Raises:
        InputError: ``compaction-budget-invalid``.
    """
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= limit:
        raise InputError(
            "compaction-budget-invalid", f"maxBytes must be an integer within 0..{limit}"
        )
    return value


def candidates(prepared: Prepared, proposed: Sequence[Candidate], now: str) -> tuple[Entry, ...]:
    """Turn a proposal into entries that inherit what the committed ones know.

    Times come from the committed entry of equal content, and so do branches that are not given:
    maintenance never widens visibility by leaving them out.

    Raises:
        InputError: A content or branch list is malformed.
        ConflictError: ``compaction-duplicated``, ``compaction-repeats-pending`` or
            ``compaction-reintroduces``.
    """
    committed: dict[str, Entry] = {}
    for entry in prepared.rest:
        committed.setdefault(entry.content, entry)
    entries: dict[str, Entry] = {}
    for item in proposed:
        content = normalize(item.content, "compacted content")
        if content in entries:
            raise ConflictError(
                "compaction-duplicated", "two compacted entries have the same content"
            )
        entries[content] = _candidate(content, item, committed.get(content), prepared.target, now)
    if prepared.pending is not None and prepared.pending.content in entries:
        raise ConflictError(
            "compaction-repeats-pending", "a compacted entry equals the one about to be written"
        )
    if prepared.excluded is not None and prepared.excluded.content in entries:
        raise ConflictError(
            "compaction-reintroduces",
            "a compacted entry brings back the one that is replaced or removed",
        )
    return tuple(entries.values())


def _candidate(
    content: str, item: Candidate, known: Entry | None, target: Target, now: str
) -> Entry:
    if item.branches is None:
        branches = known.branches if known else None
    elif target == "user":
        raise InputError("branches-memory-only", "branches applies to target memory only")
    else:
        branches = read_branches(item.branches) or None
    return Entry(
        content=content,
        created_at=known.created_at if known else now,
        updated_at=known.updated_at if known else now,
        target=target,
        importance=item.importance,
        branches=branches,
    )


def compacted(prepared: Prepared, kept: Sequence[Entry], limits: Limits) -> tuple[Entry, ...]:
    """Join the other target, the survivors and the pending entry, in this order.

    Raises:
        RuntimeCapacityError: The target would still be above its limit.
    """
    pending = () if prepared.pending is None else (prepared.pending,)
    limit = limits.of(prepared.target)
    projected = joined_bytes([entry.content for entry in (*kept, *pending)])
    if projected > limit:
        raise RuntimeCapacityError(
            target=prepared.target, used=prepared.used, projected=projected, limit=limit
        )
    others = (entry for entry in prepared.before if entry.target != prepared.target)
    return (*others, *kept, *pending)

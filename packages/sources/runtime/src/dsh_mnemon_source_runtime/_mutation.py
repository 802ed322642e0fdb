"""One mutation prepared against one list of entries (spec/sources.md §2.4, §2.5; pure)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from dsh_mnemon_core.errors import InputError

from dsh_mnemon_source_runtime._entries import (
    match,
    normalize,
    of_target,
    read_branches,
    used_bytes,
)
from dsh_mnemon_source_runtime.contracts import Entry, Limits, Mutation, Target
from dsh_mnemon_source_runtime.errors import RuntimeCapacityError


@attrs.frozen(kw_only=True)
class Prepared:
    """What a valid mutation would do.

    Attributes:
        target: Its target.
        before: All entries there are.
        after: All entries there would be; equal to ``before`` when nothing changes.
        pending: The entry it writes, when it writes one.
        excluded: The entry it replaces or removes.
        rest: Entries of the target it leaves alone, in order: the ones that may be compacted.
        message: Success sentence of the receipt (contract).
        outcome: ``{added}``, ``{replaced: {from, to}}`` or ``{removed}``.
    """

    target: Target
    before: tuple[Entry, ...]
    after: tuple[Entry, ...]
    pending: Entry | None = None
    excluded: Entry | None = None
    rest: tuple[Entry, ...]
    message: str
    outcome: dict[str, Any]

    @property
    def changes(self) -> bool:
        """Whether there is anything to write."""
        return self.pending is not None or self.excluded is not None

    @property
    def used(self) -> int:
        """Bytes the target uses now."""
        return used_bytes(self.before, self.target)

    @property
    def projected(self) -> int:
        """Bytes the target would use afterwards."""
        return used_bytes(self.after, self.target)

    def overflows(self, limits: Limits) -> bool:
        """Tell whether it grows the target beyond its limit; shrinking never does."""
        projected = self.projected
        return projected > limits.of(self.target) and projected > self.used

    def require_room(self, limits: Limits) -> None:
        """Refuse a mutation that `overflows`.

        Raises:
            RuntimeCapacityError: ``runtime-capacity``.
        """
        if self.overflows(limits):
            raise RuntimeCapacityError(
                target=self.target,
                used=self.used,
                projected=self.projected,
                limit=limits.of(self.target),
            )


def prepare(entries: Sequence[Entry], mutation: Mutation, now: str) -> Prepared:
    """Apply a mutation to entries, in memory.

    Args:
        entries: All entries of one store, in order.
        mutation: What is wanted.
        now: Time of new entries and changes.

    Raises:
        InputError: The mutation is malformed or names no entry.
        ConflictError: ``entry-ambiguous``.
    """
    if mutation.branches is not None and mutation.target != "memory":
        raise InputError("branches-memory-only", "branches applies to target memory only")
    steps = {"add": _add, "replace": _replace, "remove": _remove}
    return steps[mutation.action](tuple(entries), mutation, now)


def _add(entries: tuple[Entry, ...], mutation: Mutation, now: str) -> Prepared:
    content = normalize(mutation.content, "content")
    branches = read_branches(mutation.branches or ())
    present = of_target(entries, mutation.target)
    if any(entry.content == content for entry in present):
        return Prepared(
            target=mutation.target,
            before=entries,
            after=entries,
            rest=present,
            message="Entry already exists (no duplicate added).",
            outcome={"added": content},
        )
    pending = Entry(
        content=content,
        created_at=now,
        updated_at=now,
        target=mutation.target,
        importance=mutation.importance or "normal",
        branches=branches or None,
    )
    return Prepared(
        target=mutation.target,
        before=entries,
        after=(*entries, pending),
        pending=pending,
        rest=present,
        message="Entry added.",
        outcome={"added": content},
    )


def _replace(entries: tuple[Entry, ...], mutation: Mutation, now: str) -> Prepared:
    old_text = normalize(mutation.old_text, "oldText")
    content = normalize(mutation.content, "content")
    given = None if mutation.branches is None else read_branches(mutation.branches)
    index = match(entries, mutation.target, old_text)
    excluded = entries[index]
    pending = attrs.evolve(
        excluded,
        content=content,
        updated_at=now,
        importance=mutation.importance or excluded.importance,
        branches=excluded.branches if given is None else given or None,
    )
    return Prepared(
        target=mutation.target,
        before=entries,
        after=(*entries[:index], pending, *entries[index + 1 :]),
        pending=pending,
        excluded=excluded,
        rest=of_target((*entries[:index], *entries[index + 1 :]), mutation.target),
        message="Entry replaced.",
        outcome={"replaced": {"from": excluded.content, "to": content}},
    )


def _remove(entries: tuple[Entry, ...], mutation: Mutation, _now: str) -> Prepared:
    index = match(entries, mutation.target, normalize(mutation.old_text, "oldText"))
    excluded = entries[index]
    left = (*entries[:index], *entries[index + 1 :])
    return Prepared(
        target=mutation.target,
        before=entries,
        after=left,
        excluded=excluded,
        rest=of_target(left, mutation.target),
        message="Entry removed.",
        outcome={"removed": excluded.content},
    )

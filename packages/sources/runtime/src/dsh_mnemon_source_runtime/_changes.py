"""Steps from one store state to the next: what to archive, what to write, what to answer (pure)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import Lineage, to_wire

from dsh_mnemon_source_runtime import _capacity
from dsh_mnemon_source_runtime._capacity import Candidate
from dsh_mnemon_source_runtime._entries import joined_bytes, of_target
from dsh_mnemon_source_runtime._format import revision as revision_of
from dsh_mnemon_source_runtime._mutation import Prepared, prepare
from dsh_mnemon_source_runtime.contracts import Entry, Limits, Mutation
from dsh_mnemon_source_runtime.errors import RuntimeConflictError
from dsh_mnemon_source_runtime.lineage import entry_digest


@attrs.frozen
class State:
    """One store as it was read: its entries and, worked out when asked for, their revision."""

    entries: tuple[Entry, ...]

    @cached_property
    def revision(self) -> str:
        """Digest of the entries."""
        return revision_of(self.entries)


@attrs.frozen(kw_only=True)
class Change:
    """What a step decided.

    Attributes:
        entries: The new list; ``None`` when nothing is to be written.
        answer: JSON for the caller.
        archived: Objects to append to the local archive before the commit.
        lineage: Objects to append to the lineage before the commit.
        view_revision: What facts will say afterwards; filled in where the view is known.
    """

    entries: tuple[Entry, ...] | None
    answer: dict[str, Any]
    archived: tuple[dict[str, Any], ...] = ()
    lineage: tuple[dict[str, Any], ...] = ()
    view_revision: str = ""


Step: TypeAlias = Callable[[State], Change]
"""Decides under the lock, from the state just reloaded; raises to refuse."""


@attrs.frozen(kw_only=True)
class Steps:
    """The steps of one moment: limits, and the time that new entries get."""

    limits: Limits
    now: str

    def mutate(self, mutation: Mutation) -> Step:
        """Apply a mutation that has room."""

        def step(state: State) -> Change:
            prepared = prepare(state.entries, mutation, self.now)
            prepared.require_room(self.limits)
            return self._change(prepared, prepared.after)

        return step

    def compact(
        self,
        mutation: Mutation,
        proposed: Sequence[Candidate],
        *,
        revision: str,
        max_bytes: object = None,
        lineage: Sequence[Lineage] = (),
    ) -> Step:
        """Replace a target by what a proposal keeps within a budget, and apply a mutation."""

        def step(state: State) -> Change:
            prepared = self._begin(state, mutation, revision)
            limit = self.limits.of(prepared.target)
            budget = _capacity.read_budget(max_bytes, limit, default=limit)
            if not prepared.changes:
                return self._change(prepared, prepared.after)
            offered = _capacity.candidates(prepared, proposed, self.now)
            kept = [offered[i] for i in _capacity.pack(offered, budget)]
            after = _capacity.compacted(prepared, kept, self.limits)
            return attrs.evolve(
                self._change(prepared, after),
                lineage=tuple(self._stamped(state, to_wire(link)) for link in lineage),
            )

        return step

    def archive(
        self, mutation: Mutation, *, revision: str, run_id: str, max_bytes: object = None
    ) -> Step:
        """Keep the committed MEMORY.md entries that fit, archive the others, apply a mutation."""
        if mutation.target != "memory":
            raise InputError("archive-memory-only", "USER.md entries are never archived")

        def step(state: State) -> Change:
            prepared = self._begin(state, mutation, revision)
            limit = self.limits.memory
            budget = _capacity.read_budget(
                max_bytes, limit, default=_capacity.keep_budget(limit, prepared)
            )
            if not prepared.changes:
                return self._change(prepared, prepared.after)
            chosen = _capacity.pack(prepared.rest, budget)
            kept = [prepared.rest[i] for i in chosen]
            left = [entry for i, entry in enumerate(prepared.rest) if i not in chosen]
            change = self._change(prepared, _capacity.compacted(prepared, kept, self.limits))
            change.answer["maintenance"] = _local_archive(run_id, len(left))
            return attrs.evolve(
                change,
                archived=tuple(
                    self._stamped(state, {**_archive_order(entry), "digest": entry_digest(entry)})
                    for entry in left
                ),
            )

        return step

    def _begin(self, state: State, mutation: Mutation, revision: str) -> Prepared:
        if state.revision != revision:
            raise RuntimeConflictError(revision, state.revision)
        return prepare(state.entries, mutation, self.now)

    def _stamped(self, state: State, record: dict[str, Any]) -> dict[str, Any]:
        return {"version": 1, "archived_at": self.now, "revision": state.revision, **record}

    def _change(self, prepared: Prepared, after: tuple[Entry, ...]) -> Change:
        target = prepared.target
        contents = [entry.content for entry in of_target(after, target)]
        answer = {
            "success": True,
            "message": prepared.message,
            "target": target,
            "entryCount": len(contents),
            "usage": {"used": joined_bytes(contents), "limit": self.limits.of(target)},
            **prepared.outcome,
        }
        return Change(entries=after if prepared.changes else None, answer=answer)


def _archive_order(entry: Entry) -> dict[str, Any]:
    """Return the entry in the key order of the local archive (spec/sources.md §2.9)."""
    stored = entry.to_json()
    return {"target": stored.pop("target"), **stored}


def _local_archive(run_id: str, count: int) -> dict[str, Any]:
    noun = "entry" if count == 1 else "entries"
    return {
        "kind": "local-archive",
        "runId": run_id,
        "provider": "host",
        "summary": f"{count} {noun} moved to runtime/archived/MEMORY.jsonl; kept first is what is"
        " more important, then what stood earlier",
        "memoryBodyIds": [],
    }

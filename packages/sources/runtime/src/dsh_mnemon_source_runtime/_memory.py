"""Both targets together: one root, or MEMORY.md here and USER.md in a global root (§2.6)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import ManagementError
from dsh_mnemon_core.files import LockTiming, in_turn
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_runtime import _capacity, _edits
from dsh_mnemon_source_runtime._changes import Change, State, Step, Steps
from dsh_mnemon_source_runtime._entries import of_target, used_bytes
from dsh_mnemon_source_runtime._mutation import prepare
from dsh_mnemon_source_runtime._store import RuntimeStore
from dsh_mnemon_source_runtime.contracts import FILE_NAMES, TARGETS, Limits, Mutation, Target


def _combine(user: State, local: State) -> State:
    return State((*of_target(user.entries, "user"), *of_target(local.entries, "memory")))


class RuntimeMemory:
    """The effective memory of one Source instance.

    Two revisions must not be confused. The *view revision* belongs to what is shown, the combined
    list when the roots are split; facts and the management fence use it. The *store revision*
    belongs to one whole memories.json; plans and compaction use it.

    Args:
        root: Root of MEMORY.md.
        user_root: Root of USER.md; usually the same.
        limits: Capacity of each target.
        clock: The time, aware.
        timing: Waiting times of the locks.
    """

    def __init__(
        self,
        root: Path,
        user_root: Path,
        *,
        limits: Limits,
        clock: Callable[[], datetime],
        timing: LockTiming | None = None,
    ) -> None:
        self.limits = limits
        self.clock = clock
        self._local = RuntimeStore(root, clock=clock, timing=timing)
        self._user = (
            self._local
            if user_root == root
            else RuntimeStore(user_root, clock=clock, timing=timing)
        )

    @property
    def stores(self) -> tuple[RuntimeStore, ...]:
        """The roots in use, the local one first."""
        return (self._local,) if self._user is self._local else (self._local, self._user)

    def store(self, target: Target) -> RuntimeStore:
        """Return the store that a target is read from and written to."""
        return self._user if target == "user" else self._local

    async def current(self) -> State:
        """Return what is shown: entries and view revision; opens the stores at first use.

        Raises:
            StorageError: A store is damaged or unreadable.
        """
        local = await self._local.open()
        return local if self._user is self._local else _combine(await self._user.open(), local)

    def _view(self, target: Target, state: State) -> State:
        """Return what is shown when ``state`` is the store of a target (blocking when split)."""
        if self._user is self._local:
            return state
        if target == "user":
            return _combine(state, self._local.read())
        return _combine(self._user.read(), state)

    def steps(self) -> Steps:
        """Return the steps that can be taken now, for `change`."""
        return Steps(limits=self.limits, now=iso_utc(self.clock()))

    async def change(self, target: Target, step: Step, *, fence: str | None = None) -> Change:
        """Take one step under the lock of a target's store and say which view revision it makes.

        Args:
            target: Whose store changes.
            step: What to do; made by `steps`.
            fence: View revision that must still be current under the lock.

        Raises:
            ManagementError: ``management-revision-conflict``.
            MnemonError: The step refuses, or the files cannot be written; nothing changed, but
                the local archive may hold copies.
        """

        def fenced(state: State) -> Change:
            if fence is not None and self._view(target, state).revision != fence:
                raise ManagementError(
                    "management-revision-conflict",
                    "runtime memory changed since this operation was prepared; look again",
                    details={"expected": fence},
                )
            change = step(state)
            after = state if change.entries is None else State(change.entries)
            return attrs.evolve(change, view_revision=self._view(target, after).revision)

        return await self.store(target).change(fenced)

    async def plan(self, mutation: Mutation) -> dict[str, Any]:
        """Describe what a mutation needs; see `_capacity.plan`. Nothing is written.

        Raises:
            MnemonError: The mutation itself would be refused, capacity aside.
        """
        store = self.store(mutation.target)
        async with in_turn(store.folder):
            state = await to_thread.run_sync(store.read)
            view = await to_thread.run_sync(self._view, mutation.target, state)
        return _capacity.plan(
            mutation.action,
            prepare(state.entries, mutation, iso_utc(self.clock())),
            self.limits,
            revision=state.revision,
            view_revision=view.revision,
        )

    async def describe(self) -> dict[str, Any]:
        """Return the management snapshot (spec/sources.md §2.7), sizes in bytes."""
        state = await self.current()
        return {
            "directory": str(self._local.folder),
            "sourcePath": str(self._local.path),
            "revision": state.revision,
            "generatedAt": iso_utc(self.clock()),
            "entries": [entry.to_json() for entry in state.entries],
            "targets": {
                target: {
                    "target": target,
                    "entryCount": len(of_target(state.entries, target)),
                    "used": used_bytes(state.entries, target),
                    "limit": self.limits.of(target),
                    "markdownPath": str(self.store(target).folder / FILE_NAMES[target]),
                }
                for target in TARGETS
            },
        }

    async def diagnose(self) -> list[dict[str, Any]]:
        """Return the condition of every root; see `RuntimeStore.diagnose`; never fails."""
        return [await to_thread.run_sync(store.diagnose) for store in self.stores]

    async def archived(self, *, limit: int, offset: int) -> dict[str, Any]:
        """Return a page of the local archive, newest first; see `_archive.read`."""
        return await to_thread.run_sync(partial(self._local.archived, limit=limit, offset=offset))

    async def hand_edits(self) -> list[dict[str, Any]]:
        """List hand edits, each ``{target, file, copied, editedAt, digest}`` (D57)."""
        found = [
            edit
            for target in TARGETS
            for edit in await to_thread.run_sync(self.store(target).hand_edits)
            if edit.target == target
        ]
        return [edit.to_json() for edit in found]

    async def compare(
        self, target: Target, text: str, edited_at: datetime | None
    ) -> list[dict[str, Any]]:
        """List what an edited file of a target would change, in the order to apply it (D57).

        See `_edits.compare` for the shape and `_edits.in_order` for the order.
        """
        entries = (await to_thread.run_sync(self.store(target).read)).entries
        found = await to_thread.run_sync(_edits.compare, text, entries, target, edited_at)
        return _edits.in_order(found, used_bytes(entries, target), self.limits.of(target))

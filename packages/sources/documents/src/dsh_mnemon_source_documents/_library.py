"""The documents of one root as the Source shows them: overview, search, pages, changes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import attrs
from anyio import CancelScope, from_thread, to_thread
from dsh_mnemon_core.errors import InputError, StorageError
from dsh_mnemon_core.files import LockTiming, in_turn
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_documents import _access
from dsh_mnemon_source_documents._adoption import adopting
from dsh_mnemon_source_documents._changes import Step, Steps, find
from dsh_mnemon_source_documents._diagnosis import diagnose
from dsh_mnemon_source_documents._files import Signature
from dsh_mnemon_source_documents._format import excerpt
from dsh_mnemon_source_documents._index import State
from dsh_mnemon_source_documents._intake import Given, taking_in
from dsh_mnemon_source_documents._search import Request, Result, Results, Searcher
from dsh_mnemon_source_documents._store import DocumentStore
from dsh_mnemon_source_documents.contracts import STATUSES, DocumentRecord, Unhealthy

_EXCERPTS: Final = 2048
_LISTED: Final = 100


def _uuid() -> str:
    return str(uuid4())


@attrs.frozen(kw_only=True)
class Overview:
    """Which documents there are and can be read, by status; ids in index order.

    Attributes:
        state: The index.
        active: Ids of active documents whose file is there.
        archived: Likewise of archived ones.
        unhealthy: The others.
        unindexed: Number of Markdown files that no record names.
    """

    state: State
    active: tuple[str, ...]
    archived: tuple[str, ...]
    unhealthy: tuple[Unhealthy, ...]
    unindexed: int


class Library:
    """The documents of one root.

    Args:
        root: Directory whose ``documents`` folder holds them.
        limit_bytes: Capacity of active documents, in rendered bytes.
        clock: The time, aware.
        timing: Waiting times of the lock.
        new_id: Makes the id of a new document.
        searcher: Replaces the search.
    """

    def __init__(
        self,
        root: Path,
        *,
        limit_bytes: int,
        clock: Callable[[], datetime],
        timing: LockTiming | None = None,
        new_id: Callable[[], str] = _uuid,
        searcher: Searcher | None = None,
    ) -> None:
        self.limit_bytes = limit_bytes
        self.clock = clock
        self.store = DocumentStore(root, timing=timing)
        self._new_id = new_id
        self._searcher = searcher or Searcher(self.store.bodies)
        self._looked: tuple[object, Overview] | None = None
        self._excerpts: OrderedDict[str, tuple[Signature, str]] = OrderedDict()

    # -- reading -----------------------------------------------------------------------------------

    async def overview(self) -> Overview:
        """Return which documents there are; opens the store at first use.

        Raises:
            DamagedIndex: ``index-damaged``.
        """
        await self.store.open()
        return await to_thread.run_sync(self._look_over)

    def _look_over(self) -> Overview:
        state, places = self.store.read(), self.store.bodies.places()
        seen = (state, *places.values(), self.store.bodies.bad())
        looked = self._looked
        if looked is None or looked[0] != seen:
            looked = self._looked = seen, self._judge(state, places)
        return looked[1]

    def _judge(self, state: State, places: Any) -> Overview:
        healthy: dict[str, list[str]] = {status: [] for status in STATUSES}
        unhealthy: list[Unhealthy] = []
        for record in state.records:
            reason = self.store.bodies.fault(record, places)
            if reason is None:
                healthy[record.status].append(record.id)
            else:
                unhealthy.append(Unhealthy(id=record.id, title=record.title, reason=reason))
        return Overview(
            state=state,
            active=tuple(healthy["active"]),
            archived=tuple(healthy["archived"]),
            unhealthy=tuple(unhealthy),
            unindexed=len(self.store.unindexed(state)),
        )

    async def search(self, request: Request) -> Results:
        """Find documents and note that they were used.

        Raises:
            DamagedIndex: ``index-damaged``.
        """
        await self.store.open()
        async with in_turn(self.store.folder):
            results = await to_thread.run_sync(self._search, request)
        if results.found:
            await self._used([item.record.id for item in results.found])
        return results

    def _search(self, request: Request) -> Results:
        results = self._searcher.search(self.store.read(), request, from_thread.check_cancelled)
        return attrs.evolve(results, unindexed=self._look_over().unindexed)

    async def latest(self, request: Request, count: int) -> Sequence[Result]:
        """Return the documents updated last among those a request admits; no access is noted."""
        recent = attrs.evolve(request, query="", limit=count)
        async with in_turn(self.store.folder):
            return (await to_thread.run_sync(self._search, recent)).found

    async def _used(self, ids: Sequence[str]) -> None:
        append = partial(self.store.access.append, ids, iso_utc(self.clock()))
        size = await to_thread.run_sync(append)
        if size > _access.FOLD_BYTES:
            # Somebody at work, or a folder that cannot be written to, leaves it for later.
            with suppress(StorageError):
                await self.store.lock.run(self.store.fold, at_once=True)

    async def read(self, document_id: str, *, used: bool = False) -> tuple[DocumentRecord, str]:
        """Return a document and its body.

        Args:
            document_id: The document.
            used: Whether that counts as an access.

        Raises:
            DocumentNotFound: ``document-not-found``.
            UnreadableDocument: ``document-unreadable``.
        """
        await self.store.open()

        def work() -> tuple[DocumentRecord, str]:
            record = find(self.store.read(), document_id)
            return record, self.store.look(record).require(record)

        record, body = await to_thread.run_sync(work)
        if used:
            await self._used([record.id])
        return record, body

    async def history(self, document_id: str, revision: int | None) -> dict[str, Any]:
        """List the former bodies of a document, or return one of them (D56).

        Returns:
            ``{id, revision, revisions, content?}``, ``revisions`` as `Kept.to_json`, latest first.

        Raises:
            DocumentNotFound: ``document-not-found``.
            UnreadableDocument: ``document-unreadable``.
            InputError: ``revision-unknown``.
        """
        await self.store.open()
        return await to_thread.run_sync(self._history, document_id, revision)

    def _history(self, document_id: str, revision: int | None) -> dict[str, Any]:
        record = find(self.store.read(), document_id)
        former = self.store.former(record)
        listed = [kept.to_json() for kept in former.values()]
        answer = {"id": record.id, "revision": record.revision, "revisions": listed}
        if revision is not None:
            if revision not in former:
                raise InputError(
                    "revision-unknown",
                    f"revision {revision} of {record.title!r} is not kept",
                    details={"kept": sorted(former)},
                )
            answer["content"] = former[revision].require()
        return answer

    async def plan(self, steps: Steps, prepared: Step) -> dict[str, Any]:
        """Describe the room that a change needs; see `_capacity.plan`. Nothing is written.

        Args:
            steps: The steps that can be taken.
            prepared: One of them, capacity aside.

        Raises:
            MnemonError: The change itself would be refused.
        """
        await self.store.open()

        def work() -> dict[str, Any]:
            state = self.store.current()
            return steps.plan(state, prepared(state, self.store))

        async with in_turn(self.store.folder):
            return await to_thread.run_sync(work)

    async def describe(self, workspace: str) -> dict[str, Any]:
        """Return the management snapshot (spec/sources.md §3.8), sizes in bytes.

        It has ``unindexed``, their number, where Markdown files have no record.
        """
        await self.store.open()
        async with in_turn(self.store.folder):
            return await to_thread.run_sync(lambda: self._snapshot(workspace, self.store.current()))

    def _snapshot(
        self, workspace: str, state: State, *, listed: int | None = None
    ) -> dict[str, Any]:
        active = sum(record.is_active for record in state.records)
        records = state.records if listed is None else _latest(state.records, listed)
        unindexed = len(self.store.unindexed(state))
        return {
            "workspaceRoot": workspace,
            "directory": str(self.store.folder),
            "indexPath": str(self.store.path),
            "generatedAt": iso_utc(self.clock()),
            "revision": state.revision,
            "limitBytes": self.limit_bytes,
            "activeBytes": state.active_bytes,
            "activeCount": active,
            "archivedCount": len(state.records) - active,
            "total": len(state.records),
            **({"unindexed": unindexed} if unindexed else {}),
            "documents": [self._row(record) for record in records],
        }

    def _row(self, record: DocumentRecord) -> dict[str, Any]:
        text = self._excerpt(record)
        return {**record.to_json(), "healthy": text is not None, "excerpt": text or ""}

    def _excerpt(self, record: DocumentRecord) -> str | None:
        """Return a document's excerpt, ``None`` for one that cannot be read."""
        signed = self.store.bodies.signed(record)
        cached = self._excerpts.get(record.id)
        if cached is not None and cached[0] == signed:
            return cached[1]
        found = self.store.look(record)
        text = None if found.text is None else excerpt(found.text)
        if text is not None and found.signature is not None:
            self._excerpts[record.id] = (found.signature, text)
            self._excerpts.move_to_end(record.id)
            while len(self._excerpts) > _EXCERPTS:
                self._excerpts.popitem(last=False)
        return text

    async def diagnose(self) -> dict[str, Any]:
        """Look at everything; see `_diagnosis.diagnose`."""
        return await to_thread.run_sync(diagnose, self.store)

    # -- changing ----------------------------------------------------------------------------------

    def steps(self, workspace: str) -> Steps:
        """Return the steps that can be taken now in a workspace, for `change`."""
        return Steps(
            limit=self.limit_bytes,
            now=iso_utc(self.clock()),
            workspace=workspace,
            root=self.store.root,
            new_id=self._new_id,
        )

    async def change(
        self, workspace: str, step: Step, *, fence: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Take one step; return the index revision after it and the answer (§3.3).

        The snapshot in the answer lists the hundred documents updated last.

        Args:
            workspace: Absolute path of the workspace.
            step: What to do; made by `steps`.
            fence: Index revision that must still be current under the lock.

        Raises:
            MnemonError: The step refuses, or the files cannot be written; nothing changed.
        """
        state, change = await self.store.change(step, fence=fence)
        document = {**change.document.to_json(), "content": change.body}
        told = {"action": change.action, "document": document, **change.more}
        return await self._answer(workspace, state, told)

    async def adopt(
        self, workspace: str, file: str | None, *, fence: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Take files whose record was lost back into the index.

        Args:
            workspace: Absolute path of the workspace.
            file: Relative path of the only file wanted; every one by default.
            fence: Index revision that must still be current under the lock.

        Returns:
            The index revision after it, and ``{success, action: "adopted", adopted, skipped,
            snapshot}``: ``adopted`` lists records, ``skipped`` `Skipped` files.

        Raises:
            InputError: ``document-file-unknown``.
            MnemonError: As `change`.
        """
        judge = adopting(workspace, self.store.root, file)
        state, adoption = await self.store.adopt(judge, fence=fence)
        told = {
            "action": "adopted",
            "adopted": [record.to_json() for record in adoption.adopted],
            "skipped": [skipped.to_json() for skipped in adoption.skipped],
        }
        return await self._answer(workspace, state, told)

    async def plan_intake(self, workspace: str, given: Sequence[Given]) -> dict[str, Any]:
        """Say what `take_in` would do; nothing is written.

        Returns ``{results}`` as there, without a ``document`` of what would be created.
        """
        await self.store.open()
        judge = taking_in(self.steps(workspace), given)
        async with in_turn(self.store.folder):
            intake = await to_thread.run_sync(lambda: judge(self.store.current(), self.store))
        return {"results": [outcome.planned().to_json() for outcome in intake.outcomes]}

    async def take_in(
        self, workspace: str, given: Sequence[Given], *, fence: str | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Take many texts in, by one change of the index; see `_intake.taking_in`.

        Args:
            workspace: Absolute path of the workspace.
            given: The texts, or why they are none.
            fence: Index revision that must still be current under the lock.

        Returns:
            The index revision after it, and ``{success, action: "imported", results, snapshot}``,
            ``results`` with one `Outcome` for each text.

        Raises:
            MnemonError: As `change`; a text that is refused is told in its result.
        """
        judge = taking_in(self.steps(workspace), given)
        state, intake = await self.store.take_in(judge, fence=fence)
        results = [outcome.to_json() for outcome in intake.outcomes]
        return await self._answer(workspace, state, {"action": "imported", "results": results})

    async def _answer(
        self, workspace: str, state: State, told: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Return the index revision, and what is told of a change with the store after it."""

        def look() -> dict[str, Any]:
            self._searcher.changed(state)
            snapshot = self._snapshot(workspace, state, listed=_LISTED)
            return {"success": True, **told, "snapshot": snapshot}

        # It is done; whoever gives up now shall still learn of it.
        with CancelScope(shield=True):
            async with in_turn(self.store.folder):
                return state.revision, await to_thread.run_sync(look)
        raise AssertionError  # pragma: no cover - a shielded scope swallows nothing

    async def close(self) -> None:
        """Fold the access log and release the search index; may be repeated."""
        await self.store.close()
        async with in_turn(self.store.folder):
            await to_thread.run_sync(self._searcher.close)


def _latest(records: Sequence[DocumentRecord], count: int) -> Sequence[DocumentRecord]:
    """Return the documents updated last, in index order."""
    if len(records) <= count:
        return records
    latest = sorted(records, key=lambda record: record.updated_at)[-count:]
    chosen = {record.id for record in latest}
    return [record for record in records if record.id in chosen]

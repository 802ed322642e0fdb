"""Changes of documents, and the room they may need (host.md §16, sources.md §5.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final

import anyio
import attrs
from dsh_mnemon_core.errors import CapacityError, MnemonError
from dsh_mnemon_core.source import ManagementResult
from dsh_mnemon_core.view import View
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.work.destinations import Destinations, composed_view, find_destinations
from dsh_mnemon_host.work.document_archive import ArchivedDocument, archive_document

__all__ = ("DocumentWork",)

Commit = Callable[[], Awaitable[dict[str, Any]]]

_FULL: Final = "document-capacity"
_SCENARIO: Final = "management.document-archive"


class DocumentWork:
    """Runs changes of documents one after another; what makes room is the same for everybody."""

    def __init__(self) -> None:
        self._queue = anyio.Lock()

    async def write(
        self,
        session: SourceSession,
        mutation: Mapping[str, Any],
        commit: Commit,
        view: View | None = None,
    ) -> dict[str, Any]:
        """Create or update a document; archive the least recently used ones where it must.

        Args:
            session: Management of the Documents Source.
            mutation: ``{action, …}`` of sources.md §3.3.
            commit: Performs the mutation once, with the authority of the call.
            view: The caller's pinned View; one is composed for an archive when there is none.

        Returns:
            What ``commit`` answered, with ``maintenance`` where documents were archived.

        Raises:
            CapacityError: ``document-capacity``, when no document is left to archive.
            MnemonError: What either Source refuses.
        """
        async with self._queue:
            room = _Room(session=session, mutation=dict(mutation), view=view)
            await room.make()
            try:
                answer = await commit()
            except MnemonError as error:
                if error.code != _FULL:
                    raise
                await room.archive_next(error)
                answer = await commit()
            return {**answer, **room.maintenance()}

    async def archive(
        self,
        session: SourceSession,
        document_id: str,
        revision: int | None = None,
        view: View | None = None,
    ) -> dict[str, Any]:
        """Archive one document (§16.2).

        Returns:
            What the Source answered, with ``maintenance``.

        Raises:
            MnemonError: As `archive_document`.
        """
        async with self._queue:
            done = await _with_destinations(
                session, view, partial(_archive, session, document_id, revision)
            )
            return {**to_wire(done.result.value), **_maintenance([done], archived=False)}

    async def restore(
        self, session: SourceSession, document_id: str, revision: int | None = None
    ) -> dict[str, Any]:
        """Make a new active document from an archived or former body, with room made for it."""
        request = {"id": document_id, **({} if revision is None else {"revision": revision})}
        async with self._queue:
            result: ManagementResult = await session.mutate("restore", request)
            answer: dict[str, Any] = to_wire(result.value)
            return answer


async def _archive(
    session: SourceSession, document_id: str, revision: int | None, destinations: Destinations
) -> ArchivedDocument:
    return await archive_document(session, document_id, destinations, revision)


async def _with_destinations(
    session: SourceSession,
    view: View | None,
    run: Callable[[Destinations], Awaitable[ArchivedDocument]],
) -> ArchivedDocument:
    if view is not None:
        return await run(await find_destinations(session.graph, session.scope, view))
    async with composed_view(session.graph, session.scope, _SCENARIO) as composed:
        return await run(await find_destinations(session.graph, session.scope, composed))


@attrs.define(kw_only=True)
class _Room:
    """The room one change needs, and what was archived for it."""

    session: SourceSession
    mutation: dict[str, Any]
    view: View | None
    archived: list[ArchivedDocument] = attrs.field(factory=list[ArchivedDocument])

    async def make(self) -> None:
        """Archive until the change fits."""
        while True:
            plan = to_wire(await self.session.read("capacity-plan", self.mutation))
            if plan["fits"]:
                return
            await self._archive_one(plan)

    async def archive_next(self, refusal: MnemonError) -> None:
        """Archive one more, because the commit met a fuller store than the plan did."""
        plan = to_wire(await self.session.read("capacity-plan", self.mutation))
        try:
            await self._archive_one(plan)
        except CapacityError as error:
            raise error from refusal

    async def _archive_one(self, plan: Mapping[str, Any]) -> None:
        done = {item.id for item in self.archived}
        candidate = next((c["id"] for c in plan["candidates"] if c["id"] not in done), None)
        if candidate is None:
            raise CapacityError(
                _FULL,
                f"active documents would take {plan['projected']} of {plan['limit']} bytes, and no "
                "document is left to archive; shorten this one, or raise the limit",
                details={"projected": plan["projected"], "limit": plan["limit"]},
            )
        run = partial(_archive, self.session, candidate, None)
        self.archived.append(await _with_destinations(self.session, self.view, run))

    def maintenance(self) -> dict[str, Any]:
        return _maintenance(self.archived, archived=True) if self.archived else {}


def _maintenance(items: list[ArchivedDocument], *, archived: bool) -> dict[str, Any]:
    spaces = list(dict.fromkeys(space for item in items for space in item.memory_body_ids))
    indexed = f"indexed in {len(spaces)} Memory Space(s)" if spaces else "without an index"
    told: dict[str, Any] = {
        "provider": "host",
        "summary": f"{len(items)} document(s) archived, {indexed}.",
        "memoryBodyIds": spaces,
    }
    if archived:
        told["archivedDocumentIds"] = [item.id for item in items]
    return {"maintenance": told}

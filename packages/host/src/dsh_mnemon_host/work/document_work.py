"""Changes of documents, and the room they may need (host.md §16, sources.md §5.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from uuid import uuid4

import anyio
import attrs
from dsh_mnemon_core.errors import CapacityError, MnemonError
from dsh_mnemon_core.view import View
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.source_session import SourceSession
from dsh_mnemon_host.work.destinations import Destinations, composed_view, find_destinations
from dsh_mnemon_host.work.document_archive import ArchivedDocument, archive_document
from dsh_mnemon_host.work.telling import Telling

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

        The change is tried first, so that nothing is archived for one that is refused anyway.

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
            return await _with_room(session, partial(_given, dict(mutation)), commit, view)

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
            return {**to_wire(done.result.value), **_maintenance([done])}

    async def restore(
        self,
        session: SourceSession,
        document_id: str,
        revision: int | None = None,
        view: View | None = None,
    ) -> dict[str, Any]:
        """Make a new active document from an archived one, or bring a former body back.

        Room is made as for `write`.

        Raises:
            CapacityError: ``document-capacity``, when no document is left to archive.
            MnemonError: What the Source refuses.
        """
        known = {} if revision is None else {"documentRevision": revision}
        request = {"id": document_id, **known}

        async def commit() -> dict[str, Any]:
            result = await session.mutate("restore", request)
            answer: dict[str, Any] = to_wire(result.value)
            return answer

        async with self._queue:
            mutation = partial(_given, {"action": "restore", **request})
            return await _with_room(session, mutation, commit, view)


async def _given(mutation: dict[str, Any]) -> dict[str, Any]:
    return mutation


async def _with_room(
    session: SourceSession,
    mutation: Callable[[], Awaitable[dict[str, Any]]],
    commit: Commit,
    view: View | None,
) -> dict[str, Any]:
    """Commit; where there is no room, archive what was not used for longest, and try again.

    Args:
        session: Management of the Documents Source.
        mutation: Returns what room is planned for; asked only where there is none.
        commit: Performs the change once.
        view: The caller's pinned View.
    """
    room = _Room(session=session, wanted=mutation, view=view)
    with Telling(room.told):
        for make_room in (room.make, room.archive_next):
            try:
                return {**await commit(), **_maintenance(room.archived)}
            except MnemonError as error:
                if error.code != _FULL:
                    raise
                await make_room(error)
        return {**await commit(), **_maintenance(room.archived)}


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
    wanted: Callable[[], Awaitable[dict[str, Any]]]
    view: View | None
    archived: list[ArchivedDocument] = attrs.field(factory=list[ArchivedDocument])

    async def make(self, refusal: MnemonError) -> None:
        """Archive until the change fits."""
        mutation = await self.wanted()
        while not (plan := await self._plan(mutation))["fits"]:
            await self._archive_one(mutation, plan, refusal)

    async def archive_next(self, refusal: MnemonError) -> None:
        """Archive one more, because the commit met a fuller store than the plan did."""
        mutation = await self.wanted()
        await self._archive_one(mutation, await self._plan(mutation), refusal)

    async def _plan(self, mutation: Mapping[str, Any]) -> Mapping[str, Any]:
        plan: Mapping[str, Any] = to_wire(await self.session.read("capacity-plan", mutation))
        return plan

    def told(self) -> dict[str, Any]:
        """Name what is archived already, for whatever fails after it."""
        archived = [item.id for item in self.archived]
        return {"archivedDocumentIds": archived} if archived else {}

    async def _archive_one(
        self, mutation: Mapping[str, Any], plan: Mapping[str, Any], refusal: MnemonError
    ) -> None:
        done = {item.id for item in self.archived}
        # What is too large by itself does not fit, however much is archived.
        others = sum(c["sizeBytes"] for c in plan["candidates"])
        left = () if plan["projected"] - others > plan["limit"] else plan["candidates"]
        candidate = next((c["id"] for c in left if c["id"] not in done), None)
        if candidate is None:
            raise CapacityError(
                _FULL,
                f"active documents would take {plan['projected']} of {plan['limit']} bytes, and no "
                "document is left to archive; shorten this one, or raise the limit",
                details={"projected": plan["projected"], "limit": plan["limit"]},
            ) from refusal
        run = partial(_archive, self.session, candidate, None)
        self.archived.append(await _with_destinations(self.session, self.view, run))


def _maintenance(archived: Sequence[ArchivedDocument]) -> dict[str, Any]:
    """Return ``{maintenance}`` of what was archived; nothing where nothing was (§8.5)."""
    if not archived:
        return {}
    spaces = list(dict.fromkeys(space for item in archived for space in item.memory_body_ids))
    count = f"{len(archived)} document{'s' if len(archived) > 1 else ''}"
    indexed = f"indexed in {len(spaces)} Memory Space(s)" if spaces else "without an index"
    told = {
        "runId": f"host-{uuid4()}",
        "provider": "host",
        "summary": f"{count} archived, {indexed}.",
        "memoryBodyIds": spaces,
        "archivedDocumentIds": [item.id for item in archived],
    }
    return {"maintenance": told}

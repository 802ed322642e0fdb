"""Changes of documents, and the room they may need (host.md §16, sources.md §5.4)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final
from uuid import uuid4

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
            room = _Room(session=session, mutation=dict(mutation), view=view)
            with room.telling():
                for make_room in (room.make, room.archive_next):
                    try:
                        return {**await commit(), **_maintenance(room.archived)}
                    except MnemonError as error:
                        if error.code != _FULL:
                            raise
                        await make_room(error)
                return {**await commit(), **_maintenance(room.archived)}
            raise AssertionError  # pragma: no cover - nothing is swallowed above

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
        self, session: SourceSession, document_id: str, revision: int | None = None
    ) -> dict[str, Any]:
        """Make a new active document from an archived one, or bring a former body back.

        Raises:
            CapacityError: ``document-capacity``; nothing is archived for the sake of a former body.
            MnemonError: What the Source refuses.
        """
        request = {"id": document_id, "documentRevision": revision}
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

    async def make(self, refusal: MnemonError) -> None:
        """Archive until the change fits."""
        while not (plan := await self._plan())["fits"]:
            await self._archive_one(plan, refusal)

    async def archive_next(self, refusal: MnemonError) -> None:
        """Archive one more, because the commit met a fuller store than the plan did."""
        await self._archive_one(await self._plan(), refusal)

    async def _plan(self) -> Mapping[str, Any]:
        plan: Mapping[str, Any] = to_wire(await self.session.read("capacity-plan", self.mutation))
        return plan

    @contextmanager
    def telling(self) -> Generator[None]:
        """Name what is archived already with whatever fails after it."""
        try:
            yield
        except MnemonError as error:
            if self.archived:
                archived = [item.id for item in self.archived]
                error.details = {**error.details, "archivedDocumentIds": archived}
            raise

    async def _archive_one(self, plan: Mapping[str, Any], refusal: MnemonError) -> None:
        done = {item.id for item in self.archived}
        # What is too large by itself does not fit, however much is archived.
        alone = len(str(self.mutation.get("content", "")).encode("utf-8"))
        left = () if alone > plan["limit"] else plan["candidates"]
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

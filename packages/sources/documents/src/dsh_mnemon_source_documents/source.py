"""The Documents Source: project records in Markdown, searched on demand (spec/sources.md §3)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError, StorageError
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_core.instant import iso_utc, utc_now
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    Contribution,
    Evidence,
    FactsRequest,
    ManagementRequest,
    ManagementResult,
    MutateRequest,
    ProjectRequest,
    QueryRequest,
    Receipt,
    SourceContext,
    SourceDefinition,
    SourceFacts,
    create_receipt,
)

from dsh_mnemon_source_documents import _evidence, _projection
from dsh_mnemon_source_documents._config import Config, settings
from dsh_mnemon_source_documents._evidence import Answer
from dsh_mnemon_source_documents._inputs import (
    Mutation,
    read_create,
    read_mutation,
    read_page,
    read_search,
)
from dsh_mnemon_source_documents._projection import NO_WORKSPACE, granted_ids, workspace_of
from dsh_mnemon_source_documents.actions import MANIFEST
from dsh_mnemon_source_documents.contracts import PAGE_CHARACTERS

if TYPE_CHECKING:
    from dsh_mnemon_source_documents._library import Library, Overview

__all__ = ("DocumentsSource", "documents_source")

_UNAVAILABLE: Final = "unavailable"
_HINTS: Final = ("reason", "file", "firstBadIndex", "problem", "remedy")
_CAPTURES: Final = 64


class DocumentsSource:
    """One mounted Documents Source.

    Every projection answers from the capture of its facts; what a grant names is read live (D41).

    Args:
        instance_key: Instance key of the mount.
        make: Makes the library at the first call; many a Host opens and never asks for documents.
    """

    def __init__(self, instance_key: str, make: Callable[[], Library]) -> None:
        self._key = instance_key
        self._make = make
        self._made: Library | None = None
        self._captures: OrderedDict[tuple[OperationScope, str], Overview] = OrderedDict()

    @property
    def _library(self) -> Library:
        if self._made is None:
            self._made = self._make()
        return self._made

    # -- facts and projection ----------------------------------------------------------------------

    async def facts(self, request: FactsRequest) -> SourceFacts:
        """Tell the index revision and how many documents can be read.

        Without a workspace, and with an index that is damaged or cannot be read, the Source is
        ``unavailable``; its hints say why: ``{reason, file?, firstBadIndex?, problem?, remedy?}``.
        """
        try:
            await workspace_of(request.scope, "Documents")
            overview = await self._library.overview()
        except (AuthorityError, StorageError) as error:
            return self._unavailable(error)
        self._capture(request.scope, overview)
        hints: dict[str, Any] = {"activeCount": len(overview.active)}
        if overview.unhealthy:
            hints["unhealthyCount"] = len(overview.unhealthy)
        if overview.unindexed:
            hints["unindexedCount"] = overview.unindexed
        return SourceFacts(
            **self._identity(),
            availability="ready",
            revision=overview.state.revision,
            capabilities=MANIFEST.capabilities,
            route_ids=tuple(route.id for route in MANIFEST.routes),
            action_ids=tuple(action.id for action in MANIFEST.actions),
            hints=hints,
        )

    def _identity(self) -> dict[str, Any]:
        return {
            "source_instance_key": self._key,
            "source_type_id": MANIFEST.type_id,
            "role": MANIFEST.role,
        }

    def _unavailable(self, error: AuthorityError | StorageError) -> SourceFacts:
        reason = error.details.get("reason")
        return SourceFacts(
            **self._identity(),
            availability="unavailable",
            revision=f"{_UNAVAILABLE}:{reason}" if reason == NO_WORKSPACE else _UNAVAILABLE,
            capabilities=("status",),
            hints={key: error.details[key] for key in _HINTS if key in error.details},
        )

    def _capture(self, scope: OperationScope, overview: Overview) -> None:
        key = (scope, overview.state.revision)
        self._captures[key] = overview
        self._captures.move_to_end(key)
        while len(self._captures) > _CAPTURES:
            self._captures.popitem(last=False)

    async def project(self, request: ProjectRequest) -> Contribution:
        """Return the cover and the grant of the expected revision.

        Raises:
            ConflictError: ``projection-revision-changed``.
            AuthorityError: ``workspace-required``.
            StorageError: ``workspace-unavailable`` or ``index-damaged``.
        """
        workspace = await workspace_of(request.scope, "Documents")
        overview = self._captures.get((request.scope, request.expected_revision))
        if overview is None:
            overview = await self._library.overview()
        if overview.state.revision != request.expected_revision:
            raise ConflictError(
                "projection-revision-changed", "the documents changed while a View was composed"
            )
        grant = _projection.grant(self._key, overview, workspace)
        if not request.include_projection:
            return Contribution(read_grant=grant)
        return Contribution(
            fragments=(_projection.cover(overview, request),),
            read_grant=grant,
            presentation=_projection.presentation(overview),
        )

    # -- routes ------------------------------------------------------------------------------------

    async def query(self, request: QueryRequest) -> Evidence:
        """Answer ``search`` or ``read`` within the grant.

        Raises:
            AuthorityError: ``workspace-required``, ``grant-invalid`` or
                ``document-outside-grant``.
            InputError: The input is malformed, or ``offset-out-of-range``.
            StorageError: ``document-unreadable`` or ``index-damaged``.
        """
        await workspace_of(request.view.scope, "a Documents Route")
        route = request.route
        if route.source_route_id == "search":
            answer = await self._search(request)
        elif route.source_route_id == "read":
            answer = await self._read(request)
        else:
            raise InputError("route-unsupported", "Documents offers the routes search and read")
        return Evidence(
            id=f"evidence:{uuid4()}",
            view_id=request.view.id,
            route_id=route.id,
            source_instance_key=self._key,
            observed_at=iso_utc(self._library.clock()),
            items=answer.items,
            truncated=answer.truncated,
            metadata=answer.metadata,
            unavailable=answer.unavailable,
        )

    async def _search(self, request: QueryRequest) -> Answer:
        from dsh_mnemon_source_documents._search import Request

        asked = read_search(request.input)
        active, archived = granted_ids(request.grant)
        allowed = frozenset((*active, *archived)) if asked.include_archived else frozenset(active)
        limit = min(asked.limit, request.route.max_results)
        wanted = Request(
            query=asked.query,
            limit=limit,
            include_archived=asked.include_archived,
            allowed=allowed,
        )
        results = await self._library.search(wanted)
        shown: dict[str, Any] = {
            "characters": request.route.max_characters,
            "include_archived": asked.include_archived,
        }
        if results.found or not asked.query:
            return _evidence.passages(results, asked.query, **shown)
        count = min(_evidence.SUGGESTIONS, limit)
        latest = await self._library.latest(wanted, count)
        return _evidence.suggestions(results, latest, asked.query, **shown)

    async def _read(self, request: QueryRequest) -> Answer:
        document_id, offset = read_page(request.input)
        active, archived = granted_ids(request.grant)
        if document_id not in active and document_id not in archived:
            raise AuthorityError(
                "document-outside-grant",
                "this turn cannot read that document; search for it, or look again next turn",
                details={"documentId": document_id},
            )
        record, body = await self._library.read(document_id, used=True)
        characters = min(PAGE_CHARACTERS, request.route.max_characters)
        return _evidence.page(record, body, offset, characters)

    # -- changes -----------------------------------------------------------------------------------

    async def mutate(self, request: MutateRequest) -> Receipt:
        """Execute ``manage`` or ``create`` and return a committed Receipt (§3.3).

        Raises:
            AuthorityError: ``workspace-required`` or ``document-outside-grant``.
            InputError: The input is malformed, or ``revision-required``.
            ConflictError: ``revision-conflict`` or ``document-archived``.
            DocumentCapacityError: ``document-capacity``; what follows is the Host's decision.
            StorageError: The store cannot be locked, read or written.
        """
        workspace = await workspace_of(request.view.scope, "a Documents Action")
        mutation = self._mutation(request)
        step = self._library.steps(workspace).mutate(mutation)
        revision, details = await self._library.change(workspace, step)
        return create_receipt(
            request,
            completion="committed",
            revision=revision,
            details=details,
            now=self._library.clock,
        )

    def _mutation(self, request: MutateRequest) -> Mutation:
        action = request.offer.source_action_id
        if action == "create":
            return read_create(request.input)
        if action != "manage":
            raise InputError("action-unsupported", "Documents offers the actions manage and create")
        mutation = read_mutation(request.input, guarded=True)
        if mutation.action == "update" and request.grant is not None:
            active, archived = granted_ids(request.grant)
            if mutation.id is not None and mutation.id not in active:
                raise AuthorityError(
                    "document-outside-grant",
                    "that document is archived and stays as it is; restore it to go on with a copy"
                    if mutation.id in archived
                    else "this turn cannot change that document; it can next turn, if it is in use",
                    details={"documentId": mutation.id},
                )
        return mutation

    async def manage(self, request: ManagementRequest) -> ManagementResult:
        """Perform one operation of §3.8; ``revision`` is the index revision after it.

        Raises:
            MnemonError: The operation is unknown, refused or fails.
        """
        from dsh_mnemon_source_documents import _manage

        workspace = await workspace_of(request.scope, "Documents management")
        if request.mode == "mutate":
            revision, answer = await _manage.mutate(self._library, workspace, request)
            return ManagementResult(revision=revision, value=answer)
        value = await _manage.read(self._library, workspace, request)
        try:
            revision = (await self._library.overview()).state.revision
        except StorageError:
            revision = _UNAVAILABLE
        return ManagementResult(revision=revision, value=value)

    async def dispose(self) -> None:
        """Fold noted access times into the index and release the search index."""
        if self._made is not None:
            await self._made.close()


def documents_source(
    config: Config | None = None,
    *,
    clock: Callable[[], datetime] = utc_now,
    timing: LockTiming | None = None,
) -> SourceDefinition:
    """Define the Documents Source.

    Args:
        config: Configuration of the row; what it sets explicitly wins over the Host's values.
        clock: The time, aware.
        timing: Waiting times of the store lock.
    """

    def create(context: SourceContext) -> DocumentsSource:
        key = context.source_instance_key
        chosen = settings(config or Config(), context.configuration, key)

        def make() -> Library:
            # Imported here, with the search and the index: it is most of this package.
            from dsh_mnemon_source_documents._library import Library

            return Library(chosen.root, limit_bytes=chosen.limit_bytes, clock=clock, timing=timing)

        return DocumentsSource(key, make)

    return SourceDefinition(manifest=MANIFEST, create=create)

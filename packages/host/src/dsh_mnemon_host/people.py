"""What people do with memory: reads and changes through the management planes (host.md §4.4)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from dsh_mnemon_core.errors import AuthorityError
from dsh_mnemon_core.scope import Capability
from dsh_mnemon_core.source import ManagementResult
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.live import LiveRuntime
from dsh_mnemon_host.participation import CHANGING, require
from dsh_mnemon_host.source_session import SourceSession, open_source
from dsh_mnemon_host.work.actions import Actions
from dsh_mnemon_host.work.document_work import DocumentWork

__all__ = ("People",)


class People:
    """The calls of people; an Agent's go through the View of its turn instead.

    Args:
        live: The graphs in force.
        actions: Performs Runtime writes; it refuses by itself while writes are off.
        documents: Runs what a change of a document may need around it.
        workspace: Absolute workspace of the calls that name none.
        settings: The file with the user's settings.
    """

    def __init__(
        self,
        live: LiveRuntime,
        actions: Actions,
        documents: DocumentWork,
        workspace: str,
        settings: Path,
    ) -> None:
        self._live = live
        self._actions = actions
        self._documents = documents
        self._workspace = workspace
        self._settings = settings

    async def source(
        self,
        type_id: str,
        *,
        workspace: str | None = None,
        capability: Capability | None = None,
    ) -> SourceSession:
        """Open the management plane of the default Source of a type, for a workspace.

        Args:
            type_id: Type of the Source.
            workspace: Absolute workspace; the Host's when absent.
            capability: What a person wants of its data; absent where only its condition is asked.

        Raises:
            CompositionUnavailable: Nothing is composed.
            AuthorityError: ``source-not-installed``, ``source-ambiguous``, ``layer-off`` when the
                settings do not let a person use this capability (host.md §4.3), or
                ``writes-disabled`` when it changes something and writes are off.
        """
        if capability in CHANGING:
            self._check_writable()
        place = workspace or self._workspace
        graph = await self._live.for_workspace(place)
        if capability is not None:
            require(graph.config.config, type_id, capability)
        return open_source(graph, type_id, graph.scope(place))

    async def write_runtime(
        self, mutation: Mapping[str, Any], *, workspace: str | None = None
    ) -> ManagementResult:
        """Perform a Runtime mutation (host.md §10.5 ``runtime-memory``).

        Args:
            mutation: ``{action, target, content?, oldText?, importance?, branches?}``.
            workspace: Absolute workspace; the Host's when absent.

        Returns:
            The revision after it, and the details of sources.md §2.2.

        Raises:
            AuthorityError: ``writes-disabled``, ``layer-off``.
            MnemonError: What the Source or its capacity workflow refuses.
        """
        async with self._writing("runtime", "write", workspace) as session:
            return await self._actions.manage_runtime(session, dict(mutation))

    async def change(
        self,
        type_id: str,
        operation: str,
        input: Any,
        *,
        capability: Capability,
        workspace: str | None = None,
    ) -> ManagementResult:
        """Perform a change of one Source through its management plane.

        Args:
            type_id: Type of the Source.
            operation: The Source's own management mutation.
            input: Its input, JSON.
            capability: What the settings must let a person do.
            workspace: Absolute workspace; the Host's when absent.

        Raises:
            AuthorityError: ``writes-disabled``, ``layer-off``, ``source-not-installed``.
            MnemonError: What the Source refuses.
        """
        async with self._writing(type_id, capability, workspace) as session:
            return await session.mutate(operation, input)

    async def write_document(
        self, mutation: Mapping[str, Any], *, workspace: str | None = None
    ) -> dict[str, Any]:
        """Create or update a document, with the capacity workflow (host.md §16).

        Args:
            mutation: ``{action: create | update, …}`` of sources.md §3.3.
            workspace: Absolute workspace; the Host's when absent.

        Raises:
            AuthorityError: ``writes-disabled``, ``layer-off``.
            MnemonError: What the Source or the workflow refuses.
        """
        async with self._writing("documents", "write", workspace) as session:

            async def commit() -> dict[str, Any]:
                result = await session.mutate("mutate", dict(mutation))
                answer: dict[str, Any] = to_wire(result.value)
                return answer

            return await self._documents.write(session, mutation, commit)

    async def archive_document(
        self, document_id: str, revision: int | None = None, *, workspace: str | None = None
    ) -> dict[str, Any]:
        """Archive a document: index first, move second (host.md §16.2)."""
        async with self._writing("documents", "archive", workspace) as session:
            return await self._documents.archive(session, document_id, revision)

    async def restore_document(
        self, document_id: str, revision: int | None = None, *, workspace: str | None = None
    ) -> dict[str, Any]:
        """Bring an archived document, or a former body of one, back (D42, D56)."""
        async with self._writing("documents", "write", workspace) as session:
            return await self._documents.restore(session, document_id, revision)

    @asynccontextmanager
    async def _writing(
        self, type_id: str, capability: Capability, workspace: str | None
    ) -> AsyncGenerator[SourceSession]:
        """Open a Source for a change, and keep its graph until the change is done."""
        self._check_writable()
        session = await self.source(type_id, workspace=workspace, capability=capability)
        with self._live.held(session.graph):
            yield session

    def _check_writable(self) -> None:
        """Refuse a change while writes are off, and say to a person where that is set."""
        if not self._actions.writable():
            raise AuthorityError(
                "writes-disabled",
                f"memory is read-only, nothing was changed; `writeEnabled: true` in "
                f"{self._settings} lets it be written",
            )

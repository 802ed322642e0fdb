"""The memory runtime: one registry, many generation hosts (spec/core.md §6.5, §6.6)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any

import anyio
import attrs
from anyio.abc import TaskGroup

from dsh_mnemon_core._engine.activation import GenerationOptions
from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.manage import (
    execute_management,
    management_catalog,
    management_revision,
)
from dsh_mnemon_core._engine.registry import InstalledSource, Registry, Snapshot, records
from dsh_mnemon_core._engine.serving import EvaluationReport, GenerationHost, Lease
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ManagementRequest, ManagementResult
from dsh_mnemon_core.turns import TurnManager

__all__ = (
    "Attachment",
    "EvaluationReport",
    "Generation",
    "GenerationHost",
    "GenerationOptions",
    "InstalledSource",
    "Lease",
    "MemoryRuntime",
    "RuntimeService",
    "Snapshot",
    "open_runtime",
)


@attrs.frozen
class RuntimeService:
    """What plugins see of the runtime: one method and nothing else (§6.1)."""

    _registry: Registry

    def install_contributions(
        self,
        entry_id: str,
        contributions: Contributions,
        *,
        artifact_digest: str | None = None,
        effective_digest: str | None = None,
    ) -> Callable[[], None]:
        """Register a batch and return what removes it."""
        batch = records(
            entry_id,
            contributions,
            artifact_digest=artifact_digest,
            effective_digest=effective_digest,
        )
        return self._registry.install(batch)


class Attachment:
    """One generation host that follows the registry, with its turns and management plane.

    Attributes:
        host: The generation host.
        turns: Turns over it.
        release: Stops following changes, while the current generation keeps serving.
    """

    def __init__(
        self,
        registry: Registry,
        options: GenerationOptions,
        tasks: TaskGroup,
        attached: set[Attachment],
    ) -> None:
        self.host = GenerationHost(options, tasks)
        self.turns = TurnManager(self.host, tasks)
        self.release = registry.subscribe(self.host.reconcile)
        self._attached = attached
        attached.add(self)
        self.host.reconcile(registry.settled)

    async def management_catalog(self, scope: OperationScope) -> dict[str, Any]:
        """List the manageable Sources of the serving generation; see spec/core.md §12."""
        with self.host.acquire() as lease:
            return await management_catalog(lease.generation, scope)

    async def management_revision(self, source_instance_key: str, scope: OperationScope) -> str:
        """Return the current revision of one Source of the serving generation."""
        with self.host.acquire() as lease:
            return await management_revision(lease.generation, source_instance_key, scope)

    async def execute_management(self, request: ManagementRequest) -> ManagementResult:
        """Perform one management operation on the serving generation."""
        with self.host.acquire() as lease:
            return await execute_management(lease.generation, request)

    async def dispose(self) -> None:
        """Stop following, end every turn, drain every generation.

        Raises:
            ExceptionGroup: What could not be disposed.
        """
        self.release()
        self.turns.dispose()
        try:
            await self.host.dispose()
        finally:
            self._attached.discard(self)


class MemoryRuntime:
    """Owns the registry and the attachments; made by `open_runtime`."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._registry = Registry()
        self._tasks = tasks
        self._attachments: set[Attachment] = set()
        self.service = RuntimeService(self._registry)

    @property
    def snapshot(self) -> Snapshot:
        """What is installed right now."""
        return self._registry.snapshot

    def batch(self) -> AbstractContextManager[None]:
        """Hold reconciliation back until the outermost batch ends (§6.5)."""
        return self._registry.batch()

    def attach_generation(self, options: GenerationOptions | None = None) -> Attachment:
        """Attach a generation host; during a batch it starts from the snapshot before it.

        Raises:
            LifecycleError: ``runtime-disposed``.
        """
        self._registry.check_open()
        return Attachment(
            self._registry, options or GenerationOptions(), self._tasks, self._attachments
        )

    async def close(self) -> None:
        """Refuse new work, dispose all attachments at once and wait for them.

        Raises:
            ExceptionGroup: What could not be disposed.
        """
        self._registry.closed = True
        failures: list[Exception] = []

        async def end(attachment: Attachment) -> None:
            try:
                await attachment.dispose()
            except ExceptionGroup as group:
                failures.extend(group.exceptions)

        async with anyio.create_task_group() as ending:
            for attachment in self._attachments:
                ending.start_soon(end, attachment)
        if failures:
            raise ExceptionGroup("closing the memory runtime failed", failures)


@asynccontextmanager
async def open_runtime() -> AsyncGenerator[MemoryRuntime]:
    """Open a memory runtime for the time of the block; it closes itself at the end.

    Raises:
        ExceptionGroup: What could not be disposed.
    """
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        runtime = MemoryRuntime(tasks)
        try:
            try:
                yield runtime
            finally:
                with anyio.CancelScope(shield=True):
                    await runtime.close()
        except Exception as error:
            failure = error  # raised again below, where no task group wraps it
    if failure is not None:
        raise failure

"""Plugins at work in the real engine, without a Host (spec/core.md §20).

A `MemoryRunner` mounts plugins as a Host does, composes Views, executes what they offer and manages
Sources. It hands out Views, Evidence, Receipts and JSON, never the engine, a lease or a record.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, Literal

import anyio
from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_core.fiber import Context, Disposer, Fiber, Plugin, open_root
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.runtime import Attachment, MemoryRuntime, open_runtime
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.sdk import MEMORY_SERVICE
from dsh_mnemon_core.source import ManagementRequest, ManagementResult

from dsh_mnemon_testing.leaks import LeakedResources, leaks, new_tasks, running
from dsh_mnemon_testing.management import ManagementClient
from dsh_mnemon_testing.options import MountedSource, generation_options
from dsh_mnemon_testing.turn import Operations, RunnerTurn, begin_turn

__all__ = ("SCOPE", "MemoryRunner", "open_runner")

SCOPE: Final = OperationScope(storage="custom")
"""The scope of a turn and of a management client unless another one is given."""

_REQUEST: Final = ViewRequest(scope=SCOPE, scenario="plugin-test")


class MemoryRunner:
    """Plugins at work in the real engine; opened by `open_runner`."""

    def __init__(self, root: Context, runtime: MemoryRuntime, attachment: Attachment) -> None:
        self._root = root
        self._runtime = runtime
        self._attachment = attachment
        self._operations = Operations()
        self._turns: dict[RunnerTurn, None] = {}
        self._undo: dict[object, Callable[[], Awaitable[None]]] = {}
        self._fibers: list[Fiber] = []

    async def mount(
        self, plugin: Plugin, *, instance_id: str | None = None, config: object = None
    ) -> Disposer:
        """Mount a plugin, as one row of a profile does.

        Args:
            plugin: The ``plugin`` of a plugin module.
            instance_id: Entry id of the row, which names its contributions; ``plugin.name`` by
                default.
            config: Mapping or model instance.

        Returns:
            Unmounts it and waits until what it left behind is disposed; idempotent.

        Raises:
            ConfigurationError: ``config-invalid``.
            LifecycleError: ``service-missing`` when it requires a service nobody provides here, or
                ``runner-disposed``.
            Exception: What the plugin's ``apply`` raised.
        """
        with self._operations.running():
            fiber = await self._root.mount(plugin, config, entry_id=instance_id or plugin.name)
        self._fibers.append(fiber)
        if fiber.state == "pending":
            await fiber.dispose()
            missing = [key for key in plugin.requires if self._root.get(key) is None]
            raise LifecycleError(
                "service-missing", f"{plugin.name} requires {', '.join(missing)}; see provide()"
            )
        return self._undone(fiber.dispose)

    def install(self, entry_id: str, contributions: Contributions) -> Disposer:
        """Install bare definitions, without a plugin around them.

        Args:
            entry_id: Names the contributions: ``source:<entry id>`` and so on.
            contributions: Any mixture of kinds.

        Returns:
            Removes them as the disposer of `mount` does.

        Raises:
            RegistrationError: They cannot join what is installed (spec/core.md §6.2).
        """
        remove = self._runtime.service.install_contributions(entry_id, contributions)

        async def undo() -> None:
            remove()

        return self._undone(undo)

    def provide(self, key: str, service: Any) -> Disposer:
        """Provide a service besides `MEMORY_SERVICE` that a plugin requires."""
        return self._root.provide(key, service)

    async def begin_turn(self, request: ViewRequest | None = None) -> RunnerTurn:
        """Compose and pin a View.

        Args:
            request: Scope, scenario and budget; storage ``custom``, scenario ``plugin-test`` and
                the default budget when absent.

        Raises:
            CompositionUnavailable: No generation serves; `inspect` says why.
            ViewRejected: The View cannot be composed.
            LifecycleError: ``runner-disposed``.
        """

        def forget(turn: RunnerTurn) -> None:
            self._turns.pop(turn, None)

        turn = await begin_turn(
            self._attachment.host, request or _REQUEST, self._operations, forget
        )
        self._turns[turn] = None
        return turn

    def inspect(self) -> dict[str, Any]:
        """Return ``{servingGenerationId?, drainingGenerationIds, evaluation}``, plain JSON."""
        return self._attachment.host.inspect()

    async def management_catalog(self, scope: OperationScope = SCOPE) -> dict[str, Any]:
        """List the Sources with a management plane; see spec/core.md §12."""
        with self._operations.running():
            return await self._attachment.management_catalog(scope)

    async def execute_management(self, request: ManagementRequest) -> ManagementResult:
        """Perform one management operation.

        Raises:
            ManagementError: It is unsupported, unconfirmed or stale.
        """
        with self._operations.running():
            return await self._attachment.execute_management(request)

    def management_client(
        self, source_instance_key: str, scope: OperationScope = SCOPE
    ) -> ManagementClient:
        """Return a client of one Source that fences its changes with the revision it last saw."""

        async def current() -> str:
            with self._operations.running():
                return await self._attachment.management_revision(source_instance_key, scope)

        return ManagementClient(
            source_instance_key, scope, execute=self.execute_management, current=current
        )

    async def dispose(self) -> None:
        """Abort what runs, release every turn, unmount everything in reverse; idempotent.

        Raises:
            ExceptionGroup: What could not be undone; the rest is undone.
        """
        self._operations.close()
        for turn in tuple(self._turns):
            turn.release()
        failures: list[Exception] = []
        for undo in (*reversed(self._undo.values()), self._attachment.dispose):
            try:
                await undo()
            except Exception as error:
                failures.append(error)
        self._undo.clear()
        if failures:
            raise ExceptionGroup("closing the memory runner failed", failures)

    async def check_leaks(self, known: Sequence[object]) -> None:
        """Look, after the end, for what goes on.

        Args:
            known: What ran before and may go on; see `leaks.running`.

        Raises:
            LeakedResources: A lease, a Fiber or a task is left.
        """
        host = self._attachment.host
        serving = (host.serving_id,) if host.serving_id else ()
        found = [*leaks((*serving, *host.draining_ids), self._fibers, await new_tasks(known))]
        if found:
            raise LeakedResources("; ".join(found))

    def _undone(self, undo: Callable[[], Awaitable[None]]) -> Disposer:
        token = object()
        self._undo[token] = undo

        async def disposer() -> None:
            if self._undo.pop(token, None) is not None:
                await undo()
                await self._attachment.host.idle()

        return disposer


@asynccontextmanager
async def open_runner(
    *,
    strategy_instance_key: str | None = None,
    strategy_type_id: str | None = None,
    strategy_fallback: Literal["reject", "sole-strategy"] = "reject",
    source_configuration: Callable[[MountedSource], Mapping[str, Any]] | None = None,
    source_capabilities: Callable[[MountedSource], Sequence[str] | None] | None = None,
    source_secrets: Callable[[MountedSource], Mapping[str, str]] | None = None,
    source_timeout_ms: int = 10_000,
    now: Callable[[], datetime] = utc_now,
) -> AsyncGenerator[MemoryRunner]:
    """Open a runner for the time of the block; leaving it disposes everything and checks for leaks.

    Args:
        strategy_instance_key: Exact main Strategy, if chosen by key.
        strategy_type_id: Main Strategy by type, if chosen by type.
        strategy_fallback: ``sole-strategy`` takes the only one when the chosen type is missing.
        source_configuration: Host configuration of a Source, JSON.
        source_capabilities: Host capability ceiling of a Source; ``None`` for none.
        source_secrets: Secret settings of a Source by name.
        source_timeout_ms: Deadline of one facts or project call, 1..300 000 ms.
        now: Clock in UTC.

    Raises:
        LeakedResources: A lease, a Fiber or a task is left; an exception of the body has
            precedence over everything here.
        ExceptionGroup: What could not be undone.
    """
    options = generation_options(
        source_configuration,
        source_capabilities,
        source_secrets,
        strategy_instance_key=strategy_instance_key,
        strategy_type_id=strategy_type_id,
        strategy_fallback=strategy_fallback,
        source_timeout_ms=source_timeout_ms,
        now=now,
    )
    known = running()
    failure: BaseException | None = None
    async with open_runtime() as runtime, open_root() as root:
        root.provide(MEMORY_SERVICE, runtime.service)
        runner = MemoryRunner(root, runtime, runtime.attach_generation(options))
        try:
            yield runner
        except BaseException as error:
            failure = error  # raised again below, where no task group wraps it
        with anyio.CancelScope(shield=True):
            try:
                await runner.dispose()
            except ExceptionGroup as group:
                failure = failure or group
    if failure is not None:
        raise failure
    await runner.check_leaks(known)

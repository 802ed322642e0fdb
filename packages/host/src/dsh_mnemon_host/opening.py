"""How settings come into force: rows, a graph, a proof, and service (host.md §2.6, §20)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime
from pathlib import Path

import anyio
import attrs
from anyio.abc import TaskGroup
from dsh_mnemon_core.errors import CompositionRejected, ConfigurationError, MnemonError
from dsh_mnemon_core.runtime import MemoryRuntime

from dsh_mnemon_host.composition.choices import ChosenRows
from dsh_mnemon_host.config import HostConfig, MemoryView, ResolvedConfig, resolve
from dsh_mnemon_host.graph import RuntimeGraph, build_graph
from dsh_mnemon_host.live import LiveRuntime
from dsh_mnemon_host.work.destinations import composed_view

__all__ = ("Opening",)


@attrs.define(kw_only=True, eq=False)
class Opening:
    """Builds graphs for admitted settings; the first one admitted starts the live runtime.

    Attributes:
        runtime: The memory runtime.
        workspace: Absolute default workspace.
        env: The environment that settings are resolved with.
        home: Returns the home directory that they are resolved with, where they need one.
        now: Clock in UTC.
        tasks: Where graphs that are let go are closed.
        rows: The rows of the profile under the choices in force.
        problem: Why saved choices could not be restored, if that is so.
    """

    runtime: MemoryRuntime
    workspace: str
    env: Mapping[str, str]
    home: Callable[[], Path]
    now: Callable[[], datetime]
    tasks: TaskGroup
    rows: ChosenRows
    problem: MnemonError | None = attrs.field(default=None, init=False)
    _live: LiveRuntime | None = attrs.field(default=None, init=False)

    @property
    def served(self) -> LiveRuntime:
        """The live runtime."""
        if self._live is None:  # pragma: no cover - registering the settings admits them at once
            raise ConfigurationError("host-not-configured", "no settings have been admitted yet")
        return self._live

    @asynccontextmanager
    async def admit(self, value: HostConfig) -> AsyncGenerator[None]:
        """Build the candidate graph of a value, and serve it once the value is stored (§2.6).

        Choices of entries are mounted first, and proven by a View; they are undone when anything
        after that fails.
        """
        async with AsyncExitStack() as stack:
            candidate = await self._candidate(value, stack)
            try:
                yield
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await candidate.dispose()
                raise
            if self._live is None:
                self._live = LiveRuntime(candidate, self.build, self.tasks)
            else:
                self._live.swap(candidate)

    async def _candidate(self, value: HostConfig, stack: AsyncExitStack) -> RuntimeGraph:
        first = self._live is None
        try:
            changed = await stack.enter_async_context(
                self.rows.under(value.memory_view, strict=not first)
            )
            candidate = await self.build(self.resolved(value), self.workspace)
        except MnemonError as error:
            if not first or value.memory_view == MemoryView():
                raise
            # What was saved does not compose here any more: memory without it is better than none.
            self.problem = error
            await stack.aclose()
            plain = value.model_copy(update={"memory_view": MemoryView()})
            await stack.enter_async_context(self.rows.under(plain.memory_view, strict=False))
            return await self.build(self.resolved(plain), self.workspace)
        if not first:
            views = changed or value.memory_view != self.served.config.config.memory_view
            await self._prove(candidate, views=views)
        return candidate

    async def _prove(self, candidate: RuntimeGraph, *, views: bool) -> None:
        """Refuse a candidate that loses a Source or, with ``views``, cannot compose a View.

        So what cannot serve is never stored. A Source that could not be made before is no loss.
        """
        try:
            for key, reason in candidate.left_out.items():
                if key not in self.served.current.left_out:
                    raise CompositionRejected(reason.code, reason.message)
            scope = candidate.scope(self.workspace)
            if views:
                async with composed_view(candidate, scope, "management.proof"):
                    pass
        except BaseException:
            with anyio.CancelScope(shield=True):
                await candidate.dispose()
            raise

    def resolved(self, value: HostConfig) -> ResolvedConfig:
        """Resolve a value with the environment and the home this Host was opened with."""
        return resolve(value, self.env, self.home)

    async def build(self, config: ResolvedConfig, workspace: str | None) -> RuntimeGraph:
        """Build a graph for a configuration and a workspace."""
        return await build_graph(self.runtime, config, workspace, self.now)

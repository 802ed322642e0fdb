"""MemoryHost: memory for any agent loop, from a profile to pinned turns (host.md §23.1)."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self

import anyio
import attrs
from anyio.abc import TaskGroup
from dsh_mnemon_core.errors import ConfigurationError, TurnError
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.profile import MountedProfile, Profile, load_profile, mount_profile
from dsh_mnemon_core.runtime import MemoryRuntime, open_runtime
from dsh_mnemon_core.scope import Capability
from dsh_mnemon_core.source import ManagementResult
from pydantic import BaseModel

from dsh_mnemon_host.agent_host import AgentHost, AgentRef, Disposer, ToolSpec
from dsh_mnemon_host.config import HostConfig, ResolvedConfig, absolute, resolve
from dsh_mnemon_host.executions import Execution, MemoryExecutions
from dsh_mnemon_host.graph import RuntimeGraph, build_graph
from dsh_mnemon_host.harness.loop import LoopAgent, LoopHarness
from dsh_mnemon_host.lifecycle import Lifecycle
from dsh_mnemon_host.live import LiveRuntime
from dsh_mnemon_host.participation import require
from dsh_mnemon_host.seat import HOST_SEAT, HostSeat
from dsh_mnemon_host.settings import FileSettings, settings_path
from dsh_mnemon_host.source_session import SourceSession, open_source
from dsh_mnemon_host.work.actions import Actions
from dsh_mnemon_host.work.runtime_write import RuntimeWriter
from dsh_mnemon_host.workspace import read_workspace

__all__ = ("MemoryHost",)

_log = logging.getLogger(__name__)


class MemoryHost:
    """A running Host; made by `open`.

    Attributes:
        runtime: The memory runtime.
        settings: The user's settings.
        profile: The mounted rows.
        live: The graphs in force.
        executions: The open turns.
        lifecycle: What harnesses send events to.
        workspace: Absolute default workspace.
    """

    def __init__(
        self,
        *,
        runtime: MemoryRuntime,
        settings: FileSettings,
        profile: MountedProfile,
        live: LiveRuntime,
        workspace: str,
        now: Callable[[], datetime],
    ) -> None:
        self.runtime = runtime
        self.settings = settings
        self.profile = profile
        self.live = live
        self.workspace = workspace
        self.executions = MemoryExecutions(live)
        self.lifecycle = Lifecycle(live, self.executions, settings)
        self._actions = Actions(RuntimeWriter(), lambda: live.config, now)
        self._attached: dict[AgentHost, _Attached] = {}
        self._loop: LoopHarness | None = None

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        *,
        profile: Path | Profile,
        workspace: str | os.PathLike[str] | None = None,
        settings: Path | None = None,
        overrides: Mapping[str, Any] | None = None,
        env: Mapping[str, str] | None = None,
        home: Path | None = None,
        now: Callable[[], datetime] = utc_now,
    ) -> AsyncGenerator[Self]:
        """Open a Host for the time of the block.

        Args:
            profile: A profile file, or rows; nothing is mounted that it does not name.
            workspace: Default workspace; the current directory when absent.
            settings: The user's settings file; the platform's configuration folder when absent.
            overrides: Settings that win over the profile's, camelCase; the user's still win.
            env: Environment; the process's when absent.
            home: Home directory; the user's when absent.
            now: Clock in UTC.

        Raises:
            ConfigurationError: The profile or the settings cannot be read.
            CompositionRejected: The profile's plugins do not fit together.
            StorageError: The settings file cannot be read.
        """
        place = str(read_workspace(str(absolute(os.fspath(workspace or _current())))))
        rows = profile if isinstance(profile, Profile) else load_profile(profile, strict=False)
        environment = os.environ if env is None else env
        failure: BaseException | None = None
        async with (
            open_runtime() as runtime,
            anyio.create_task_group() as tasks,
            open_root() as ctx,
        ):
            try:
                seat = HostSeat(runtime)
                ctx.provide(HOST_SEAT, seat)
                stored = await FileSettings.open(settings or settings_path())
                mounted = await mount_profile(ctx, rows, batch=runtime.batch)
                opening = _Opening(runtime, place, environment, home or Path.home(), now, tasks)
                layer = {**seat.layer, **(overrides or {})}
                await stored.register("mnemon", HostConfig, base=layer, admit=opening.admit)
                host = cls(
                    runtime=runtime,
                    settings=stored,
                    profile=mounted,
                    live=opening.served,
                    workspace=place,
                    now=now,
                )
                stored.subscribe(host._settings_changed)
                async with host._closing():
                    yield host
            except BaseException as error:
                failure = error  # raised again below, where no task group wraps it
        if failure is not None:
            raise failure

    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools of the configuration in force; write tools only while writes are on.

        A tool that was published earlier refuses by itself when it is called later (D49).
        """
        writes = self.live.config.config.write_enabled
        return tuple(tool for tool in self._every_tool if writes or not tool.writes)

    @cached_property
    def _every_tool(self) -> tuple[ToolSpec, ...]:
        # Imported here: a command that calls no tool should not pay for their models.
        from dsh_mnemon_host.tools.catalog import build_tools

        return build_tools(self.pinned, self._actions)

    def pinned(self, agent: AgentRef) -> Execution:
        """Return the execution of an Agent's own open turn.

        Raises:
            TurnError: ``turn-not-pinned``.
        """
        execution = self.executions.active(agent.id)
        if execution is None or execution.kind != "turn":
            raise TurnError(
                "turn-not-pinned",
                "no memory View is pinned for this turn, so memory cannot be used in it",
            )
        return execution

    def attach(self, harness: AgentHost) -> Disposer:
        """Serve a harness: take its Agents over and publish the tools.

        Returns:
            Detaches the harness again, and lets its Agents go.
        """
        tools = self.tools()
        attached = self._attached[harness] = _Attached(
            unsubscribe=harness.subscribe(self.lifecycle),
            unregister=harness.register_tools(tools),
            published=tools,
        )
        for agent in harness.roots():
            self.lifecycle.adopt(agent)
        return partial(self._detach, harness, attached)

    def _detach(self, harness: AgentHost, attached: _Attached) -> None:
        if self._attached.get(harness) is not attached:
            return
        del self._attached[harness]
        for agent in self.lifecycle.agents:
            if harness.agent(agent.id) is not None:
                self.lifecycle.release(agent.id)
        attached.unregister()
        attached.unsubscribe()

    @property
    def harnesses(self) -> Sequence[AgentHost]:
        """The attached harnesses."""
        return tuple(self._attached)

    def agent(self, agent_id: str = "main", *, workspace: str | None = None) -> LoopAgent:
        """Return an Agent that your own loop drives, made at first use (see the README).

        Args:
            agent_id: Id of the Agent, stable over its session.
            workspace: Absolute workspace of its session; the Host's when absent.

        Raises:
            InputError: ``workspace-not-absolute``, ``text-not-unicode``, or ``agent-exists`` when
                the Agent lives in another workspace.
        """
        if self._loop is None:
            self._loop = LoopHarness()
            self.attach(self._loop)
        place = None if workspace is None else str(read_workspace(workspace))
        return self._loop.open_agent(agent_id, place, default=self.workspace)

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
            AuthorityError: ``source-not-installed``, ``source-ambiguous``, or ``layer-off`` when
                the settings do not let a person use this capability (host.md §4.3).
        """
        place = workspace or self.workspace
        graph = await self.live.for_workspace(place)
        if capability is not None:
            require(graph.config.config, type_id, capability)
        return open_source(graph, type_id, graph.scope(place))

    async def write_runtime(
        self, mutation: Mapping[str, Any], *, workspace: str | None = None
    ) -> ManagementResult:
        """Perform a person's Runtime mutation (host.md §10.5 ``runtime-memory``).

        Args:
            mutation: ``{action, target, content?, oldText?, importance?, branches?}``.
            workspace: Absolute workspace; the Host's when absent.

        Returns:
            The revision after it, and the details of sources.md §2.2.

        Raises:
            AuthorityError: ``writes-disabled``, ``layer-off``.
            MnemonError: What the Source or its capacity workflow refuses.
        """
        self._actions.check_writable()
        session = await self.source("runtime", workspace=workspace, capability="write")
        with self.live.held(session.graph):
            return await self._actions.manage_runtime(session, dict(mutation))

    async def graph(self) -> RuntimeGraph:
        """Return the graph that serves the default workspace."""
        return await self.live.for_workspace(self.workspace)

    async def _settings_changed(self, _namespace: str, _value: BaseModel) -> None:
        """Publish the tools anew where another list is in force now."""
        tools = self.tools()
        for harness, attached in self._attached.items():
            if attached.published != tools:
                attached.unregister = harness.register_tools(tools)
                attached.published = tools

    @asynccontextmanager
    async def _closing(self) -> AsyncGenerator[None]:
        """Close this Host at the end of the block; an exception of the block has precedence."""
        failure: BaseException | None = None
        try:
            yield
        except BaseException as error:
            failure = error
        with anyio.CancelScope(shield=True):
            try:
                await self._close()
            except ExceptionGroup:
                if failure is None:
                    raise
                _log.exception("a memory Host could not be closed cleanly")
        if failure is not None:
            raise failure

    async def _close(self) -> None:
        for harness, attached in tuple(self._attached.items()):
            self._detach(harness, attached)
        self.settings.close()
        self.lifecycle.dispose()
        self.executions.dispose()
        await self.live.dispose()


@attrs.define(kw_only=True, eq=False)
class _Attached:
    """What one harness was given, and how it is taken back."""

    unsubscribe: Disposer
    unregister: Disposer
    published: tuple[ToolSpec, ...]


def _current() -> Path:
    """Return the current directory.

    Raises:
        ConfigurationError: ``workspace-missing`` when it has been deleted.
    """
    try:
        return Path.cwd()
    except OSError as error:
        raise ConfigurationError(
            "workspace-missing", "the current directory is gone; name a workspace"
        ) from error


class _Opening:
    """Builds graphs for admitted settings; the first one admitted starts the live runtime."""

    def __init__(
        self,
        runtime: MemoryRuntime,
        workspace: str,
        env: Mapping[str, str],
        home: Path,
        now: Callable[[], datetime],
        tasks: TaskGroup,
    ) -> None:
        self._runtime = runtime
        self._workspace = workspace
        self._env = env
        self._home = home
        self._now = now
        self._tasks = tasks
        self._live: LiveRuntime | None = None

    @property
    def served(self) -> LiveRuntime:
        """The live runtime."""
        if self._live is None:  # pragma: no cover - registering the settings admits them at once
            raise ConfigurationError("host-not-configured", "no settings have been admitted yet")
        return self._live

    @asynccontextmanager
    async def admit(self, value: HostConfig) -> AsyncGenerator[None]:
        """Build the candidate graph of a value, and serve it once the value is stored (§2.6)."""
        config = resolve(value, self._env, self._home)
        candidate = await self.build(config, self._workspace)
        try:
            yield
        except BaseException:
            with anyio.CancelScope(shield=True):
                await candidate.dispose()
            raise
        if self._live is None:
            self._live = LiveRuntime(candidate, self.build, self._tasks)
        else:
            self._live.swap(candidate)

    async def build(self, config: ResolvedConfig, workspace: str | None) -> RuntimeGraph:
        """Build a graph for a configuration and a workspace."""
        return await build_graph(self._runtime, config, workspace, self._now)

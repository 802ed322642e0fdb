"""MemoryHost: memory for any agent loop, from a profile to pinned turns (host.md §23.1)."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import anyio
import attrs
from dsh_mnemon_core.errors import ConfigurationError, MnemonError, TurnError
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_core.profile import MountedProfile, Profile, load_profile, mount_profile
from dsh_mnemon_core.runtime import open_runtime
from pydantic import BaseModel

from dsh_mnemon_host.agent_host import AgentHost, AgentRef, Disposer, ToolSpec
from dsh_mnemon_host.composition.choices import ChosenRows, switched_on
from dsh_mnemon_host.config import (
    HostConfig,
    MemoryView,
    ResolvedConfig,
    absolute,
    home_directory,
)
from dsh_mnemon_host.executions import Execution, MemoryExecutions
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.harness.loop import LoopAgent, LoopHarness
from dsh_mnemon_host.lifecycle import Lifecycle
from dsh_mnemon_host.opening import Opening
from dsh_mnemon_host.people import People
from dsh_mnemon_host.seat import HOST_SEAT, HostSeat
from dsh_mnemon_host.settings import FileSettings, settings_path
from dsh_mnemon_host.work.actions import Actions
from dsh_mnemon_host.work.document_work import DocumentWork
from dsh_mnemon_host.work.runtime_write import RuntimeWriter
from dsh_mnemon_host.workspace import read_workspace

if TYPE_CHECKING:
    from dsh_mnemon_host.composition.composition import Composition

__all__ = ("MemoryHost",)

_log = logging.getLogger(__name__)


class MemoryHost:
    """A running Host; made by `open`.

    Attributes:
        runtime: The memory runtime.
        settings: The user's settings.
        profile: The mounted rows.
        rows: The rows of the profile under the choices in force.
        live: The graphs in force.
        executions: The open turns.
        lifecycle: What harnesses send events to.
        workspace: Absolute default workspace.
        now: Clock in UTC.
        people: What people do through the management planes.
    """

    def __init__(
        self, *, settings: FileSettings, profile: MountedProfile, opening: Opening
    ) -> None:
        live = opening.served
        self.runtime = opening.runtime
        self.settings = settings
        self.profile = profile
        self.rows = opening.rows
        self.live = live
        self.workspace = opening.workspace
        self.now = opening.now
        self._opening = opening
        self.executions = MemoryExecutions(live)
        self.lifecycle = Lifecycle(live, self.executions, settings)
        self._actions = Actions(RuntimeWriter(), lambda: live.config, self.now)
        self._documents = DocumentWork()
        self.people = People(live, self._actions, self._documents, self.workspace, settings.path)
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
            home: Home directory; the user's when absent, which is looked for only where needed.
            now: Clock in UTC.

        Raises:
            ConfigurationError: The profile or the settings cannot be read; ``home-missing``.
            CompositionRejected: The profile's plugins do not fit together.
            StorageError: The settings file cannot be read.
        """
        place = str(read_workspace(str(absolute(os.fspath(workspace or _current())))))
        rows = profile if isinstance(profile, Profile) else load_profile(profile, strict=False)
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
                opening = Opening(
                    runtime=runtime,
                    workspace=place,
                    env=os.environ if env is None else env,
                    home=partial(home_directory, os.environ) if home is None else lambda: home,
                    now=now,
                    tasks=tasks,
                    rows=ChosenRows(mounted, rows.rows),
                )
                layer = {**seat.layer, **(overrides or {})}
                await stored.register("mnemon", HostConfig, base=layer, admit=opening.admit)
                host = cls(settings=stored, profile=mounted, opening=opening)
                stored.subscribe(host._settings_changed)
                async with host._closing():
                    yield host
            except BaseException as error:
                failure = error  # raised again below, where no task group wraps it
        if failure is not None:
            raise failure

    @cached_property
    def composition(self) -> Composition:
        """Which entries take part, and how that is changed."""
        from dsh_mnemon_host.composition.composition import Composition

        return Composition(self)

    @property
    def choices_problem(self) -> MnemonError | None:
        """Why saved choices could not be restored when this Host opened, if that is so."""
        return self._opening.problem

    def resolved_with(self, choices: MemoryView) -> ResolvedConfig:
        """Return the configuration in force with other choices of entries and Strategy."""
        value = self.live.config.config.model_copy(update={"memory_view": choices})
        return self._opening.resolved(value)

    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools of the composition in force; write tools only while writes are on.

        What serves a Source that is not there would only cost a model attention; that of one that
        has failed says so. A tool that was published earlier refuses by itself when it is called
        later (D49).
        """
        writes = self.live.config.config.write_enabled
        sources = self.runtime.snapshot.sources
        installed = {None, *(source.definition.manifest.type_id for source in sources)}
        return tuple(
            tool
            for tool in self._every_tool
            if (writes or not tool.writes)
            and (
                tool.source_type in installed
                or switched_on(self.rows.current, str(tool.source_type))
            )
        )

    @cached_property
    def _every_tool(self) -> tuple[ToolSpec, ...]:
        # Imported here: a command that calls no tool should not pay for their models.
        from dsh_mnemon_host.tools.catalog import build_tools

        return build_tools(self.pinned, self._actions, self._documents, self._not_in_force)

    def _not_in_force(self) -> tuple[str, ...]:
        """Say which settings that were made are not in force; the file's folder is left out."""
        path = self.settings.path
        problems = (self.settings.problem, self.choices_problem)
        return tuple(
            f"what {path.name} says now is not in force: {problem}".rstrip(".").replace(
                str(path), path.name
            )
            for problem in problems
            if problem is not None
        )

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

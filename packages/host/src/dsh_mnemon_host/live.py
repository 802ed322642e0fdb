"""The graph in force, the ones per workspace, and how they are swapped and drained (§4.2)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from dsh_mnemon_core.errors import ConflictError, LifecycleError

from dsh_mnemon_host.agent_host import AgentRef
from dsh_mnemon_host.config import ResolvedConfig
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.workspace import canonical_workspace, read_workspace

__all__ = ("LiveRuntime",)

_log = logging.getLogger(__name__)

Build = Callable[[ResolvedConfig, str | None], Awaitable[RuntimeGraph]]


class LiveRuntime:
    """Current graph, cached workspace graphs, and who is bound to which.

    Args:
        current: The graph that serves now.
        build: Builds a graph for a configuration and a workspace.
        tasks: Task group in which retired graphs drain; it must outlive this object.
    """

    def __init__(self, current: RuntimeGraph, build: Build, tasks: TaskGroup) -> None:
        self.current = current
        self._build = build
        self._tasks = tasks
        self._cached: dict[str, RuntimeGraph] = {}
        self._retired: set[RuntimeGraph] = set()
        self._bound: dict[str, RuntimeGraph] = {}
        self._gate = anyio.Lock()
        self._remember(current)

    @property
    def config(self) -> ResolvedConfig:
        """The configuration in force."""
        return self.current.config

    @property
    def graphs(self) -> Sequence[RuntimeGraph]:
        """All graphs that take new turns."""
        return tuple({id(g): g for g in (self.current, *self._cached.values())}.values())

    def swap(self, following: RuntimeGraph) -> None:
        """Serve another graph; the former ones take no new turns and drain once unbound."""
        former = self.graphs
        self.current = following
        self._cached.clear()
        self._remember(following)
        for graph in former:
            self._retire(graph)

    async def for_workspace(self, workspace: str | None) -> RuntimeGraph:
        """Return the graph of a workspace under the configuration in force.

        Raises:
            LifecycleError: ``workspace-required`` under a workspace scope without a workspace.
        """
        if self._key(workspace) is None:
            return self.current
        async with self._gate:
            while (key := self._key(workspace)) is not None and key not in self._cached:
                config = self.config
                graph = await self._build(config, workspace)
                if config is self.config:
                    self._cached[key] = graph
                else:  # another configuration came into force meanwhile
                    self._retire(graph)
            return self.current if key is None else self._cached[key]

    async def for_agent(self, agent: AgentRef) -> RuntimeGraph:
        """Return an Agent's own binding, else its parent's, else that of its workspace."""
        for name in (agent.id, agent.parent_id):
            if name is not None and name in self._bound:
                return self._bound[name]
        return await self.for_workspace(agent.cwd)

    def bind_agent(self, agent_id: str, graph: RuntimeGraph) -> Callable[[], None]:
        """Keep a graph alive for an Agent; the answer releases it, once.

        Raises:
            ConflictError: ``agent-already-bound``.
        """
        if agent_id in self._bound:
            raise ConflictError("agent-already-bound", f"agent {agent_id} is bound to a graph")
        self._bound[agent_id] = graph
        held = [agent_id]

        def release() -> None:
            while held:
                del self._bound[held.pop()]
                self._drain(graph)

        return release

    def bound(self, agent_id: str) -> RuntimeGraph | None:
        """Return the graph an Agent is bound to."""
        return self._bound.get(agent_id)

    @contextmanager
    def held(self, graph: RuntimeGraph) -> Generator[None]:
        """Keep a graph alive for one operation, so that it ends where it began."""
        release = self.bind_agent(f"operation:{uuid4()}", graph)
        try:
            yield
        finally:
            release()

    async def dispose(self) -> None:
        """Dispose every graph once.

        Raises:
            ExceptionGroup: What could not be disposed; the rest is disposed.
        """
        graphs, failures = (*self.graphs, *self._retired), list[Exception]()
        self._retired.clear()
        self._cached.clear()
        for graph in graphs:
            try:
                await graph.dispose()
            except ExceptionGroup as group:
                failures.extend(group.exceptions)
        if failures:
            raise ExceptionGroup("memory graphs could not be disposed cleanly", failures)

    def _key(self, workspace: str | None) -> str | None:
        scope = self.config.storage_scope
        if scope not in ("workspace", "workspaces"):
            return None
        if workspace is None:
            raise LifecycleError(
                "workspace-required", f"storage scope {scope} needs a session with a workspace"
            )
        find = canonical_workspace if scope == "workspaces" else read_workspace
        return str(find(workspace))

    def _remember(self, graph: RuntimeGraph) -> None:
        if graph.layout.workspace is not None:
            self._cached[str(graph.layout.workspace)] = graph

    def _retire(self, graph: RuntimeGraph) -> None:
        self._retired.add(graph)
        self._drain(graph)

    def _drain(self, graph: RuntimeGraph) -> None:
        if graph in self._retired and graph not in self._bound.values():
            self._retired.discard(graph)
            self._tasks.start_soon(self._dispose, graph)

    async def _dispose(self, graph: RuntimeGraph) -> None:
        try:
            await graph.dispose()
        except ExceptionGroup:
            _log.exception("a retired memory graph could not be disposed cleanly")

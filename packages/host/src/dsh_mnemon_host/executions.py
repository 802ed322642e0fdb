"""MemoryExecutions: one slot per Agent, pairing a Core turn with its graph (host.md §5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Literal
from uuid import uuid4

import anyio
import attrs
from dsh_mnemon_core.errors import LifecycleError, TurnError
from dsh_mnemon_core.scope import ROOT_TURN, OperationScope
from dsh_mnemon_core.turns import TurnContext

from dsh_mnemon_host.agent_host import AgentRef
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.live import LiveRuntime

__all__ = ("Delegation", "Execution", "MemoryExecutions")


@attrs.frozen(kw_only=True)
class Delegation:
    """What a child captured from its parent: graph, scope and, when there was one, the View."""

    graph: RuntimeGraph
    scope: OperationScope
    view_id: str | None = None


@attrs.define(eq=False)
class Execution:
    """One open slot.

    Attributes:
        kind: A turn, or background work that composed a View of its own.
        agent_id: The executing Agent.
        graph: The graph it runs on.
        context: The pinned turn; the object is the execution identity.
    """

    kind: Literal["turn", "workflow"]
    agent_id: str
    graph: RuntimeGraph
    context: TurnContext
    users: int = 0
    closed: bool = False
    _work: set[anyio.CancelScope] = attrs.field(factory=set[anyio.CancelScope])

    @asynccontextmanager
    async def work(self) -> AsyncGenerator[None]:
        """Run something that the end of this slot cancels.

        Raises:
            TurnError: ``turn-ended`` when the slot ended before or meanwhile.
        """
        if self.closed:
            raise TurnError("turn-ended", "the turn has ended")
        with anyio.CancelScope() as scope:
            self._work.add(scope)
            try:
                yield
            finally:
                self._work.discard(scope)
        if scope.cancelled_caught:
            raise TurnError("turn-ended", "the turn ended while this call ran")

    def abort(self) -> None:
        """Cancel the running work and refuse more."""
        self.closed = True
        for scope in tuple(self._work):
            scope.cancel()


@attrs.define(eq=False)
class _Slot:
    done: anyio.Event = attrs.field(factory=anyio.Event)
    execution: Execution | None = None
    aborted: bool = False


class MemoryExecutions:
    """Owner of the pairing of Core turns and graphs; at most one slot per Agent."""

    def __init__(self, live: LiveRuntime) -> None:
        self._live = live
        self._slots: dict[str, _Slot] = {}
        self._owned: dict[int, Callable[[], None]] = {}
        self._disposed = False

    def active(self, agent_id: str) -> Execution | None:
        """Return the open execution of an Agent."""
        slot = self._slots.get(agent_id)
        execution = slot.execution if slot else None
        return execution if execution is not None and not execution.closed else None

    async def turn(
        self, agent: AgentRef, number: int, delegation: Delegation | None = None
    ) -> Execution:
        """Open the turn ``<agentId>:<number>``; wait first until the former slot is cleaned up.

        Raises:
            CompositionUnavailable, ViewRejected, TurnError: As the Core's turns.
            LifecycleError: ``host-disposed``, ``workspace-required``.
        """
        return await self._open("turn", agent, f"{agent.id}:{number}", ROOT_TURN, delegation)

    @asynccontextmanager
    async def workflow(self, agent: AgentRef, operation: str) -> AsyncGenerator[Execution]:
        """Run background work on an Agent, sharing its open slot if there is one."""
        execution = self.active(agent.id)
        if execution is None:
            scenario = f"agent.{operation}"
            execution = await self._open("workflow", agent, f"workflow:{uuid4()}", scenario, None)
        execution.users += 1
        try:
            async with execution.work():
                yield execution
        finally:
            execution.users -= 1
            if execution.kind == "workflow" and not execution.users:
                self.close(execution)

    def close(self, execution: Execution) -> None:
        """End a slot: abort its work, end its turn, let the next one in; idempotent."""
        release = self._owned.pop(id(execution), None)
        if release is not None:
            execution.abort()
            release()

    def retain(self, agent: AgentRef, delegation: Delegation) -> Callable[[], None]:
        """Keep a delegated View and bind the Agent to its graph; one release undoes both."""
        unbind = self._live.bind_agent(agent.id, delegation.graph)
        let_go: Callable[[], None] | None = None
        try:
            if delegation.view_id is not None:
                let_go = delegation.graph.turns.retain_view(delegation.view_id)
        except BaseException:
            unbind()
            raise

        def release() -> None:
            if let_go is not None:
                let_go()
            unbind()

        return release

    def dispose(self) -> None:
        """Refuse new slots, abort and close everything."""
        self._disposed = True
        for slot in tuple(self._slots.values()):
            slot.aborted = True
            if slot.execution is not None:
                self.close(slot.execution)

    async def _open(
        self,
        kind: Literal["turn", "workflow"],
        agent: AgentRef,
        turn_id: str,
        scenario: str,
        delegation: Delegation | None,
    ) -> Execution:
        former = self._slots.get(agent.id)
        slot = self._slots[agent.id] = _Slot()
        try:
            if former is not None:
                await former.done.wait()
            if self._disposed or slot.aborted:
                raise LifecycleError("host-disposed", "the memory Host is closing")
            graph = delegation.graph if delegation else await self._live.for_agent(agent)
            unbind = self._bind(agent, graph, delegation)
            try:
                context = await _pin(graph, agent, turn_id, scenario, delegation)
            except BaseException:
                graph.turns.end_turn(turn_id)
                unbind()
                raise
        except BaseException:
            self._finish(agent.id, slot)
            raise
        execution = slot.execution = Execution(kind, agent.id, graph, context)

        def release() -> None:
            if graph.turns.turn(turn_id) is context:
                graph.turns.end_turn(turn_id)
            unbind()
            self._finish(agent.id, slot)

        self._owned[id(execution)] = release
        return execution

    def _bind(
        self, agent: AgentRef, graph: RuntimeGraph, delegation: Delegation | None
    ) -> Callable[[], None]:
        if delegation is not None or self._live.bound(agent.id) is not None:
            return _nothing  # a child is bound for its whole life
        return self._live.bind_agent(agent.id, graph)

    def _finish(self, agent_id: str, slot: _Slot) -> None:
        slot.done.set()
        if self._slots.get(agent_id) is slot:
            del self._slots[agent_id]


def _nothing() -> None:
    """Release what was never taken."""


async def _pin(
    graph: RuntimeGraph,
    agent: AgentRef,
    turn_id: str,
    scenario: str,
    delegation: Delegation | None,
) -> TurnContext:
    if delegation is None:
        return await graph.turns.begin_turn(turn_id, graph.scope(agent.cwd, agent.id), scenario)
    scope = attrs.evolve(delegation.scope, session_id=agent.id, agent_id=agent.id)
    if delegation.view_id is None:
        return await graph.turns.begin_turn(turn_id, scope, scenario)
    return graph.turns.pin_turn(turn_id, scope, delegation.view_id)

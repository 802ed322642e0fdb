"""MemoryExecutions: one slot per Agent, pairing a Core turn with its graph (host.md §5)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
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
        child: Whether another Agent started this one, and gave it a View or a graph.
        users: How many workflows share it.
        closed: Whether it has ended; what it was doing may still be stopping.
    """

    kind: Literal["turn", "workflow"]
    agent_id: str
    graph: RuntimeGraph
    context: TurnContext
    _vacate: Callable[[], None]
    child: bool = False
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
                self._settle()
        if scope.cancelled_caught:
            raise TurnError("turn-ended", "the turn ended while this call ran")

    def close(self) -> None:
        """End the turn and cancel its work; the slot is free once all of that has stopped."""
        if self.closed:
            return
        self.closed = True
        if self.graph.turns.turn(self.context.turn_id) is self.context:
            self.graph.turns.end_turn(self.context.turn_id)
        for scope in tuple(self._work):
            scope.cancel()
        self._settle()

    def _settle(self) -> None:
        if self.closed and not self._work:
            self._vacate()


@attrs.define(eq=False)
class _Seat:
    """The one slot of an Agent.

    Attributes:
        gate: Held from before a slot opens until its cleanup is complete; first come first served.
        wanted: How many have the slot or wait for it.
        opening: Set once whoever asked last has the slot or gave up; ``None`` when nobody waits.
        execution: Who had it last.
    """

    gate: anyio.Semaphore = attrs.field(factory=lambda: anyio.Semaphore(1))
    wanted: int = 0
    opening: anyio.Event | None = None
    execution: Execution | None = None


class MemoryExecutions:
    """Owner of the pairing of Core turns and graphs; at most one slot per Agent."""

    def __init__(self, live: LiveRuntime) -> None:
        self._live = live
        self._seats: dict[str, _Seat] = {}
        self._disposed = False

    def active(self, agent_id: str) -> Execution | None:
        """Return the open execution of an Agent."""
        seat = self._seats.get(agent_id)
        execution = seat.execution if seat else None
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
        """Run background work on an Agent, sharing its open slot if there is one.

        A turn is only borrowed; a slot of its own closes with the last workflow that uses it.

        Raises:
            TurnError: ``turn-ended`` when the slot ended meanwhile.
            MnemonError: As `turn`.
        """
        execution = await self._shared(agent, operation)
        execution.users += 1
        try:
            async with execution.work():
                yield execution
        finally:
            execution.users -= 1
            if execution.kind == "workflow" and not execution.users:
                execution.close()

    async def _shared(self, agent: AgentRef, operation: str) -> Execution:
        """Return the slot that is open, or that is being opened, or a new one."""
        while True:
            execution, seat = self.active(agent.id), self._seats.get(agent.id)
            if execution is not None:
                return execution
            if seat is None or seat.opening is None:
                scenario = f"agent.{operation}"
                return await self._open("workflow", agent, f"workflow:{uuid4()}", scenario, None)
            await seat.opening.wait()

    def close(self, execution: Execution) -> None:
        """End a slot: end its turn, cancel its work, then let the next one in; idempotent."""
        execution.close()

    def retain(self, agent: AgentRef, delegation: Delegation) -> Callable[[], None]:
        """Keep a delegated View and bind the Agent to its graph; one release undoes both.

        Raises:
            ConflictError: ``agent-already-bound``.
            TurnError: ``view-not-pinned``.
        """
        with ExitStack() as undo:
            undo.callback(self._live.bind_agent(agent.id, delegation.graph))
            if delegation.view_id is not None:
                undo.callback(delegation.graph.turns.retain_view(delegation.view_id))
            return undo.pop_all().close

    def dispose(self) -> None:
        """Refuse new slots, abort and close everything."""
        self._disposed = True
        for seat in tuple(self._seats.values()):
            if seat.execution is not None:
                seat.execution.close()

    async def _open(
        self,
        kind: Literal["turn", "workflow"],
        agent: AgentRef,
        turn_id: str,
        scenario: str,
        delegation: Delegation | None,
    ) -> Execution:
        seat = self._seats.setdefault(agent.id, _Seat())
        with ExitStack() as undo:
            undo.callback(self._enter(agent.id, seat))
            opening = seat.opening = anyio.Event()
            try:
                await seat.gate.acquire()
                undo.callback(seat.gate.release)
                self._check_open()
                graph = delegation.graph if delegation else await self._live.for_agent(agent)
                if self._live.bound(agent.id) is None:  # a child is bound for its whole life
                    undo.callback(self._live.bind_agent(agent.id, graph))
                context = await _pin(graph, agent, turn_id, scenario, delegation)
                execution = Execution(
                    kind, agent.id, graph, context, undo.pop_all().close, delegation is not None
                )
                seat.execution = execution
            finally:
                opening.set()
                if seat.opening is opening:
                    seat.opening = None
        try:
            self._check_open()  # still, although composing the View took its time
        except LifecycleError:
            execution.close()
            raise
        return execution

    def _enter(self, agent_id: str, seat: _Seat) -> Callable[[], None]:
        """Count somebody who wants a seat; the answer counts it off."""
        seat.wanted += 1

        def leave() -> None:
            seat.wanted -= 1
            if not seat.wanted:
                del self._seats[agent_id]

        return leave

    def _check_open(self) -> None:
        if self._disposed:
            raise LifecycleError("host-disposed", "the memory Host is closing")


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

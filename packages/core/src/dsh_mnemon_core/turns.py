"""Turns: pinned Views, retained Views and child delegation (spec/core.md §13)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import attrs
from anyio.abc import TaskGroup

from dsh_mnemon_core._engine.compose import compose
from dsh_mnemon_core._engine.execute import Authorize, execute_action, execute_route
from dsh_mnemon_core._engine.serving import GenerationHost, Lease
from dsh_mnemon_core.errors import TurnError
from dsh_mnemon_core.evidence import Evidence, Receipt
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.scope import ROOT_TURN, OperationScope, ViewRequest
from dsh_mnemon_core.view import View

__all__ = ("TurnContext", "TurnManager")


@attrs.frozen(kw_only=True, eq=False)
class TurnContext:
    """One pinned turn. The object itself, never its View id, is the execution identity.

    Attributes:
        turn_id: The caller's id of the turn.
        view: The pinned View.
        scope: The scope the turn runs in.
        started_at: ISO-8601 UTC with milliseconds.
    """

    turn_id: str
    view: View
    scope: OperationScope
    started_at: str


@attrs.define(kw_only=True, eq=False)
class _Turn:
    """An id that is taken: its View is being prepared until there is a context."""

    scope: OperationScope
    lease: Lease
    context: TurnContext | None = None
    error: Exception | None = None
    callers: int = 0  # of `begin_turn`, less those that gave up
    done: anyio.Event = attrs.field(factory=anyio.Event)
    cancel: anyio.CancelScope = attrs.field(factory=anyio.CancelScope)


class TurnManager:
    """Turns over one generation host.

    Args:
        host: Where generations are leased.
        tasks: Task group in which Views are prepared; it must outlive this manager.
    """

    def __init__(self, host: GenerationHost, tasks: TaskGroup) -> None:
        self._host = host
        self._tasks = tasks
        self._turns: dict[str, _Turn] = {}  # in the order in which they were pinned
        self._retained: dict[Lease, View] = {}

    def turn(self, turn_id: str) -> TurnContext | None:
        """Return the pinned turn with this id."""
        turn = self._turns.get(turn_id)
        return turn.context if turn else None

    def active_turn(self, agent_id: str) -> TurnContext | None:
        """Return the most recently pinned turn of an Agent."""
        for turn in reversed(self._turns.values()):
            if turn.context and turn.scope.agent_id == agent_id:
                return turn.context
        return None

    async def begin_turn(
        self, turn_id: str, scope: OperationScope, scenario: str = ROOT_TURN
    ) -> TurnContext:
        """Compose and pin the View of a turn; the same id and scope joins or returns it.

        A cancelled caller ends its own wait; what all callers gave up, ends.

        Raises:
            TurnError: ``turn-id-required``, ``turn-scope-conflict``, or ``turn-ended`` when the
                turn was ended while it was prepared.
            CompositionUnavailable: No generation serves.
            ViewRejected: The View cannot be composed.
        """
        turn = self._turns.get(_read_id(turn_id))
        if turn is None:
            request = ViewRequest(scope=scope, scenario=scenario)
            turn = self._turns[turn_id] = _Turn(scope=scope, lease=self._host.acquire())
            self._tasks.start_soon(self._prepare, turn_id, turn, request)
        if turn.scope != scope:
            raise TurnError("turn-scope-conflict", f"turn {turn_id} runs in another scope")
        turn.callers += 1
        return turn.context or await self._join(turn_id, turn)

    async def _join(self, turn_id: str, turn: _Turn) -> TurnContext:
        try:
            await turn.done.wait()
        except anyio.get_cancelled_exc_class():
            turn.callers -= 1
            # The id may stand for another turn by now.
            if not turn.callers and self._turns.get(turn_id) is turn:
                self.end_turn(turn_id)
            raise
        if turn.error is not None:
            raise turn.error
        if turn.context is None:
            raise TurnError("turn-ended", f"turn {turn_id} ended while its View was prepared")
        return turn.context

    async def _prepare(self, turn_id: str, turn: _Turn, request: ViewRequest) -> None:
        try:
            with turn.cancel:
                view = await compose(turn.lease.generation, request)
                if self._turns.get(turn_id) is turn:  # else it ended at the last moment
                    self._pin(turn_id, turn, view)
        except Exception as error:
            turn.error = error
        finally:
            if turn.context is None:
                turn.lease.release()
                if self._turns.get(turn_id) is turn:
                    del self._turns[turn_id]
            turn.done.set()

    def _pin(self, turn_id: str, turn: _Turn, view: View) -> TurnContext:
        self._turns.pop(turn_id, None)
        self._turns[turn_id] = turn
        turn.context = TurnContext(
            turn_id=turn_id,
            view=view,
            scope=turn.scope,
            started_at=iso_utc(self._host.options.now()),
        )
        return turn.context

    def pin_turn(self, turn_id: str, scope: OperationScope, view_id: str) -> TurnContext:
        """Pin an existing View, pinned or retained, for another execution.

        Raises:
            TurnError: ``turn-id-required``, ``turn-authority-changed``, ``turn-preparing``,
                ``view-not-pinned`` or ``delegation-scope-mismatch`` (storage and workspace must
                equal the View's).
        """
        turn = self._turns.get(_read_id(turn_id))
        if turn is not None:
            if turn.context is None:
                raise TurnError("turn-preparing", f"turn {turn_id} is being prepared")
            if turn.context.view.id != view_id or turn.scope != scope:
                raise TurnError(
                    "turn-authority-changed", f"turn {turn_id} is pinned to another View or scope"
                )
            return turn.context
        view = self._view(view_id)
        if (scope.storage, scope.workspace_id) != (view.scope.storage, view.scope.workspace_id):
            raise TurnError(
                "delegation-scope-mismatch", "a View serves only its own storage and workspace"
            )
        lease = self._host.acquire(view.runtime_generation)
        return self._pin(turn_id, _Turn(scope=scope, lease=lease), view)

    def end_turn(self, turn_id: str) -> bool:
        """Release a turn's pin, or cancel its preparation; False when it is unknown."""
        turn = self._turns.pop(turn_id, None)
        if turn is None:
            return False
        if turn.context is None:
            turn.cancel.cancel()  # the preparation releases its lease when it has come to an end
        else:
            turn.lease.release()
        return True

    def retain_view(self, view_id: str) -> Callable[[], None]:
        """Keep a View and its generation beyond the turn; return an idempotent release.

        Raises:
            TurnError: ``view-not-pinned``.
        """
        view = self._view(view_id)
        lease = self._host.acquire(view.runtime_generation)
        self._retained[lease] = view

        def release() -> None:
            self._retained.pop(lease, None)
            lease.release()

        return release

    async def execute_route(self, turn_id: str, route_id: str, input: Any) -> Evidence:
        """Execute a route of a turn's View under an operation lease; see the engine's errors.

        Raises:
            TurnError: ``turn-not-pinned``.
        """
        context = self._pinned(turn_id)
        with self._host.acquire(context.view.runtime_generation) as lease:
            return await execute_route(
                lease.generation, context.view, route_id, input, execution=context
            )

    async def execute_action(
        self, turn_id: str, offer_id: str, input: Any, *, authorize: Authorize
    ) -> Receipt:
        """Execute an action of a turn's View under an operation lease.

        Raises:
            TurnError: ``turn-not-pinned``.
        """
        context = self._pinned(turn_id)
        with self._host.acquire(context.view.runtime_generation) as lease:
            return await execute_action(
                lease.generation, context.view, offer_id, input, authorize=authorize
            )

    def dispose(self) -> None:
        """Abort preparations and release every pin and retained View."""
        for turn_id in tuple(self._turns):
            self.end_turn(turn_id)
        while self._retained:
            self._retained.popitem()[0].release()

    def _pinned(self, turn_id: str) -> TurnContext:
        context = self.turn(turn_id)
        if context is None:
            raise TurnError("turn-not-pinned", f"turn {turn_id} is not pinned")
        return context

    def _view(self, view_id: str) -> View:
        pinned = [turn.context.view for turn in self._turns.values() if turn.context]
        views = {view.id: view for view in (*self._retained.values(), *pinned)}
        if view_id not in views:
            raise TurnError("view-not-pinned", f"{view_id} is neither pinned nor retained")
        return views[view_id]


def _read_id(turn_id: str) -> str:
    if not turn_id.strip():
        raise TurnError("turn-id-required", "a turn needs an id")
    return turn_id

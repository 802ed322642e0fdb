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
from dsh_mnemon_core.checks import text
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


@attrs.frozen(kw_only=True, eq=False)
class _Pin:
    context: TurnContext
    lease: Lease


@attrs.define(kw_only=True, eq=False)
class _Retained:
    view: View
    lease: Lease
    holders: int = 0


@attrs.define(kw_only=True, eq=False)
class _Preparation:
    scope: OperationScope
    lease: Lease
    done: anyio.Event = attrs.field(factory=anyio.Event)
    cancel: anyio.CancelScope = attrs.field(factory=anyio.CancelScope)
    waiters: int = 0
    context: TurnContext | None = None
    error: Exception | None = None


class TurnManager:
    """Turns over one generation host.

    Args:
        host: Where generations are leased.
        tasks: Task group in which Views are prepared; it must outlive this manager.
    """

    def __init__(self, host: GenerationHost, tasks: TaskGroup) -> None:
        self._host = host
        self._tasks = tasks
        self._pins: dict[str, _Pin] = {}
        self._preparing: dict[str, _Preparation] = {}
        self._retained: dict[str, _Retained] = {}

    def turn(self, turn_id: str) -> TurnContext | None:
        """Return the pinned turn with this id."""
        pin = self._pins.get(turn_id)
        return pin.context if pin else None

    def active_turn(self, agent_id: str) -> TurnContext | None:
        """Return the most recently pinned turn of an Agent."""
        for pin in reversed(self._pins.values()):
            if pin.context.scope.agent_id == agent_id:
                return pin.context
        return None

    async def begin_turn(
        self, turn_id: str, scope: OperationScope, scenario: str = ROOT_TURN
    ) -> TurnContext:
        """Compose and pin the View of a turn; the same id and scope joins or returns it.

        Cancelling a waiter ends its wait; the preparation goes on while somebody else waits.

        Raises:
            TurnError: ``turn-id-required`` through `InputError` codes, ``turn-scope-conflict``, or
                ``turn-ended`` when the turn was ended while it was prepared.
            CompositionUnavailable: No generation serves.
            ViewRejected: The View cannot be composed.
        """
        if not turn_id.strip():
            raise TurnError("turn-id-required", "a turn needs an id")
        pinned = self._pins.get(turn_id)
        if pinned is not None:
            _same_scope(turn_id, pinned.context.scope, scope)
            return pinned.context
        preparation = self._preparing.get(turn_id)
        if preparation is None:
            request = ViewRequest(scope=scope, scenario=scenario)
            preparation = _Preparation(scope=scope, lease=self._host.acquire())
            self._preparing[turn_id] = preparation
            self._tasks.start_soon(self._prepare, turn_id, preparation, request)
        _same_scope(turn_id, preparation.scope, scope)
        return await self._join(turn_id, preparation)

    async def _join(self, turn_id: str, preparation: _Preparation) -> TurnContext:
        preparation.waiters += 1
        try:
            await preparation.done.wait()
        finally:
            preparation.waiters -= 1
            if not preparation.waiters and not preparation.done.is_set():
                self.end_turn(turn_id)
        if preparation.error is not None:
            raise preparation.error
        if preparation.context is None:
            raise TurnError("turn-ended", f"turn {turn_id} ended while its View was prepared")
        return preparation.context

    async def _prepare(self, turn_id: str, preparation: _Preparation, request: ViewRequest) -> None:
        try:
            with preparation.cancel:
                view = await compose(preparation.lease.generation, request)
                preparation.context = self._pin(turn_id, view, request.scope, preparation.lease)
        except Exception as error:
            preparation.error = error
        finally:
            if preparation.context is None:
                preparation.lease.release()
            if self._preparing.get(turn_id) is preparation:
                del self._preparing[turn_id]
            preparation.done.set()

    def _pin(self, turn_id: str, view: View, scope: OperationScope, lease: Lease) -> TurnContext:
        context = TurnContext(
            turn_id=turn_id,
            view=view,
            scope=scope,
            started_at=iso_utc(self._host.options.now()),
        )
        self._pins[turn_id] = _Pin(context=context, lease=lease)
        return context

    def pin_turn(self, turn_id: str, scope: OperationScope, view_id: str) -> TurnContext:
        """Pin an existing View, pinned or retained, for another execution.

        Raises:
            TurnError: ``turn-authority-changed``, ``turn-preparing``, ``view-not-pinned`` or
                ``delegation-scope-mismatch`` (storage and workspace must equal the View's).
        """
        text(turn_id, "turn id", 1000, kind=TurnError)
        pinned = self._pins.get(turn_id)
        if pinned is not None:
            if pinned.context.view.id != view_id or pinned.context.scope != scope:
                raise TurnError(
                    "turn-authority-changed", f"turn {turn_id} is pinned to another View or scope"
                )
            return pinned.context
        if turn_id in self._preparing:
            raise TurnError("turn-preparing", f"turn {turn_id} is being prepared")
        view = self._view(view_id)
        if (scope.storage, scope.workspace_id) != (view.scope.storage, view.scope.workspace_id):
            raise TurnError(
                "delegation-scope-mismatch", "a View serves only its own storage and workspace"
            )
        return self._pin(turn_id, view, scope, self._host.acquire(view.runtime_generation))

    def end_turn(self, turn_id: str) -> bool:
        """Release a turn's pin, or cancel its preparation; False when it is unknown."""
        preparation = self._preparing.pop(turn_id, None)
        if preparation is not None:
            preparation.cancel.cancel()
            return True
        pin = self._pins.pop(turn_id, None)
        if pin is None:
            return False
        pin.lease.release()
        return True

    def retain_view(self, view_id: str) -> Callable[[], None]:
        """Keep a View and its generation beyond the turn; return an idempotent release.

        Raises:
            TurnError: ``view-not-pinned``.
        """
        retained = self._retained.get(view_id)
        if retained is None:
            view = self._view(view_id)
            lease = self._host.acquire(view.runtime_generation)
            retained = self._retained[view_id] = _Retained(view=view, lease=lease)
        retained.holders += 1
        held = [retained]

        def release() -> None:
            while held:
                self._release_view(view_id, held.pop())

        return release

    def _release_view(self, view_id: str, retained: _Retained) -> None:
        retained.holders -= 1
        if not retained.holders and self._retained.get(view_id) is retained:
            del self._retained[view_id]
            retained.lease.release()

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
        for turn_id in (*self._preparing, *self._pins):
            self.end_turn(turn_id)
        retained, self._retained = self._retained, {}
        for item in retained.values():
            item.lease.release()

    def _pinned(self, turn_id: str) -> TurnContext:
        context = self.turn(turn_id)
        if context is None:
            raise TurnError("turn-not-pinned", f"turn {turn_id} is not pinned")
        return context

    def _view(self, view_id: str) -> View:
        for pin in self._pins.values():
            if pin.context.view.id == view_id:
                return pin.context.view
        if view_id in self._retained:
            return self._retained[view_id].view
        raise TurnError("view-not-pinned", f"{view_id} is neither pinned nor retained")


def _same_scope(turn_id: str, known: OperationScope, given: OperationScope) -> None:
    if known != given:
        raise TurnError("turn-scope-conflict", f"turn {turn_id} runs in another scope")

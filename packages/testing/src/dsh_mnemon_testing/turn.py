"""One turn of a runner: a pinned View and what it offers (spec/core.md §9, §10, §13)."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import anyio
from dsh_mnemon_core._engine.compose import compose
from dsh_mnemon_core._engine.execute import Authorize, execute_action, execute_route
from dsh_mnemon_core.errors import LifecycleError, TurnError
from dsh_mnemon_core.evidence import Evidence, Receipt
from dsh_mnemon_core.runtime import GenerationHost, Lease
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.view import ActionOffer, View

__all__ = ("Operations", "RunnerTurn", "begin_turn")


class Operations:
    """The calls in progress, so that closing can abort them."""

    def __init__(self) -> None:
        self._open = True
        self._scopes: set[anyio.CancelScope] = set()

    @contextmanager
    def running(self) -> Generator[None]:
        """Let one call run until it ends or all are aborted.

        Raises:
            LifecycleError: ``runner-disposed``.
        """
        self.check_open()
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                yield
            finally:
                self._scopes.discard(scope)
        if scope.cancelled_caught:
            raise LifecycleError("runner-disposed", "the memory runner was closed meanwhile")

    def check_open(self) -> None:
        """Refuse once closed.

        Raises:
            LifecycleError: ``runner-disposed``.
        """
        if not self._open:
            raise LifecycleError("runner-disposed", "the memory runner is closed")

    def close(self) -> None:
        """Abort every call and refuse further ones."""
        self._open = False
        for scope in tuple(self._scopes):
            scope.cancel()


class RunnerTurn:
    """A pinned View with call budgets of its own; ``with turn:`` releases it at the end.

    Attributes:
        view: The View.
    """

    def __init__(
        self,
        view: View,
        lease: Lease,
        host: GenerationHost,
        operations: Operations,
        forget: Callable[[RunnerTurn], None],
    ) -> None:
        self.view = view
        self._lease = lease
        self._host = host
        self._operations = operations
        self._forget = forget
        self._pinned = True

    async def execute_route(self, route_id: str, input: Any) -> Evidence:
        """Execute a route of the View; ``<Source instance key>/<route id>``.

        Raises:
            TurnError: ``turn-ended``.
            MnemonError: As the engine raises it (spec/core.md §9).
        """
        with self._operation() as lease:
            return await execute_route(lease.generation, self.view, route_id, input, execution=self)

    async def execute_action(
        self, offer_id: str, input: Any, *, authorize: Authorize | bool
    ) -> Receipt:
        """Execute an action of the View; ``<Source instance key>/<action id>``.

        Args:
            offer_id: View action id.
            input: JSON input.
            authorize: Says whether this very execution is allowed; a bool stands for itself.

        Raises:
            TurnError: ``turn-ended``.
            MnemonError: As the engine raises it (spec/core.md §10).
        """

        async def settled(_offer: ActionOffer) -> bool:
            return authorize is True

        asked = settled if isinstance(authorize, bool) else authorize
        with self._operation() as lease:
            return await execute_action(
                lease.generation, self.view, offer_id, input, authorize=asked
            )

    def release(self) -> None:
        """Let go of the View; idempotent. Calls in progress keep their generation."""
        self._pinned = False
        self._lease.release()
        self._forget(self)

    @contextmanager
    def _operation(self) -> Generator[Lease]:
        if not self._pinned:
            raise TurnError("turn-ended", "this turn was released")
        with (
            self._operations.running(),
            self._host.acquire(self.view.runtime_generation) as lease,
        ):
            yield lease

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        self.release()


async def begin_turn(
    host: GenerationHost,
    request: ViewRequest,
    operations: Operations,
    forget: Callable[[RunnerTurn], None],
) -> RunnerTurn:
    """Lease the serving generation, compose a View and pin it; failing releases the lease."""
    with operations.running():
        lease = host.acquire()
        try:
            view = await compose(lease.generation, request)
            operations.check_open()  # a call that is about to end may miss its cancellation
        except BaseException:
            lease.release()
            raise
        return RunnerTurn(view, lease, host, operations, forget)

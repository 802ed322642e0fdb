"""One effect of a Fiber: what was done, and the steps that undo it (spec/core.md §2)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncIterable, Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from functools import partial
from typing import Any, TypeAlias, cast

import anyio

from dsh_mnemon_core._foreign import contain

_log = logging.getLogger(__name__)

Undo: TypeAlias = Callable[[], object]
"""Undoes one thing; an awaitable result is awaited."""

Action: TypeAlias = (
    AbstractAsyncContextManager[Any] | AbstractContextManager[Any] | Callable[[], object]
)
"""Something to enter, or to call, that says how it is undone."""

Disposer: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Undoes one effect, once, shielded from the caller's cancellation; later calls do nothing.

Raises an ``ExceptionGroup`` of everything that could not be undone.
"""


class Effect:
    """The steps that undo one effect; whoever comes first runs them, the others wait."""

    def __init__(self, owned: dict[Effect, None], *undo: Undo) -> None:
        self._owned = owned
        self._steps: list[Callable[[], Awaitable[object]]] = [
            partial(_shielded, step) for step in undo
        ]
        self._lock = anyio.Lock(fast_acquire=True)
        owned[self] = None

    async def execute(self, action: Action) -> Any:
        """Enter a context manager, or call ``action`` and collect what it yields to undo it.

        A failure on the way undoes at once what was collected, and is raised.

        Returns:
            The value of the context manager; ``None`` for a callable.
        """
        try:
            async with self._lock:
                return await self._perform(action)
        except BaseException:
            report(await self.undo())
            raise

    async def undo(self) -> list[Exception]:
        """Run the steps, last first, and return what they raised."""
        with anyio.CancelScope(shield=True):
            await self._lock.acquire()
        failures: list[Exception] = []
        try:
            while self._steps:
                failures += await _attempt(self._steps.pop())
        finally:
            self._owned.pop(self, None)
            self._lock.release()
        return failures

    async def __call__(self) -> None:
        failures = await self.undo()
        if failures:
            raise ExceptionGroup("not everything was undone cleanly", failures)

    async def _perform(self, action: Action) -> Any:
        if isinstance(action, AbstractAsyncContextManager):
            entered = cast("Any", await action.__aenter__())
            self._steps.append(partial(action.__aexit__, None, None, None))
            return entered
        if isinstance(action, AbstractContextManager):
            entered = cast("Any", action.__enter__())
            self._steps.append(partial(_shielded, partial(action.__exit__, None, None, None)))
            return entered
        outcome = action()
        await self._collect(await outcome if inspect.isawaitable(outcome) else outcome)
        return None

    async def _collect(self, outcome: object) -> None:
        if isinstance(outcome, AsyncIterable):
            async for undo in cast("AsyncIterable[Undo]", outcome):
                self._steps.append(partial(_shielded, undo))
        elif outcome is not None:
            several = isinstance(outcome, Iterable)
            for undo in cast("Iterable[Undo]", outcome if several else (outcome,)):
                self._steps.append(partial(_shielded, undo))


def report(failures: Iterable[Exception]) -> None:
    """Log what could not be undone where nobody waits for the undoing itself."""
    for failure in failures:
        _log.error("an effect was not undone cleanly", exc_info=failure)


async def _shielded(undo: Undo) -> None:
    with anyio.CancelScope(shield=True):
        outcome = undo()
        if inspect.isawaitable(outcome):
            await outcome


async def _attempt(step: Callable[[], Awaitable[object]]) -> list[Exception]:
    try:
        await step()
    except ExceptionGroup as group:
        return list(group.exceptions)
    except anyio.get_cancelled_exc_class():
        # Only the exit of a context manager gets here, inside the scope of another one that broke;
        # the exit of that one says why, and the steps in between must still run.
        return []
    except BaseException as error:
        return [contain(error)]
    return []

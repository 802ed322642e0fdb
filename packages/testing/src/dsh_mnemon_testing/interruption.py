"""Cancelling a call at a chosen moment, and saying how it ended."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import attrs
from anyio.lowlevel import checkpoint

__all__ = ("MOMENTS", "Ending", "interrupt")

MOMENTS: Final = (0, 1, 2, 3, 5, 8)
"""Scheduler turns a call gets before it is cancelled; 0 is before it begins."""


@attrs.define
class Ending:
    """How a cancelled call ended.

    Attributes:
        cancelled: It ended as cancelled.
        error: What else it raised.
        value: What it returned; meaningful when it neither raised nor was cancelled.
        seconds: How long it took from its cancellation.
    """

    cancelled: bool = False
    error: Exception | None = None
    value: Any = None
    seconds: float = 0.0

    @property
    def returned(self) -> bool:
        """Whether it answered all the same."""
        return not self.cancelled and self.error is None


async def interrupt(call: Callable[[], Awaitable[Any]], moment: int) -> Ending:
    """Start a call, cancel it after ``moment`` scheduler turns and wait until it has ended.

    Args:
        call: Makes the awaitable in a task of its own.
        moment: Scheduler turns it gets; see `MOMENTS`.
    """
    ending, cancelled_at = Ending(), 0.0
    scope = anyio.CancelScope()

    async def run() -> None:
        with scope:
            try:
                ending.value = await call()
            except anyio.get_cancelled_exc_class():
                ending.cancelled = True
                raise
            except Exception as error:
                ending.error = error

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        for _ in range(moment):
            await checkpoint()
        scope.cancel()
        cancelled_at = anyio.current_time()
    ending.seconds = anyio.current_time() - cancelled_at
    return ending

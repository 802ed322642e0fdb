"""Concurrent, bounded reads of Sources while a View is composed (spec/core.md §5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

import anyio

from dsh_mnemon_core._foreign import contain, judging
from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.view import Diagnostic

T = TypeVar("T")
R = TypeVar("R")
J = TypeVar("J")

Phase: TypeAlias = Literal["facts", "project"]

_SLICES: Final = 10


async def read_each(
    items: Sequence[T],
    *,
    key: Callable[[T], str],
    phase: Phase,
    timeout_ms: int,
    kind: type[R],
    read: Callable[[T], Awaitable[R]],
    judge: Callable[[T, R | Diagnostic], J],
) -> tuple[J, ...]:
    """Read every item at once, each under its own deadline.

    Args:
        items: What to read.
        key: Instance key of an item's Source.
        phase: Which callback runs, for the codes.
        timeout_ms: Deadline of one callback; time in which the event loop stands still, whoever
            holds it up, is nobody's.
        kind: Type of an answer; any other is a failure.
        read: The callback.
        judge: Turns one answer, or the diagnostic of a read that failed or timed out, into a result
            as soon as it is there; its error ends all reads.

    Returns:
        The results in the order of the items.

    Raises:
        ViewRejected: What ``judge`` raised, or ``<phase>-malformed`` for values of the wrong
            types; of several the first in item order.

    Cancellation from outside passes through and is never taken for an outage.
    """
    results: dict[int, J] = {}
    errors: dict[int, ViewRejected] = {}

    async def one(index: int, item: T) -> None:
        answer = await _bounded(key(item), phase, timeout_ms, kind, read(item))
        try:
            with judging(ViewRejected, f"{phase}-malformed", f"{phase} of {key(item)}"):
                results[index] = judge(item, answer)
        except ViewRejected as error:
            errors[index] = error
            group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        for index, item in enumerate(items):
            group.start_soon(one, index, item)
    if errors:
        raise errors[min(errors)]
    return tuple(results[index] for index in range(len(items)))


async def _bounded(
    key: str, phase: Phase, timeout_ms: int, kind: type[R], answer: Awaitable[R]
) -> R | Diagnostic:
    """Await one answer until the deadline; one that comes later, in whatever form, is late."""
    late = _outage(key, f"source-{phase}-timeout", f"{phase} took longer than {timeout_ms} ms")
    result: R | Diagnostic = _outage(key, f"source-{phase}-failed", f"{phase} failed")
    deadline = anyio.CancelScope()
    async with anyio.create_task_group() as tasks:
        with deadline:
            tasks.start_soon(_expire, deadline, timeout_ms / 1000)
            try:
                found = await answer
                result = found if issubclass(type(found), kind) else result
            except BaseException as error:
                contain(error)  # its text must not leave this place
        tasks.cancel_scope.cancel()
    return late if deadline.cancel_called else result


async def _expire(deadline: anyio.CancelScope, seconds: float) -> None:
    """Cancel a scope after some time, of which one slice at most passes while the loop stands."""
    for _ in range(_SLICES):
        await anyio.sleep(seconds / _SLICES)
    deadline.cancel()


def _outage(key: str, code: str, what: str) -> Diagnostic:
    """Name what failed; the exception's own text is dropped on purpose."""
    return Diagnostic(code=code, message=f"{key}: {what}.", contribution_instance_key=key)

"""Concurrent, bounded reads of Sources while a View is composed (spec/core.md §5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Literal, TypeAlias, TypeVar

import anyio
import attrs

from dsh_mnemon_core._engine.generation import LiveSource
from dsh_mnemon_core.errors import MnemonError, SourceReadFailure, ViewRejected
from dsh_mnemon_core.view import Diagnostic

T = TypeVar("T")
R = TypeVar("R")

Phase: TypeAlias = Literal["facts", "project"]


@attrs.frozen
class Outage:
    """A read that failed or timed out; the exception's own text is dropped on purpose."""

    diagnostic: Diagnostic

    def error(self) -> SourceReadFailure:
        """Return the error that rejects the View when the Source was required."""
        return SourceReadFailure(self.diagnostic.code, self.diagnostic.message)


async def read_each(
    items: Sequence[T],
    *,
    source: Callable[[T], LiveSource],
    phase: Phase,
    timeout_ms: int,
    read: Callable[[T], Awaitable[R]],
    check: Callable[[T, R | Outage], None],
) -> list[R | Outage]:
    """Read every item at once, each under its own deadline; results keep the items' order.

    Args:
        items: What to read.
        source: The Source of an item.
        phase: Which callback runs, for the diagnostic codes.
        timeout_ms: Deadline of one callback.
        read: The callback.
        check: Judges one result as soon as it is there; its error ends all other reads.

    Raises:
        MnemonError: What ``check`` raised; of several the first in item order.

    Cancellation from outside passes through and is never taken for an outage.
    """
    results: list[R | Outage | None] = [None] * len(items)
    errors: dict[int, MnemonError] = {}

    async def one(index: int, item: T) -> None:
        result = await _guarded(source(item).key, phase, timeout_ms, read, item)
        try:
            check(item, result)
        except (MnemonError, AttributeError, TypeError) as error:
            errors[index] = _malformed(source(item).key, phase, error)
            group.cancel_scope.cancel()
        results[index] = result

    async with anyio.create_task_group() as group:
        for index, item in enumerate(items):
            group.start_soon(one, index, item)
    if errors:
        raise errors[min(errors)]
    return [result for result in results if result is not None]


def _malformed(key: str, phase: Phase, error: Exception) -> MnemonError:
    """Name an answer that is not even of the protocol's types; it is no outage."""
    if isinstance(error, MnemonError):
        return error
    return ViewRejected(f"{phase}-malformed", f"{key} answered {phase} with the wrong types")


async def _guarded(
    key: str, phase: Phase, timeout_ms: int, read: Callable[[T], Awaitable[R]], item: T
) -> R | Outage:
    with anyio.move_on_after(timeout_ms / 1000) as scope:
        try:
            return await read(item)
        except Exception:
            return _outage(key, f"source-{phase}-failed", f"{phase} failed")
    assert scope.cancelled_caught  # noqa: S101 - the only way out of the block above
    return _outage(key, f"source-{phase}-timeout", f"{phase} took longer than {timeout_ms} ms")


def _outage(key: str, code: str, what: str) -> Outage:
    return Outage(Diagnostic(code=code, message=f"{key}: {what}.", contribution_instance_key=key))

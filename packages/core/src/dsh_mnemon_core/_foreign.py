"""Meeting foreign code: what it raises and what it answers (spec/core.md §5, §8, §9.3)."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from inspect import iscoroutine
from typing import Any, TypeVar

import anyio

from dsh_mnemon_core.errors import LifecycleError, MnemonError

T = TypeVar("T")


def contain(error: BaseException) -> Exception:
    """Return what foreign code raised as an exception that harms its plugin alone.

    For code that is not awaited, or awaited in a task below the main one: there, every cancellation
    from outside is one of a scope. Ctrl-C needs no exception: asyncio cancels its main task at the
    first, which stands whatever becomes of the ``KeyboardInterrupt`` of a second.

    Raises:
        BaseException: The error itself, if it is the cancellation of a scope around.
    """
    if isinstance(error, Exception):
        return error
    cancelled = isinstance(error, anyio.get_cancelled_exc_class())
    if cancelled and anyio.current_effective_deadline() == -math.inf:
        raise error
    fault = LifecycleError("fiber-broken", f"the plugin raised {type(error).__name__}")
    fault.__cause__ = error
    return fault


@contextmanager
def calling(kind: type[MnemonError], code: str, message: str) -> Generator[None]:
    """Raise ``kind`` for a foreign exception of the block; a `MnemonError` passes unchanged."""
    try:
        yield
    except MnemonError:
        raise
    except BaseException as error:
        raise kind(code, message) from contain(error)


async def asking(
    kind: type[MnemonError], code: str, message: str, ask: Callable[[], Awaitable[T]]
) -> T:
    """Await foreign code as `calling` calls it, in a task of its own (see `contain`)."""
    answers: list[T] = []
    refusals: list[MnemonError] = []

    async def answer() -> None:
        try:
            with calling(kind, code, message):
                answers.append(await ask())
        except MnemonError as error:
            refusals.append(error)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
    if refusals:
        raise refusals.pop()
    return answers.pop()


@contextmanager
def judging(
    kind: type[MnemonError], code: str, what: str, *, keep_codes: bool = True
) -> Generator[None]:
    """Raise ``kind`` for anything that is wrong with an answer judged in the block.

    Args:
        kind: The error class; errors of this class pass unchanged.
        code: Code for an answer that has not even the types of the protocol.
        what: Whose answer it is, for the message.
        keep_codes: Whether other errors keep the code of the check that failed, or get ``code``.
    """
    try:
        yield
    except kind:
        raise
    except MnemonError as error:
        kept = error.code if keep_codes else code
        raise kind(kept, f"{what}: {error.message}", details=error.details) from None
    except (AttributeError, TypeError, ValueError) as error:
        raise kind(code, f"{what}: not of the protocol's types") from error


def plain(answer: Any) -> Any:
    """Return what a plain function answered; a coroutine is closed, for nobody will await it."""
    if iscoroutine(answer):
        answer.close()
    return answer

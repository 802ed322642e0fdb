"""Logging what foreign code raised, without the words it raised it with (spec/README.md D18).

The text of a foreign exception may hold whatever the code worked on, a key too. Where it came from
holds only the code.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterator
from typing import cast

from dsh_mnemon_core.errors import MnemonError

__all__ = ("backtrace", "log_failure")


def log_failure(log: logging.Logger, message: str, *args: object, error: BaseException) -> None:
    """Log a message, and then type and place of an exception and of all that led to it."""
    log.error(f"{message}\n%s", *args, backtrace(error))


def backtrace(error: BaseException) -> str:
    """Return types and places of an exception, its causes and its members, one on a line.

    No message, note or line of code; the code of an error of ours is told. The place where it was
    raised comes last.
    """
    return "\n".join(_lines(error, set()))


def _lines(error: BaseException, seen: set[int]) -> Iterator[str]:
    if id(error) in seen:
        return
    seen.add(id(error))
    earlier = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if earlier is not None:
        yield from _lines(earlier, seen)
        yield "which led to"
    code = f" ({error.code})" if isinstance(error, MnemonError) else ""
    yield f"{type(error).__qualname__}{code}"
    for frame, line in traceback.walk_tb(error.__traceback__):
        yield f"  {frame.f_code.co_filename}:{line}, in {frame.f_code.co_qualname}"
    if isinstance(error, BaseExceptionGroup):
        members = cast("BaseExceptionGroup[BaseException]", error).exceptions
        for member in members:
            for line_ in _lines(member, seen):
                yield f"  {line_}"

"""The standard streams of the process: which are there, and what stdout is kept for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

__all__ = (
    "answers",
    "complete",
    "give_up_stdout",
    "is_absent",
    "reserved_stdout",
    "utf8_answers",
)

_STDOUT: Final = 1
_STDERR: Final = 2
_STANDARD: Final = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))

_kept: list[TextIO] = []
_absent: set[str] = set()


def answers() -> TextIO:
    """Return where answers are written: stdout, also while it is reserved."""
    return _kept[-1] if _kept else sys.stdout


def utf8_answers() -> TextIO:
    """Return the same for a protocol, which is UTF-8 whatever people read here."""
    stream = answers()
    reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="strict")
    return stream


def is_absent(name: str) -> bool:
    """Tell whether a standard stream, such as ``stdin``, was closed when the command began."""
    return name in _absent


def complete() -> None:
    """Put the null device wherever a standard stream is closed.

    Else the next file that is opened would get its number, and what somebody prints would be
    written into that file.
    """
    _absent.clear()
    for name, mode in _STANDARD:
        if getattr(sys, name) is None:
            _absent.add(name)
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode))


@contextmanager
def reserved_stdout() -> Generator[None]:
    """Keep stdout for `answers`: whatever else is written to it ends up on stderr.

    That holds for ``print``, for what writes to the descriptor itself, and for the processes that
    are started meanwhile: no plugin can spoil a protocol or a JSON document.
    """
    if _kept:
        yield  # it is reserved already
        return
    stdout = sys.stdout
    with _diverted(stdout) as kept:
        _kept.append(kept)
        sys.stdout = sys.stderr
        try:
            yield
        finally:
            sys.stdout = stdout
            _kept.pop()


@contextmanager
def _diverted(stdout: TextIO) -> Generator[TextIO]:
    """Point the descriptor of stdout at stderr, and yield a stream to where it led before."""
    if not _is_descriptor(stdout, _STDOUT):
        yield stdout
        return
    stdout.flush()
    before = os.dup(_STDOUT)
    kept = os.fdopen(os.dup(_STDOUT), "w", encoding=stdout.encoding, errors=stdout.errors)
    os.dup2(_STDERR, _STDOUT)
    try:
        yield kept
    finally:
        with suppress(OSError):
            stdout.flush()  # what somebody wrote through a reference of his own
        os.dup2(before, _STDOUT)
        os.close(before)
        with suppress(OSError):
            kept.close()  # every answer was flushed; what is left could not be written


def _is_descriptor(stream: Any, number: int) -> bool:
    try:
        return bool(stream.fileno() == number)
    except (AttributeError, OSError, ValueError):
        return False


def give_up_stdout() -> None:
    """Drop what waits in stdout: nobody takes it, and the interpreter would complain at its end."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(null, sys.stdout.fileno())
        finally:
            os.close(null)

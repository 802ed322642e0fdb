"""Meeting foreign code: what it raises and what it answers (spec/core.md §5, §8, §9.3)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from inspect import iscoroutine
from typing import Any

from dsh_mnemon_core.errors import MnemonError


@contextmanager
def calling(kind: type[MnemonError], code: str, message: str) -> Generator[None]:
    """Raise ``kind`` for a foreign exception of the block; a `MnemonError` passes unchanged."""
    try:
        yield
    except MnemonError:
        raise
    except Exception as error:
        raise kind(code, message) from error


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

"""A small, closed number of reads in one turn, joined and replayed by identity."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Generic, Literal, TypeAlias, TypeVar

import anyio
import attrs

__all__ = ("Attempts", "Outcome")

T = TypeVar("T")

Outcome: TypeAlias = Literal["fresh", "repeated", "exhausted"]
"""Read now; the same request read before; another request's answer because none is left."""


@attrs.define(eq=False)
class _Attempt(Generic[T]):
    """One read: running until ``finished``, then answered, failed or (neither) cancelled."""

    identity: str
    finished: anyio.Event = attrs.field(factory=anyio.Event)
    answer: T | None = None
    error: Exception | None = None


class Attempts(Generic[T]):
    """At most ``maximum`` answered reads, one running at a time.

    Equal requests share one read, also while it runs. A read that fails or is cancelled gives its
    place back, so that the request can be made again.
    """

    def __init__(self, maximum: int) -> None:
        self._maximum = maximum
        self._made: list[_Attempt[T]] = []

    @property
    def open(self) -> bool:
        """Whether a different request would still be read."""
        return len(self._made) < self._maximum

    async def settle(
        self, identity: str, run: Callable[[tuple[T, ...]], Awaitable[T]]
    ) -> tuple[T, Outcome]:
        """Read, join a running read, or replay one.

        Args:
            identity: What makes two requests the same.
            run: Reads; gets the answers so far, oldest first.

        Raises:
            Exception: What ``run`` raised, also in every call that had joined that very request.
        """
        while True:
            same = next((item for item in self._made if item.identity == identity), None)
            if same is None and self.open:
                return await self._make(identity, run), "fresh"
            attempt = same or self._made[-1]
            await attempt.finished.wait()
            if attempt.answer is not None and (same or not self.open):
                return attempt.answer, "repeated" if same else "exhausted"
            if same and attempt.error:
                raise attempt.error
            # A place has come free: another request failed, or the owner of this one was
            # cancelled. This caller was neither, so it may take the place.

    async def _make(self, identity: str, run: Callable[[tuple[T, ...]], Awaitable[T]]) -> T:
        before = tuple(self._made)
        attempt: _Attempt[T] = _Attempt(identity)
        self._made.append(attempt)
        try:
            for earlier in before:
                await earlier.finished.wait()
            answers = tuple(item.answer for item in before if item.answer is not None)
            answer = attempt.answer = await run(answers)
        except Exception as error:
            attempt.error = error
            raise
        finally:
            if attempt.answer is None:
                self._made.remove(attempt)
            attempt.finished.set()
        return answer

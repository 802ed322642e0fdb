"""The one thread that works on one store (spec/mnemon-native.md §2.6)."""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import anyio
from anyio import RunFinishedError, from_thread, get_cancelled_exc_class
from anyio.lowlevel import EventLoopToken, checkpoint_if_cancelled, current_token

__all__ = ("Worker",)

T = TypeVar("T")

_logger = logging.getLogger(__name__)


class _Job(Generic[T]):
    """One call on its way through the thread."""

    def __init__(self, call: Callable[[], T], ended: Callable[[], None]) -> None:
        self._call, self._ended = call, ended
        self._claim = threading.Lock()
        self.result: T
        self.error: BaseException | None = None

    def claim(self) -> bool:
        """Take the right to run or to withdraw the call; only the first asker gets it."""
        return self._claim.acquire(blocking=False)

    def run(self) -> None:
        if not self.claim():
            return
        try:
            self.result = self._call()
        except BaseException as error:
            self.error = error
        self._ended()


def _wake(done: anyio.Event, token: EventLoopToken) -> None:
    # The loop may have ended under its caller.
    with suppress(RunFinishedError):
        from_thread.run_sync(done.set, token=token)


def _unasked(call: Callable[[], None]) -> None:
    """Run a call nobody waits for; log where it failed, but not what the error says.

    Its words may hold whatever was worked on.
    """
    try:
        call()
    except Exception as error:
        *_, (frame, line) = traceback.walk_tb(error.__traceback__)
        place = f"{frame.f_code.co_filename}:{line}"
        _logger.error("background work failed: %s at %s", type(error).__qualname__, place)


def _nobody_waits() -> None:
    """Wake nobody."""


class Worker:
    """Runs calls one after the other in a thread of its own, started by the first of them.

    A connection, its transaction and its caches belong to this thread alone.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[_Job[Any] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call and return its result.

        Cancelled before its turn, the call never runs; cancelled while it runs, it ends first, so
        that no transaction is torn.
        """
        await checkpoint_if_cancelled()
        done = anyio.Event()
        job: _Job[T] = _Job(call, partial(_wake, done, current_token()))
        self._put(job)
        try:
            await done.wait()
        except get_cancelled_exc_class():
            if not job.claim():
                with anyio.CancelScope(shield=True):
                    await done.wait()
            raise
        if job.error is not None:
            raise job.error
        return job.result

    def later(self, call: Callable[[], None]) -> None:
        """Run a call after those that wait, without anybody waiting for it; a failure is logged."""
        self._put(_Job(partial(_unasked, call), _nobody_waits))

    async def aclose(self) -> None:
        """Let what waits end, then end the thread."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._jobs.put(None)
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(thread.join)

    def _put(self, job: _Job[Any]) -> None:
        self._jobs.put(job)
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
            self._thread.start()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            del job  # or it would keep its result alive until the next one

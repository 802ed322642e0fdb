"""Durable files: strict JSON, atomic replacement, the lock shared with the original (D30, D31).

For Sources and the Host; Core's engine never calls it. All functions but `in_turn` and
`StoreLock.run` and `read_json` block: call them from a worker thread.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import stat
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

import anyio
import attrs
from anyio import from_thread, to_thread
from anyio.lowlevel import RunVar
from filelock import FileLock, Timeout

from dsh_mnemon_core import _lockfile
from dsh_mnemon_core._lockfile import temporary_name, write_new
from dsh_mnemon_core.errors import StorageError

__all__ = (
    "HeldLock",
    "LockTiming",
    "Replacement",
    "StoreLock",
    "atomic_write",
    "ensure_directory",
    "in_turn",
    "read_json",
    "remove_leftovers",
    "replace_files",
    "storage_error",
    "sync_directory",
)

T = TypeVar("T")

_O_DIRECTORY: Final[int | None] = getattr(os, "O_DIRECTORY", None)
_LEFTOVER_AGE: Final = 3600.0

# Windows refuses to replace a file that somebody has open for reading; that passes.
_SHARING_RETRIES = 25 if os.name == "nt" else 0
_SHARING_PAUSE: Final = 0.02

_OBSTACLES: Final = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFLNK: "a link",
    stat.S_IFSOCK: "a socket",
}

_queues: RunVar[WeakValueDictionary[str, anyio.Lock]] = RunVar("dsh_mnemon_store_queues")


def _nothing() -> None:
    """Stand in for a check that has nothing to check."""


# -- strict JSON ----------------------------------------------------------------------------------


def read_json(text: str | bytes) -> Any:
    """Read JSON that is kept for somebody: nothing that it says is dropped or changed.

    `json` keeps the last of two equal keys and takes numbers that JSON does not have; what it
    passed over would be gone after the next write.

    Raises:
        ValueError: It is no JSON, an object gives a key twice, or a number is not finite; the
            message says which.
        RecursionError: It is nested too deep.
    """
    return json.loads(text, object_pairs_hook=_object, parse_constant=_number, parse_float=_number)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for key, _ in pairs if found.pop(key, pairs) is pairs)
        raise ValueError(f"the key {twice[:80]!r} is given twice")
    return found


def _number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits:.80} is no finite number")
    return number


# -- atomic replacement ---------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class Replacement:
    """New content of one file: its path, all of its bytes, its permission bits."""

    path: Path
    data: bytes
    mode: int = 0o600


def storage_error(error: OSError, path: Path, *, code: str = "store-unwritable") -> StorageError:
    """Translate an `OSError` about ``path``; details are ``{file, reason}``, an errno name."""
    verb = "read" if code == "store-unreadable" else "write"
    reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
    return StorageError(
        code,
        f"cannot {verb} {path}: {error.strerror or reason}",
        details={"file": str(path), "reason": reason},
    )


@contextmanager
def _writing(path: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise storage_error(error, path) from error


def sync_directory(path: Path) -> None:
    """Sync a folder's entries to the disk, where the file system can.

    A rename is visible once it returned: a file system that cannot sync a folder (network shares,
    Windows) must not turn it into a reported failure.
    """
    if _O_DIRECTORY is None:
        return
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | _O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def ensure_directory(path: Path, mode: int = 0o700) -> None:
    """Create a directory and its missing parents, all with ``mode``; keep what exists.

    Raises:
        StorageError: ``store-unwritable``.
    """
    with _writing(path):
        if path.is_dir():
            return
        missing = [folder for folder in (path, *path.parents) if not folder.is_dir()]
        for folder in reversed(missing):
            with suppress(FileExistsError):
                folder.mkdir(mode)
            sync_directory(folder.parent)
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))


def _rename(source: Path, target: Path) -> None:
    for _ in range(_SHARING_RETRIES):
        with suppress(PermissionError):
            os.replace(source, target)
            return
        time.sleep(_SHARING_PAUSE)
    os.replace(source, target)


def replace_files(
    replacements: Sequence[Replacement], *, before_first: Callable[[], None] = _nothing
) -> None:
    """Write every temporary file, then rename them in order; the last one is the commit marker.

    Temporary files lie beside their targets and are synced before the first rename; the folders
    are synced after the last. A failure removes the temporary files that were not renamed yet.

    Args:
        replacements: The new files; the order is the order of the renames.
        before_first: Called between the last write and the first rename; may raise to stop.

    Raises:
        StorageError: ``store-unwritable``, naming the file. Files renamed before stay renamed.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        for item in replacements:
            temporary = temporary_name(item.path)
            staged.append((temporary, item.path))
            with _writing(item.path):
                write_new(temporary, item.data, item.mode, durable=True)
        before_first()
        while staged:
            temporary, path = staged[0]
            with _writing(path):
                _rename(temporary, path)
            del staged[0]
        for folder in {item.path.parent for item in replacements}:
            sync_directory(folder)
    finally:
        for temporary, _ in staged:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def atomic_write(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace one file whole: a reader sees the old bytes or the new ones, also after a crash.

    Raises:
        StorageError: ``store-unwritable``.
    """
    replace_files([Replacement(path=path, data=data, mode=mode)])


def remove_leftovers(paths: Sequence[Path], *, older_than: float = _LEFTOVER_AGE) -> None:
    """Remove temporary files of killed writers beside ``paths``; call it while holding the lock.

    Args:
        paths: The files whose writers may have left something.
        older_than: Age in seconds, by modification time, that a leftover must have.
    """
    latest = time.time() - older_than
    for path in paths:
        pattern = re.compile(rf"\.{re.escape(path.name)}\.\d+\.\d+\.[0-9a-f]+\.tmp")
        for candidate in path.parent.glob(f".{path.name}.*.tmp"):
            with suppress(OSError):
                if pattern.fullmatch(candidate.name) and candidate.stat().st_mtime < latest:
                    candidate.unlink()


# -- the lock -------------------------------------------------------------------------------------


@asynccontextmanager
async def in_turn(directory: Path, *, at_once: bool = False) -> AsyncGenerator[None]:
    """Hold this process's FIFO queue of one directory, shared by all who name the same one.

    Args:
        directory: Any spelling of it; the resolved path counts. It need not exist.
        at_once: Raise instead of queueing when somebody else is inside.

    Raises:
        StorageError: ``lock-timeout``, only with ``at_once``.
    """
    key = await to_thread.run_sync(os.path.realpath, directory)
    queues = _queues.get(None)
    if queues is None:
        queues = WeakValueDictionary[str, anyio.Lock]()
        _queues.set(queues)
    queue = queues.setdefault(key, anyio.Lock())
    if at_once:
        try:
            queue.acquire_nowait()
        except anyio.WouldBlock:
            raise _timeout(directory) from None
    else:
        await queue.acquire()
    try:
        yield
    finally:
        queue.release()


def _refuse_obstacle(path: Path) -> None:
    """Raise ``store-unwritable`` for what is no regular file: nobody of ours put it there."""
    with suppress(OSError):
        mode = path.lstat().st_mode
        if not stat.S_ISREG(mode):
            kind = _OBSTACLES.get(stat.S_IFMT(mode), "a device")
            raise StorageError(
                "store-unwritable",
                f"{path} is {kind} and no file, so nothing can be locked; move it away",
                details={"file": str(path), "reason": "not-a-regular-file"},
            )


def _timeout(path: Path) -> StorageError:
    return StorageError(
        "lock-timeout",
        f"another process or task keeps {path} locked; try again",
        details={"file": str(path)},
        retryable=True,
    )


@attrs.frozen(kw_only=True)
class LockTiming:
    """How long a lock is waited for, in seconds (spec/sources.md §1.4, D31).

    Attributes:
        guard: Wait for another process of ours.
        file: Wait for the original to remove its lock file.
        stale: Age by modification time after which a foreign lock file is a leftover.
        poll: Pause between two attempts.
    """

    guard: float = 30.0
    file: float = 5.0
    stale: float = 30.0
    poll: float = 0.02


class HeldLock:
    """A lock in hand: may commit files as long as the lock file is still its own."""

    def __init__(self, path: Path, identity: os.stat_result, interrupt: Callable[[], None]) -> None:
        self.path = path
        self._identity = identity
        self._interrupt = interrupt

    def still_held(self) -> bool:
        """Tell whether the lock file is the one this holder put there."""
        return _lockfile.is_mine(self.path, self._identity)

    def check(self) -> None:
        """Honour a cancellation, then make sure that nobody took the lock away.

        Raises:
            StorageError: ``lock-lost``; nothing has been written.
        """
        self._interrupt()
        if not self.still_held():
            raise StorageError(
                "lock-lost",
                f"the lock {self.path} was taken over by another process; nothing was written",
                details={"file": str(self.path)},
                retryable=True,
            )

    def commit(self, replacements: Sequence[Replacement]) -> None:
        """Replace files in order, the last as commit marker, after a last `check`.

        Raises:
            StorageError: ``lock-lost`` or ``store-unwritable``.
        """
        replace_files(replacements, before_first=self.check)


class StoreLock:
    """The lock file of one store, respected by our processes and by the original's.

    ``<path>.guard`` orders our own processes and is freed by the kernel when its owner dies; the
    lock file inside it keeps the original out. Instances hold no state and may be shared.

    Args:
        path: The lock file; its folder must exist when the lock is taken.
        timing: Waiting times.
        clock: Seconds since the epoch, compared with the lock file's modification time.
        monotonic: Seconds of a steady clock, for the waits.
        sleep: Pauses the calling thread for some seconds.
    """

    def __init__(
        self,
        path: Path,
        *,
        timing: LockTiming | None = None,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.path = path
        self.timing = timing or LockTiming()
        self._clock = clock
        self._monotonic = monotonic
        self._sleep = sleep

    async def run(
        self, work: Callable[[HeldLock], T], *, at_once: bool = False, create: bool = False
    ) -> T:
        """Do blocking work in a thread, in turn within this process and holding the lock.

        Cancellation is honoured while waiting and until the first rename of `HeldLock.commit`;
        from there on the work runs to its end (D21).

        Args:
            work: Receives the held lock.
            at_once: Give up instead of waiting.
            create: Create the folder of the lock file first, private, when it is missing.

        Raises:
            StorageError: ``lock-timeout``, ``store-unwritable``, and what ``work`` raises.
        """
        async with in_turn(self.path.parent, at_once=at_once):
            locked = partial(self._work, work, at_once, create)
            return await to_thread.run_sync(locked)

    def _work(self, work: Callable[[HeldLock], T], at_once: bool, create: bool) -> T:
        if create:
            ensure_directory(self.path.parent)
        with self.held(at_once=at_once, interrupt=from_thread.check_cancelled) as lock:
            return work(lock)

    @contextmanager
    def held(
        self, *, at_once: bool = False, interrupt: Callable[[], None] = _nothing
    ) -> Generator[HeldLock]:
        """Take the lock, blocking, and free it at the end.

        Args:
            at_once: Give up instead of waiting.
            interrupt: Called between attempts and before a commit; may raise to stop.

        Raises:
            StorageError: ``lock-timeout``, or ``store-unwritable``, also for something in a lock's
                place that is no file: at once for the guard, which is ours alone, and after the
                wait for the lock file.
        """
        guard = FileLock(f"{self.path}.guard", mode=0o600)
        with _writing(Path(guard.lock_file)):
            self._wait(partial(_take, guard), 0.0 if at_once else self.timing.guard, interrupt)
        try:
            with _writing(self.path):
                limit = 0.0 if at_once else self.timing.file
                lock = HeldLock(self.path, self._wait(self._claim, limit, interrupt), interrupt)
            try:
                yield lock
            finally:
                if lock.still_held():
                    # A lock file that cannot be removed is a leftover for the next owner.
                    with suppress(OSError):
                        self.path.unlink()
        finally:
            guard.release()

    def _wait(
        self, attempt: Callable[[], T | None], limit: float, interrupt: Callable[[], None]
    ) -> T:
        deadline = self._monotonic() + limit
        while (result := attempt()) is None:
            if self._monotonic() >= deadline:
                _refuse_obstacle(self.path)
                raise _timeout(self.path)
            interrupt()
            self._sleep(self.timing.poll)
        return result

    def _claim(self) -> os.stat_result | None:
        return _lockfile.claim(self.path, now=self._clock(), stale=self.timing.stale)


def _take(guard: FileLock) -> FileLock | None:
    # `filelock` would lock a pipe, and follow a link in some versions.
    _refuse_obstacle(Path(guard.lock_file))
    # On a file system without kernel locks `filelock` falls back to a marker file and warns.
    try:
        guard.acquire(timeout=0)
    except Timeout:
        return None
    return guard

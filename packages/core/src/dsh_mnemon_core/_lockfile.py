"""The create-and-remove lock file shared with the original (spec/sources.md §1.4, D31).

Only the owner of the guard may call `claim`, so a lock file that carries our mark has no living
owner. The original's lock files are empty. What is no regular file was made by neither and is never
removed. Everything here does file work and raises `OSError`; nothing waits.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

_MARK: Final = b"dsh-mnemon "

# Neither a link nor a pipe that somebody swaps in; Windows has no such flags.
_LOOKING: Final[int] = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)


def temporary_name(path: Path) -> Path:
    """Name a temporary file beside ``path`` (spec/sources.md §2.3)."""
    stamp = time.time_ns() // 1_000_000
    return path.with_name(f".{path.name}.{os.getpid()}.{stamp}.{secrets.token_hex(6)}.tmp")


def write_new(path: Path, data: bytes, mode: int, *, durable: bool) -> os.stat_result:
    """Create a file with content, synced to the disk when ``durable``; return its status.

    A file that cannot be written to its end is removed.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(descriptor)
            return os.fstat(descriptor)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise


def claim(path: Path, *, now: float, stale: float) -> os.stat_result | None:
    """Put our lock file into place.

    Args:
        path: The lock file.
        now: Seconds since the epoch.
        stale: Age in seconds after which a foreign lock file is a leftover.

    Returns:
        The identity for `is_mine`, or ``None`` while something foreign stands there.
    """
    # Once more after a leftover; whatever keeps coming back is waited for by the caller.
    for _ in range(2):
        try:
            return _create(path)
        except FileExistsError:
            if not _evict(path, now, stale):
                break
    return None


def is_mine(path: Path, identity: os.stat_result) -> bool:
    """Tell whether the lock file is still the one that `claim` put into place."""
    try:
        seen, content = _look(path)
    except OSError:
        return False
    # An inode number is used again at once, so the content counts as well.
    return content == _own_mark() and os.path.samestat(seen, identity)


def _own_mark() -> bytes:
    return _MARK + str(os.getpid()).encode("ascii")


def _look(path: Path) -> tuple[os.stat_result, bytes]:
    """Return status and first bytes of one and the same file.

    What is no regular file, or is not for us to read, has no bytes.
    """
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        return status, b""
    try:
        descriptor = os.open(path, _LOOKING)
    except PermissionError:
        return status, b""
    try:
        return os.fstat(descriptor), os.read(descriptor, 64)
    finally:
        os.close(descriptor)


def _create(path: Path) -> os.stat_result:
    """Create our lock file together with its content, else raise `FileExistsError`."""
    temporary = temporary_name(path)
    identity = write_new(temporary, _own_mark(), 0o600, durable=False)
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise
    except OSError:
        # No hard links on this file system: the content follows the creation.
        return write_new(path, _own_mark(), 0o600, durable=False)
    finally:
        temporary.unlink()
    return identity


def _evict(path: Path, now: float, stale: float) -> bool:
    """Remove a leftover; return whether it is worth trying again at once."""
    try:
        seen, content = _look(path)
        if not stat.S_ISREG(seen.st_mode):
            return False
        if not content.startswith(_MARK) and now - seen.st_mtime <= stale:
            return False
        aside = temporary_name(path)
        path.rename(aside)
    except FileNotFoundError:
        return True
    moved = aside.lstat()
    if os.path.samestat(moved, seen) and moved.st_mtime_ns == seen.st_mtime_ns:
        aside.unlink()
        return True
    _put_back(aside, path)
    return False


def _put_back(aside: Path, path: Path) -> None:
    """Return a lock file that was moved away by mistake, unless there is a newer one."""
    try:
        os.link(aside, path)
    except FileExistsError:
        pass
    except OSError:
        aside.rename(path)
        return
    aside.unlink()

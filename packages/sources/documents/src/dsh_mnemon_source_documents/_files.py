"""Reading files that anybody may have put there: regular ones of bounded size (blocking)."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import Final, TypeAlias

MAX_BYTES: Final = 16 * 1024 * 1024
"""Bytes that a body file may have; a bigger one was not written here and is not read."""

MAX_INDEX_BYTES: Final = 512 * 1024 * 1024

NOT_REGULAR: Final = "not-a-regular-file"
TOO_LARGE: Final = "too-large"
MISSING: Final = "missing"

_BLOCK: Final = 1024 * 1024

# Neither a link nor a pipe that somebody swaps in; Windows has no such flags.
_FLAGS: Final[int] = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_BINARY", 0)
)

Signature: TypeAlias = tuple[int, int, int, int]
"""Modification and change time in ns, size in bytes and inode: equal while nobody wrote."""


class Unfit(Exception):
    """Raised when a path leads to something that is not read; ``reason`` says what.

    ``error`` is what the system said, where it was the system that refused.
    """

    def __init__(self, reason: str, error: OSError | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.error = error


def signature(status: os.stat_result) -> Signature:
    """Return what changes whenever a file does."""
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def read_regular(path: Path | str, limit: int = MAX_BYTES) -> tuple[bytes, Signature]:
    """Return all bytes of a regular file and its signature, without following a link.

    Raises:
        Unfit: `MISSING`, `NOT_REGULAR`, `TOO_LARGE` or an errno name.
    """
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise Unfit(reason_of(error, path), error) from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unfit(NOT_REGULAR)
        if status.st_size > limit:
            raise Unfit(TOO_LARGE)
        return _all(descriptor, status.st_size), signature(status)
    except OSError as error:
        raise Unfit(reason_of(error, path), error) from None
    finally:
        os.close(descriptor)


def _all(descriptor: int, size: int) -> bytes:
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    # It grew or came in pieces.
    pieces = [data]
    while piece := os.read(descriptor, _BLOCK):
        pieces.append(piece)
    return b"".join(pieces)


def reason_of(error: OSError, path: Path | str) -> str:
    """Return a reason word for a file that could not be opened or read."""
    if isinstance(error, FileNotFoundError):
        return MISSING
    # Opening a socket fails with ENXIO, and a link with ELOOP, as do folders that lead in a circle.
    if error.errno in (errno.ENXIO, errno.EISDIR) or (
        error.errno == errno.ELOOP and os.path.islink(path)
    ):
        return NOT_REGULAR
    return errno.errorcode.get(error.errno or 0, type(error).__name__)

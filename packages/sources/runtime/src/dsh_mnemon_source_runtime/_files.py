"""Reading files that anybody may have put there: regular ones of bounded size (blocking)."""

from __future__ import annotations

import errno
import os
import stat
from io import FileIO
from pathlib import Path
from typing import Final

import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import storage_error

MAX_BYTES: Final = 256 * 1024 * 1024
"""Bytes that a file may have: about a million entries; a bigger one is not read at all."""

NOT_REGULAR: Final = "not-a-regular-file"
TOO_LARGE: Final = "too-large"
_WORDS: Final = {NOT_REGULAR: "it is no regular file", TOO_LARGE: f"it has over {MAX_BYTES} bytes"}

# Somebody may swap a pipe in between looking and opening; Windows has no such flag.
_AT_ONCE: Final[int] = getattr(os, "O_NONBLOCK", 0)


class Unfit(Exception):
    """Raised when a path leads to something that is not read; ``reason`` says what."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@attrs.frozen(kw_only=True)
class Found:
    """Bytes of a file, its modification time in nanoseconds and its permission bits."""

    data: bytes
    modified: int
    mode: int


def open_regular(path: Path) -> FileIO:
    """Open a file for reading it whole, links followed, without ever waiting for it.

    Raises:
        Unfit: `NOT_REGULAR` or `TOO_LARGE`; it was not opened.
        OSError: It does not exist or cannot be opened.
    """
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):
        raise Unfit(NOT_REGULAR)
    if status.st_size > MAX_BYTES:
        raise Unfit(TOO_LARGE)
    return open(path, "rb", buffering=0, opener=_open_at_once)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | _AT_ONCE)


def read_file(path: Path) -> Found | None:
    """Return what a file holds, ``None`` when it does not exist.

    Raises:
        StorageError: ``store-unreadable``.
    """
    try:
        with open_regular(path) as file:
            data, status = file.read(), os.fstat(file.fileno())
            return Found(data=data, modified=status.st_mtime_ns, mode=stat.S_IMODE(status.st_mode))
    except FileNotFoundError:
        return None
    except Unfit as unfit:
        raise StorageError(
            "store-unreadable",
            f"cannot read {path}: {_WORDS[unfit.reason]}; move it away",
            details={"file": str(path), "reason": unfit.reason},
        ) from None
    except OSError as error:
        raise storage_error(error, path, code="store-unreadable") from error


def fault(path: Path) -> str | None:
    """Say why a file cannot be read, as an errno name or a reason; a missing one is no fault."""
    try:
        open_regular(path).close()
    except FileNotFoundError:
        return None
    except Unfit as unfit:
        return unfit.reason
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return None

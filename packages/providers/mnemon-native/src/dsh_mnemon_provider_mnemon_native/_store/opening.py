"""Open ``mnemon.db`` for writing or reading; what cannot be used is refused, never touched.

Source: spec/mnemon-native.md §2.3, §2.5, §2.6.
"""

from __future__ import annotations

import os
import sqlite3
import stat
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

from dsh_mnemon_core.instant import utc_now

from dsh_mnemon_provider_mnemon_native._store.migrations import migrate
from dsh_mnemon_provider_mnemon_native._store.schema import (
    USER_VERSION,
    is_foreign,
    table_names,
)
from dsh_mnemon_provider_mnemon_native.errors import (
    StoreDamaged,
    StoreForeign,
    StoreMissing,
    StoreNoFile,
    StoreReadOnly,
    StoreTooNew,
    file_error,
    translating,
)

__all__ = (
    "BUSY_TIMEOUT_MS",
    "check_file",
    "create_file",
    "is_file",
    "open_to_read",
    "open_to_write",
)

BUSY_TIMEOUT_MS: Final = 10_000
"""How long a statement waits for another process's lock."""

_LOG_PAGES: Final = 4_000
"""Pages of the write-ahead log that are copied into the database at once: about 16 MB."""

_CACHE_KIB: Final = 8_192

_RESTORE: Final = (
    "restore it from a backup, or delete this Space (`dsh-mnemon spaces delete`) and make it anew"
)

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100


def create_file(path: Path) -> None:
    """Make an empty store in a folder that holds none.

    Raises:
        StoreError branches of `errors`.
    """
    if not os.access(path.parent, os.W_OK):
        raise file_error(StoreReadOnly, path, "may not be written")
    with translating(path):
        _set_up(_connect(f"{_uri(path)}?mode=rwc", BUSY_TIMEOUT_MS), utc_now()).close()


def open_to_write(
    path: Path, now: datetime, *, patience_ms: int = BUSY_TIMEOUT_MS
) -> sqlite3.Connection:
    """Open a store for writing; migrate it where it is old, but never make one.

    Raises:
        StoreError branches of `errors`: nothing of the file was changed.
    """
    check_file(path)
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        raise file_error(StoreReadOnly, path, "may not be written")
    with translating(path):
        connection = _connect(f"{_uri(path)}?mode=rw", patience_ms)
        try:
            _check_schema(connection, path)
        except BaseException:
            connection.close()
            raise
        return _set_up(connection, now)


def _set_up(connection: sqlite3.Connection, now: datetime) -> sqlite3.Connection:
    """Give a connection its settings and the file its schema; close it when that fails."""
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode anything less leaves the last commits to the next sync of the log.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        connection.execute(f"PRAGMA journal_size_limit = {_LOG_PAGES * 4_096}")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        connection.execute("PRAGMA foreign_keys = ON")
        migrate(connection, now)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path, *, patience_ms: int = BUSY_TIMEOUT_MS) -> sqlite3.Connection:
    """Open a store for reading only; files of the old line are read as they are.

    A live write-ahead log is honoured where the folder is writable; on a read-only mount the file
    is taken as it stands.

    Raises:
        StoreError branches of `errors`.
    """
    check_file(path)
    mode = "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
    with translating(path):
        connection = _connect(f"{_uri(path)}?mode={mode}", patience_ms)
        try:
            _check_schema(connection, path)
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}"


def _connect(uri: str, patience_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        uri,
        uri=True,
        timeout=patience_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
    connection.text_factory = _text
    return connection


def _text(data: bytes) -> str | bytes:
    """Decode a text; one that is no UTF-8 stays bytes, as the value of a BLOB is."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def is_file(path: Path) -> bool:
    """Whether there is a file; to open a pipe, a socket or a device may never end.

    Raises:
        StoreNoFile: Something else has this name.
        StoreReadOnly: The folder may not be looked into.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    except OSError as error:
        raise file_error(StoreReadOnly, path, f"cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        what = "is a folder" if stat.S_ISDIR(mode) else "is a pipe, a socket or a device"
        raise file_error(StoreNoFile, path, f"{what}, not a file; move it away")
    return True


def check_file(path: Path) -> None:
    """Refuse what is not there, is no database or is shorter than it says, before SQLite opens it.

    With a write-ahead log the last pages may be there, and SQLite itself judges.

    Raises:
        StoreError branches of `errors`.
    """
    if not is_file(path):
        raise file_error(StoreMissing, path, f"is not there; {_RESTORE}")
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise file_error(StoreReadOnly, path, f"cannot be read: {error.strerror}") from error
    if not header:
        # SQLite would take it for a new database, and delete the log that may hold everything.
        raise file_error(StoreDamaged, path, f"is empty; {_RESTORE}", size=0)
    if header[:16] != _MAGIC[: len(header)]:
        raise file_error(StoreDamaged, path, "is no SQLite database")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        return
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    # 1 stands for 65,536; the page count holds when it was written by the last change.
    page = 65_536 if page == 1 else page
    counted = header[24:28] == header[92:96]
    if len(header) < _HEADER or (counted and size < page * pages):
        raise file_error(StoreDamaged, path, "is cut off", size=size)


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if not table_names(connection):
        raise file_error(StoreDamaged, path, f"holds no tables; {_RESTORE}")
    if is_foreign(connection):
        raise file_error(StoreForeign, path, "is the database of something else")
    if version > USER_VERSION:
        what = f"was written by a later version (schema {version})"
        raise file_error(StoreTooNew, path, what, version=version)

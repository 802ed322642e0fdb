"""Open ``mnemon.db`` for writing or reading; what cannot be used is refused, never touched.

Source: spec/mnemon-native.md §2.3, §2.5, §2.6.
"""

from __future__ import annotations

import os
import sqlite3
from datetime import datetime
from pathlib import Path
from typing import Final
from urllib.parse import quote

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
    StoreReadOnly,
    StoreTooNew,
    translating,
)

__all__ = ("BUSY_TIMEOUT_MS", "open_to_read", "open_to_write")

BUSY_TIMEOUT_MS: Final = 10_000
"""How long a statement waits for another process's lock."""

_LOG_PAGES: Final = 4_000
"""Pages of the write-ahead log that are copied into the database at once: about 16 MB."""

_CACHE_KIB: Final = 8_192

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100


def open_to_write(
    path: Path, now: datetime, *, patience_ms: int = BUSY_TIMEOUT_MS
) -> sqlite3.Connection:
    """Open a store for writing; make it where there is none, migrate it where it is old.

    Raises:
        StoreError branches of `errors`: nothing of the file was changed.
    """
    _check_header(path)
    if (path.exists() and not os.access(path, os.W_OK)) or not os.access(path.parent, os.W_OK):
        raise StoreReadOnly(f"{path} may not be written", details={"file": str(path)})
    with translating(path):
        connection = _connect(f"{_uri(path)}?mode=rwc", patience_ms)
        try:
            _check_schema(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
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
    if not path.is_file():
        raise StoreMissing(f"there is no store {path}", details={"file": str(path)})
    _check_header(path)
    mode = "ro" if os.access(path.parent, os.W_OK) else "ro&immutable=1"
    with translating(path):
        connection = _connect(f"{_uri(path)}?mode={mode}", patience_ms)
        try:
            _check_schema(connection, path)
            if not table_names(connection):
                raise StoreForeign(f"{path} holds no store", details={"file": str(path)})
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
    return connection


def _uri(path: Path) -> str:
    return f"file:{quote(str(path.absolute()))}"


def _connect(uri: str, patience_ms: int) -> sqlite3.Connection:
    return sqlite3.connect(
        uri,
        uri=True,
        timeout=patience_ms / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def _check_header(path: Path) -> None:
    """Refuse what is no database or is shorter than it says, before SQLite opens it.

    With a write-ahead log the last pages may be there, and SQLite itself judges.
    """
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER)
            size = os.fstat(file.fileno()).st_size
    except FileNotFoundError:
        return
    except OSError as error:
        raise StoreReadOnly(
            f"{path} cannot be read: {error.strerror}", details={"file": str(path)}
        ) from error
    if not header:
        return
    if header[:16] != _MAGIC[: len(header)]:
        raise StoreDamaged(f"{path} is no SQLite database", details={"file": str(path)})
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        return
    page = int.from_bytes(header[16:18], "big")
    pages = int.from_bytes(header[28:32], "big")
    # 1 stands for 65,536; the page count holds when it was written by the last change.
    page = 65_536 if page == 1 else page
    counted = header[24:28] == header[92:96]
    if len(header) < _HEADER or (counted and size < page * pages):
        raise StoreDamaged(f"{path} is cut off", details={"file": str(path), "size": size})


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if is_foreign(connection):
        raise StoreForeign(f"{path} is the database of something else", details={"file": str(path)})
    if version > USER_VERSION:
        raise StoreTooNew(
            f"{path} was written by a later version (schema {version})",
            details={"file": str(path), "version": version},
        )

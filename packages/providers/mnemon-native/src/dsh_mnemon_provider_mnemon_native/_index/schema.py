"""The file ``index.db``: its tables, and when it is thrown away (D47).

It holds nothing that ``mnemon.db`` does not hold: a file that is missing, damaged, of another
revision or of another store is made anew.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from dsh_mnemon_provider_mnemon_native._terms.reading import revision

__all__ = ("FILE", "SCHEMA", "in_memory", "open_file", "open_to_read")

FILE: Final = "index.db"

SCHEMA: Final = 2
"""Grows with every change to the tables."""

_BUSY_MS: Final = 2_000
"""Writers hold the lock for some ms; one who waits longer goes on without the file."""

_TABLES: Final = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE docs (
  doc INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source TEXT NOT NULL, category TEXT NOT NULL,
  importance INTEGER NOT NULL, created REAL NOT NULL, content INTEGER NOT NULL,
  words INTEGER NOT NULL, mass INTEGER NOT NULL, traits INTEGER NOT NULL, signature BLOB,
  print INTEGER NOT NULL
);
CREATE TABLE left_out (doc INTEGER PRIMARY KEY, print INTEGER NOT NULL);
CREATE INDEX docs_of_source ON docs (source, created, doc);
CREATE INDEX docs_by_time ON docs (created DESC, id);
CREATE INDEX docs_by_content ON docs (content);
CREATE TABLE names (
  name TEXT NOT NULL, lower TEXT NOT NULL, doc INTEGER NOT NULL, created REAL NOT NULL
);
CREATE INDEX names_exact ON names (name, created, doc);
CREATE INDEX names_lower ON names (lower, doc);
CREATE INDEX names_of_doc ON names (doc);
CREATE VIRTUAL TABLE terms USING fts5 (
  stems, labels, words, marks, detail = column, columnsize = 0, tokenize = 'ascii'
);
"""
# `docs.doc` is the insight's rowid in mnemon.db, whose rows are never physically deleted. Active
# rows that cannot be read are in `left_out`; `print` tells whether a row was changed by hand.
# `terms` gets terms that are folded and cut already: the `ascii` tokenizer keeps all else as it is,
# where `unicode61` of an old SQLite would fold by an old Unicode. `stems` and `labels` (tags and
# entities) serve `hybrid`; `words` and `marks` the tokens of chapter 6, of content and of the rest.


def _pragmas(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # In WAL mode a crash of the machine may lose the last commits, which only makes it behind.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA cache_size = -16384")


def _connect(target: str) -> sqlite3.Connection:
    return sqlite3.connect(
        target,
        uri=True,
        timeout=_BUSY_MS / 1000,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )


def _revision() -> str:
    return f"{SCHEMA}/{revision()}"


def _create(connection: sqlite3.Connection) -> None:
    for statement in _TABLES.split(";"):
        connection.execute(statement)
    connection.execute("INSERT INTO facts VALUES ('revision', ?)", (_revision(),))


def _is_current(connection: sqlite3.Connection) -> bool:
    try:
        found = connection.execute("SELECT value FROM facts WHERE name = 'revision'").fetchone()
    except sqlite3.OperationalError:
        return False
    return found is not None and found[0] == _revision()


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.absolute()))}?mode={mode}"


def in_memory(copied: sqlite3.Connection | None = None) -> sqlite3.Connection:
    """Return an index without a file, beginning with a copy of another one where there is one."""
    connection = _connect("file::memory:")
    try:
        if copied is None:
            _create(connection)
        else:
            copied.backup(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_to_read(path: Path) -> sqlite3.Connection | None:
    """Open an index of the present revision without writing; none where there is no such file."""
    try:
        connection = _connect(_uri(path, "ro"))
    except sqlite3.Error:
        return None
    with suppress(sqlite3.Error):
        if _is_current(connection):
            return connection
    connection.close()
    return None


def open_file(path: Path) -> sqlite3.Connection:
    """Open the index of a store, made anew where it cannot be used.

    Raises:
        sqlite3.Error: The file cannot be written.
    """
    try:
        return _open_or_create(path)
    except sqlite3.OperationalError:
        # Locked, full, not writable: throwing the file away would not help.
        raise
    except sqlite3.DatabaseError:
        discard(path)
        return _open_or_create(path)


def discard(path: Path) -> None:
    """Remove an index and its log."""
    for name in (path.name, f"{path.name}-wal", f"{path.name}-shm"):
        with suppress(FileNotFoundError):
            path.with_name(name).unlink()


def _open_or_create(path: Path) -> sqlite3.Connection:
    connection = _connect(_uri(path, "rwc"))
    try:
        _pragmas(connection)
        if not _is_current(connection):
            _make_anew(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _make_anew(connection: sqlite3.Connection) -> None:
    """Drop what another revision has left, in place: another process may have the file open."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_current(connection):
            for name in ("terms", "names", "docs", "left_out", "facts"):
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            _create(connection)
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")

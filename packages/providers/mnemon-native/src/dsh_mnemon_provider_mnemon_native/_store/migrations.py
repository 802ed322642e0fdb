"""Bring an older file to the present schema, in one transaction (spec/mnemon-native.md §2.3)."""

from __future__ import annotations

import logging
import math
import sqlite3
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Final

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._store.schema import (
    ADDED_COLUMNS,
    EDGE_INDEXES,
    EDGES_TABLE,
    INDEXES,
    TRIGGER,
    USER_VERSION,
    Lack,
    create,
    lack_of,
)
from dsh_mnemon_provider_mnemon_native._vectors import pack

__all__ = ("migrate",)

_logger = logging.getLogger(__name__)

_LARGEST_MAGNITUDE: Final = 1e6


def migrate(connection: sqlite3.Connection, now: datetime) -> None:
    """Add what the file lacks; a complete file is not written, and no lock is asked for.

    ``now`` is when outdated insights count as forgotten.
    """
    lack = lack_of(connection)
    if lack == Lack(dropped=lack.dropped):
        _drop_at_once(connection, lack.dropped)
        return
    with _rebuilding(connection):
        # Another process may have migrated while this one waited for the lock.
        create(connection, lack_of(connection))
        lack = lack_of(connection)
        for name in lack.columns:
            connection.execute(f"ALTER TABLE insights ADD COLUMN {name} {ADDED_COLUMNS[name]}")
        if "stored_at" in lack.columns:
            connection.execute(
                "UPDATE insights SET stored_at = created_at WHERE coalesce(stored_at, '') = ''"
            )
        if lack.vectors:
            _narrow_vectors(connection)
        if lack.edge_types:
            _rebuild_edges(connection)
        if lack.narratives:
            connection.execute(
                "UPDATE insights SET deleted_at = ?, updated_at = ?"
                " WHERE category = 'narrative' AND deleted_at IS NULL",
                (stamp(now), stamp(now)),
            )
        connection.execute(TRIGGER)
        for name in lack.dropped:
            connection.execute(f"DROP INDEX IF EXISTS {name}")
        for name, columns in INDEXES.items():
            connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {columns}")


def _drop_at_once(connection: sqlite3.Connection, names: tuple[str, ...]) -> None:
    """Drop indexes the old line has made again, unless somebody is writing: they do no harm."""
    (patience,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute("PRAGMA busy_timeout = 0")
    with suppress(sqlite3.OperationalError):
        for name in names:
            connection.execute(f"DROP INDEX IF EXISTS {name}")
    connection.execute(f"PRAGMA busy_timeout = {patience}")


@contextmanager
def _rebuilding(connection: sqlite3.Connection) -> Generator[None]:
    """Hold the write lock, with foreign keys off: a rebuilt table keeps its orphans."""
    connection.execute("PRAGMA foreign_keys = OFF")
    try:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
    finally:
        connection.execute("PRAGMA foreign_keys = ON")


def _narrow_vectors(connection: sqlite3.Connection) -> None:
    """Re-encode float64 vectors of the old line as float32; leave what does not look like one."""
    found = connection.execute("SELECT rowid, embedding FROM insights WHERE embedding IS NOT NULL")
    for row, blob in found.fetchall():
        vector = _float64(blob)
        if vector is None:
            _logger.warning("the vector of row %s is left as it is", row)
        else:
            values = (pack(vector), row)
            connection.execute("UPDATE insights SET embedding = ? WHERE rowid = ?", values)
    connection.execute(f"PRAGMA user_version = {USER_VERSION}")


def _float64(blob: object) -> tuple[float, ...] | None:
    if not isinstance(blob, bytes) or len(blob) % 8:
        return None
    values: tuple[float, ...] = struct.unpack(f"<{len(blob) // 8}d", blob)
    fits = all(math.isfinite(value) and abs(value) <= _LARGEST_MAGNITUDE for value in values)
    return values if fits else None


def _rebuild_edges(connection: sqlite3.Connection) -> None:
    """Give ``edges`` the present CHECK; rows keep their order, edges of old types go."""
    for name in EDGE_INDEXES:
        connection.execute(f"DROP INDEX IF EXISTS {name}")
    connection.execute("ALTER TABLE edges RENAME TO edges_before")
    connection.execute(EDGES_TABLE)
    columns = "source_id, target_id, edge_type, weight, metadata, created_at"
    connection.execute(
        f"INSERT INTO edges ({columns}) SELECT {columns} FROM edges_before"  # noqa: S608 - constant
        " WHERE edge_type <> 'narrative' ORDER BY rowid"
    )
    connection.execute("DROP TABLE edges_before")

"""Every write to ``mnemon.db``, and the session it happens in (spec/mnemon-native.md §2, §4.2)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._oplog import write_log
from dsh_mnemon_provider_mnemon_native._ranking import Index
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._vectors import pack
from dsh_mnemon_provider_mnemon_native.errors import StoreReadOnly, file_error, translating

__all__ = ("Session", "Transaction", "compact")

_NORMAL: Final = 1
"""``PRAGMA synchronous``: a commit is in the log, and synced along with the next full one."""

_BATCH_CACHE_KIB: Final = 65_536
_BATCH_LOG_PAGES: Final = 16_000


def compact(value: Sequence[str] | Mapping[str, str]) -> str:
    """Write JSON as the store does: sorted keys, no blanks, other scripts as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


@attrs.define(kw_only=True)
class Session:
    """One open store; used in its worker thread only.

    Attributes:
        clock: Gives the present, time zone included.
        new_id: Gives the id of a new insight.
        after_commit: Told the ids each commit has touched.
    """

    path: Path
    connection: sqlite3.Connection
    rows: Rows
    index: Index
    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    read_only: bool = False
    after_commit: Callable[[Collection[str]], None] = lambda ids: None

    @contextmanager
    def reading(self) -> Generator[None]:
        """Read one state of the file, with the index caught up to it."""
        with translating(self.path):
            self.connection.execute("BEGIN")
            try:
                self.index.refresh()
                yield
            finally:
                self.connection.execute("ROLLBACK")

    @contextmanager
    def hurried(self, patience_ms: int) -> Generator[None]:
        """Wait less long for another process's lock, and not for the disk.

        For what nobody is told of: the death of the machine may undo it.
        """
        with self._setting("busy_timeout", patience_ms), self._setting("synchronous", _NORMAL):
            yield

    @contextmanager
    def roomy(self) -> Generator[None]:
        """Keep more pages in memory for a while: a batch touches many of them again and again."""
        with (
            self._setting("cache_size", -_BATCH_CACHE_KIB),
            self._setting("wal_autocheckpoint", _BATCH_LOG_PAGES),
        ):
            yield

    @contextmanager
    def _setting(self, name: str, value: int) -> Generator[None]:
        (usual,) = self.connection.execute(f"PRAGMA {name}").fetchone()
        self.connection.execute(f"PRAGMA {name} = {value}")
        try:
            yield
        finally:
            self.connection.execute(f"PRAGMA {name} = {usual}")

    @contextmanager
    def writing(self) -> Generator[Transaction]:
        """Hold the write lock; commit at the end, take everything back for an exception.

        What is committed is on the disk.
        """
        if self.read_only:
            raise file_error(StoreReadOnly, self.path, "is open for reading only")
        with translating(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            transaction = Transaction(self)
            try:
                self.index.refresh()
                yield transaction
                self.connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back itself after some errors.
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                self.index.rolled_back()
                raise
        self.index.committed()
        self.after_commit(transaction.touched)


class Transaction:
    """The writes of one transaction; each tells the index.

    Attributes:
        touched: Ids of the insights that were written.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.rows, self.index = session.rows, session.index
        self._execute = session.connection.execute
        self.touched: set[str] = set()

    def now(self) -> datetime:
        """Return the present."""
        return self.session.clock()

    def insert(self, row: Row, vector: Sequence[float] | None = None) -> Row:
        """Write a new insight and return it with its rowid."""
        cursor = self._execute(
            "INSERT INTO insights (id, content, category, importance, tags, entities, source,"
            " access_count, stored_at, created_at, updated_at, embedding)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.id,
                row.content,
                row.category,
                row.importance,
                compact(row.tags),
                compact(row.entities),
                row.source,
                row.access_count,
                row.stored_at,
                row.created_at,
                row.updated_at,
                None if vector is None else pack(vector),
            ),
        )
        written = attrs.evolve(row, rowid=cursor.lastrowid or 0)
        self.touched.add(row.id)
        self.index.changed(written)
        if vector is not None:
            self.index.embedded(row.id, vector)
        return written

    def weigh(self, id: str, effective_importance: float) -> None:
        """Store the effective importance of an insight."""
        self._execute(
            "UPDATE insights SET effective_importance = ? WHERE id = ?",
            (effective_importance, id),
        )

    def edge(
        self,
        source: str,
        target: str,
        type: str,
        weight: float,
        metadata: str,
        time: str,
    ) -> None:
        """Write one directed edge; an edge of this kind between the two is replaced.

        ``metadata`` is `compact` JSON.
        """
        self._execute(
            "INSERT OR REPLACE INTO edges"
            " (source_id, target_id, edge_type, weight, metadata, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (source, target, type, weight, metadata, time),
        )
        self.touched |= {source, target}

    def cut(self, one: str, other: str, type: str) -> None:
        """Remove the edges of one kind between two insights, in both directions."""
        query = "DELETE FROM edges WHERE source_id = ? AND target_id = ? AND edge_type = ?"
        self._execute(query, (one, other, type))
        self._execute(query, (other, one, type))
        self.touched |= {one, other}

    def forget(self, id: str, time: str) -> bool:
        """Mark an insight as forgotten and remove its edges; false when it is not active."""
        cursor = self._execute(
            "UPDATE insights SET deleted_at = ?, updated_at = ?"
            " WHERE id = ? AND deleted_at IS NULL",
            (time, time, id),
        )
        if not cursor.rowcount:
            return False
        neighbours = {end for e in self.rows.incident(id) for end in (e.source_id, e.target_id)}
        self._execute("DELETE FROM edges WHERE source_id = ? OR target_id = ?", (id, id))
        self.touched |= {id} | neighbours
        self.index.removed(id)
        return True

    def access(self, ids: Collection[str], time: datetime) -> None:
        """Count one more access of each insight."""
        self.session.connection.executemany(
            "UPDATE insights SET access_count = access_count + 1, last_accessed_at = ?"
            " WHERE id = ?",
            [(stamp(time), id) for id in ids],
        )

    def retain(self, id: str, accesses: int, time: str) -> None:
        """Set the access count of an insight that is to stay."""
        self._execute(
            "UPDATE insights SET access_count = ?, last_accessed_at = ?, updated_at = ?"
            " WHERE id = ?",
            (accesses, time, time, id),
        )
        row = self.rows.one(id)
        if row is not None:
            self.index.changed(row)

    def log(self, operation: str, id: str | None, detail: str) -> None:
        """Add an entry to the store's own log."""
        write_log(self.session.connection, operation, id, detail, stamp(self.now()))

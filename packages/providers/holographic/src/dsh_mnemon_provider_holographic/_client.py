"""The database file: one connection and one lock for each path in the process (§6.2).

Everything here blocks: it runs in worker threads. Readers see one snapshot, writers hold
``BEGIN IMMEDIATE`` from their first look to their commit, and a killed process leaves either
nothing or all of a write behind.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dsh_mnemon_core.files import ensure_directory
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderUnavailable, WriteOutcomeUnknown

from dsh_mnemon_provider_holographic import _schema
from dsh_mnemon_provider_holographic._banks import Banks
from dsh_mnemon_provider_holographic._faults import fault, foreign, is_locked, translated

__all__ = ("Checkpoint", "Store", "go_on", "open_store")

Checkpoint = Callable[[], None]
"""Called while waiting for a lock; raises when the caller does not want to wait any longer."""

BUSY_TIMEOUT: Final = 10.0
"""Seconds to wait for another process."""

_STEP: Final = 0.1


def go_on() -> None:
    """Let a wait go on: the checkpoint of a caller that is never cancelled."""


class Store:
    """One database of facts; create it with `open_store`.

    Attributes:
        path: The resolved file.
        banks: Running sums of the category banks, valid as long as nobody else writes.
        taken: The peer stores that are known to have been taken over into this file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.banks = Banks()
        self.taken: set[Path] = set()
        self.users = 0
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None
        self._complete = self._prepared = False

    @contextmanager
    def reading(self, checkpoint: Checkpoint = go_on) -> Generator[sqlite3.Connection | None]:
        """Hold one snapshot of the file, or ``None`` when there are no facts yet.

        Raises:
            ProviderError: The file is locked, cannot be opened, is damaged or somebody else's.
        """
        with self._locked():
            connection = self._connected()
            found = None if connection is None else self._look(connection, checkpoint)
            if connection is None or found == "empty":
                yield None
                return
            if found == "partial":
                with self.writing(checkpoint):
                    pass
            self._begin(connection, "BEGIN", checkpoint)
            try:
                yield connection
            finally:
                connection.rollback()

    @contextmanager
    def writing(self, checkpoint: Checkpoint = go_on) -> Generator[sqlite3.Connection]:
        """Hold the write lock of the file, which is made if it is missing; commit at the end.

        An error of the caller undoes everything.

        Raises:
            ProviderError: As `reading`, or the file cannot be written; nothing was written.
            WriteOutcomeUnknown: The commit itself failed.
        """
        with self._locked():
            connection = self._writable(checkpoint)
            self._begin(connection, "BEGIN IMMEDIATE", checkpoint)
            try:
                if not self._prepared:
                    self._judge(connection)
                    _schema.create(connection)
                yield connection
            except BaseException:
                self._undo(connection)
                raise
            self._commit(connection)
            self._complete = self._prepared = True

    def size(self) -> int:
        """Return the bytes on disk, those of the write-ahead log included."""
        total = 0
        for path in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            with suppress(FileNotFoundError):
                total += path.stat().st_size
        return total

    def close(self) -> None:
        """Give up one use; the last one closes the file."""
        with _guard:
            self.users -= 1
            if self.users > 0:
                return
            _stores.pop(str(self.path), None)
        with self._lock:
            self._close()

    # -- opening ----------------------------------------------------------------------------------

    @contextmanager
    def _locked(self) -> Generator[None]:
        if not _schema.has_full_text():
            raise ProviderUnavailable("the SQLite of this Python was built without FTS5")
        with self._lock, translated(self.path):
            yield

    def _connected(self) -> sqlite3.Connection | None:
        """Return the connection to the file that is there now; it may have been replaced."""
        file = self._identity()
        if file != self._file:
            self._close()
        if file is not None and self._connection is None:
            self._connection = sqlite3.connect(
                f"{self.path.as_uri()}?mode=rw",
                uri=True,
                timeout=BUSY_TIMEOUT,
                isolation_level=None,
                check_same_thread=False,
            )
            self._file = file
        return self._connection

    def _writable(self, checkpoint: Checkpoint) -> sqlite3.Connection:
        if self._identity() is None:
            self._make()
        connection = self._connected()
        if connection is None:  # pragma: no cover - only if the file vanishes at this very moment
            raise FileNotFoundError(self.path)
        if not self._prepared:
            self._look(connection, checkpoint)
            _wait_at_most(connection, _STEP)
            # Some file systems have no shared memory, and a reader keeps the mode as it is.
            with suppress(sqlite3.OperationalError):
                connection.execute("PRAGMA journal_mode = WAL")
        return connection

    def _make(self) -> None:
        ensure_directory(self.path.parent)
        with suppress(FileExistsError):
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))

    def _look(self, connection: sqlite3.Connection, checkpoint: Checkpoint) -> _schema.Layout:
        """Judge the file once, in a snapshot of its own; nothing is written."""
        if self._complete:
            return "complete"
        self._begin(connection, "BEGIN", checkpoint)
        try:
            return self._judge(connection)
        finally:
            connection.rollback()

    def _judge(self, connection: sqlite3.Connection) -> _schema.Layout:
        found = _schema.layout(connection)
        if found == "foreign":
            raise foreign(self.path)
        self._complete = found == "complete"
        return found

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    # -- transactions -----------------------------------------------------------------------------

    def _begin(
        self, connection: sqlite3.Connection, statement: str, checkpoint: Checkpoint
    ) -> None:
        """Begin a transaction; wait for others in steps, so that a caller may give up."""
        latest = time.monotonic() + BUSY_TIMEOUT
        _wait_at_most(connection, _STEP)
        try:
            while True:
                checkpoint()
                try:
                    connection.execute(statement)
                    # A deferred transaction takes its snapshot with the first look.
                    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
                    return
                except sqlite3.Error as error:
                    connection.rollback()
                    if not is_locked(error) or time.monotonic() >= latest:
                        raise
        finally:
            _wait_at_most(connection, BUSY_TIMEOUT)

    def _commit(self, connection: sqlite3.Connection) -> None:
        try:
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            self._undo(connection)
            if is_locked(error):
                raise
            details = dict(fault(error, self.path).details)
            raise WriteOutcomeUnknown(
                f"the fact store {self.path} may or may not hold the last change", details=details
            ) from error

    def _undo(self, connection: sqlite3.Connection) -> None:
        self.banks.forget_sums()
        connection.rollback()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = self._file = None
        self._complete = self._prepared = False
        self.banks.forget_sums()


def _wait_at_most(connection: sqlite3.Connection, seconds: float) -> None:
    connection.execute(f"PRAGMA busy_timeout = {int(seconds * 1000)}")


_stores: dict[str, Store] = {}
_guard = threading.Lock()


def open_store(path: Path) -> Store:
    """Return the store of a path, one for all of this process; `Store.close` gives it back.

    Nothing is opened yet. Different spellings of a path and links to it are one store.
    """
    resolved = path.resolve()
    with _guard:
        store = _stores.setdefault(str(resolved), Store(resolved))
        store.users += 1
        return store

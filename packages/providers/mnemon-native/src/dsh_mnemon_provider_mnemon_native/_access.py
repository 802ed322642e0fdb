"""A store opened at first use, in a thread of its own (spec/mnemon-native.md §2.6)."""

from __future__ import annotations

import logging
import os
import sqlite3
import uuid
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs
from dsh_mnemon_core.instant import utc_now
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderError

from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking
from dsh_mnemon_provider_mnemon_native._embedding import Embedder
from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._ranking import Ranking
from dsh_mnemon_provider_mnemon_native._store.opening import BUSY_TIMEOUT_MS
from dsh_mnemon_provider_mnemon_native._store.sessions import IndexFactory, open_session
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._store.worker import Worker
from dsh_mnemon_provider_mnemon_native._write.retention import Retention
from dsh_mnemon_provider_mnemon_native.errors import (
    StoreLocked,
    StoreReadOnly,
    file_error,
    translating,
)

__all__ = ("RankingFactory", "StoreAccess", "StoreOptions")

_logger = logging.getLogger(__name__)

T = TypeVar("T")

RankingFactory = Callable[[sqlite3.Connection, Any], Ranking]
"""Makes what orders insights in mode ``smart``, of the connection and the store's index."""

_COUNTING_PATIENCE_MS: Final = 100
"""Counting accesses is best effort: it does not keep later calls waiting for a lock."""


@attrs.frozen(kw_only=True)
class StoreOptions:
    """How a store is worked on.

    Attributes:
        embedder: Makes vectors; none without one.
        clock: Gives the present, time zone included.
        new_id: Gives the id of a new insight.
        patience_ms: How long a write waits for another process's.
    """

    ranking: RankingFactory = CompatibleRanking
    index: IndexFactory = QuickIndex
    retention: Retention = attrs.field(factory=Retention)
    embedder: Embedder | None = None
    clock: Callable[[], datetime] = utc_now
    new_id: Callable[[], str] = lambda: str(uuid.uuid4())
    read_only: bool = False
    patience_ms: int = BUSY_TIMEOUT_MS


class _Open:
    """What is open while a store is in use; lives in the store's thread."""

    def __init__(self, session: Session, ranking: Ranking) -> None:
        self.session, self.ranking = session, ranking
        session.after_commit = ranking.committed
        self.file = _identity(session.path)
        self._log = _beside(session.path, "-wal")
        self._log_file = _identity(self._log)

    def close(self) -> None:
        self.ranking.close()
        self.session.index.close()
        self.session.connection.close()

    def part(self) -> None:
        """Close a file that has lost its name to another one, or is gone.

        Its log has kept the name, and SQLite would replay it over the new file. So what is in it
        goes where it belongs, into the old file, and the empty log goes, unless it is the new
        file's own. Other processes go on with the old files, which have no names any more.

        Raises:
            StoreLocked: Another process is at work on the old file; it is still open.
        """
        path = self.session.path
        if self.session.read_only or self._log_file is None:
            self.close()
            return
        with translating(path):
            query = "PRAGMA wal_checkpoint(TRUNCATE)"
            (is_busy, *_) = self.session.connection.execute(query).fetchone()
        if is_busy:
            what = "was replaced, and another process is at work on the old file; end it first"
            raise file_error(StoreLocked, path, what)
        self.close()
        if _identity(self._log) == self._log_file:
            self._log.unlink()
            _beside(path, "-shm").unlink(missing_ok=True)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell which file has a name.

    Raises:
        StoreReadOnly: The folder may not be looked into.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise file_error(StoreReadOnly, path, f"cannot be read: {error.strerror}") from error
    return found.st_dev, found.st_ino


class StoreAccess:
    """Opens one store at first use and runs calls on it, one after the other.

    Attributes:
        path: The store's file; it must exist.
    """

    def __init__(self, path: Path, options: StoreOptions) -> None:
        self.path, self._options = path, options
        self._worker = Worker(f"mnemon-{path.parent.name}")
        self._open: _Open | None = None

    async def aclose(self) -> None:
        """Let what runs end, and close the file."""
        await self._worker.run(self._close)
        await self._worker.aclose()

    async def _read(self, call: Callable[[Session], T]) -> T:
        def reading(session: Session) -> T:
            with session.reading():
                return call(session)

        return await self._call(reading)

    async def _call(self, call: Callable[[Session], T]) -> T:
        return await self._worker.run(lambda: call(self._opened().session))

    def _opened(self) -> _Open:
        """Return what is open; a file that was removed or replaced is opened anew."""
        if self._open is not None and self._open.file != _identity(self.path):
            self._open.part()
            self._open = None
        if self._open is None:
            options = self._options
            session = open_session(
                self.path,
                index=options.index,
                clock=options.clock,
                new_id=options.new_id,
                read_only=options.read_only,
                patience_ms=options.patience_ms,
            )
            self._open = _Open(session, options.ranking(session.connection, session.index))
        return self._open

    def _close(self) -> None:
        opened, self._open = self._open, None
        if opened is not None:
            opened.close()

    def _count(self, operation: str, ids: Collection[str], detail: str) -> None:
        """Count accesses and log the query, after the answer and best effort (D47)."""

        def count() -> None:
            session = self._open.session if self._open else None
            if session is None or session.read_only:
                return
            try:
                with session.hurried(_COUNTING_PATIENCE_MS), session.writing() as writing:
                    writing.access(ids, writing.now())
                    writing.log(operation, None, detail)
            except ProviderError as error:
                _logger.debug("accesses were not counted: %s", error.message)

        self._worker.later(count)

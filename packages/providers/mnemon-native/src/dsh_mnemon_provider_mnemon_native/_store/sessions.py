"""Opening a store with its index (spec/mnemon-native.md §2, D47)."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from dsh_mnemon_provider_mnemon_native._ranking import Index
from dsh_mnemon_provider_mnemon_native._store.opening import (
    BUSY_TIMEOUT_MS,
    open_to_read,
    open_to_write,
)
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native.errors import StoreReadOnly, translating

__all__ = ("IndexFactory", "open_session")

_logger = logging.getLogger(__name__)

IndexFactory = Callable[[sqlite3.Connection, Path, bool], Index]
"""Makes the index of a store: connection, folder, whether it is open for reading only."""


def open_session(
    path: Path,
    *,
    index: IndexFactory,
    clock: Callable[[], datetime],
    new_id: Callable[[], str],
    read_only: bool = False,
    patience_ms: int = BUSY_TIMEOUT_MS,
) -> Session:
    """Open a store; one that may not be written is opened for reading, and says so when written.

    Raises:
        ProviderError: The branches of `errors`.
    """
    connection = None if read_only else _writable(path, clock(), patience_ms)
    if connection is None:
        read_only, connection = True, open_to_read(path, patience_ms=patience_ms)
    with translating(path):
        return Session(
            path=path,
            connection=connection,
            rows=Rows(connection),
            index=index(connection, path.parent, read_only),
            clock=clock,
            new_id=new_id,
            read_only=read_only,
        )


def _writable(path: Path, now: datetime, patience_ms: int) -> sqlite3.Connection | None:
    try:
        return open_to_write(path, now, patience_ms=patience_ms)
    except StoreReadOnly:
        _logger.info("%s is opened for reading only", path)
        return None

"""The store's own log: what was done, best effort (spec/mnemon-native.md §12)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

import attrs

__all__ = ("KEPT", "LogEntry", "read_log", "write_log")

KEPT: Final = 5000
"""How many of the newest entries stay."""


@attrs.frozen(kw_only=True)
class LogEntry:
    """One line of the log; ``detail`` holds contents and queries in clear, also forgotten ones."""

    operation: str
    insight_id: str
    detail: str
    created_at: str


def write_log(
    connection: sqlite3.Connection, operation: str, id: str | None, detail: str, time: str
) -> None:
    """Add one entry and drop the oldest beyond `KEPT`."""
    cursor = connection.execute(
        "INSERT INTO oplog (operation, insight_id, detail, created_at) VALUES (?, ?, ?, ?)",
        (operation, id, detail, time),
    )
    connection.execute("DELETE FROM oplog WHERE id <= ?", ((cursor.lastrowid or 0) - KEPT,))


def read_log(connection: sqlite3.Connection, limit: int) -> Sequence[LogEntry]:
    """Return the newest entries, newest first."""
    found = connection.execute(
        "SELECT operation, coalesce(insight_id, ''), coalesce(detail, ''), created_at"
        " FROM oplog ORDER BY id DESC LIMIT ?",
        (limit,),
    )
    return [
        LogEntry(operation=operation, insight_id=id, detail=detail, created_at=created)
        for operation, id, detail, created in found
    ]

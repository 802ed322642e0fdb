"""Fingerprints of rows: what an index is made of, in 63 bits."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b
from typing import Final

from dsh_mnemon_provider_mnemon_native._store.schema import columns_of

__all__ = ("Prints", "fingerprint")

_COLUMNS: Final = (
    *("id", "content", "category", "importance", "tags", "entities", "source"),
    *("created_at", "updated_at"),
)
"""What is indexed, and what decides whether a row can be read; not what recalls change."""


def fingerprint(data: bytes) -> int:
    """Return a key of 63 bits that equal bytes share."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


class Prints:
    """Reads fingerprints of one store's rows."""

    def __init__(self, store: sqlite3.Connection) -> None:
        parts = [f"typeof({name}) || ':' || coalesce({name}, '')" for name in _COLUMNS]
        if "embedding" in columns_of(store):
            # Its length lies in the head of the row; its values would double the reading.
            parts.append("coalesce(length(embedding), '')")
        joined = " || char(31) || ".join(parts)
        self._select = f"SELECT rowid, CAST({joined} AS BLOB) FROM insights"  # noqa: S608 - constant
        self._store = store

    def of(self, row: int) -> int:
        """Return the fingerprint of a row that is there."""
        (_, data) = self._store.execute(f"{self._select} WHERE rowid = ?", (row,)).fetchone()
        return fingerprint(data)

    def part(self, after: int, limit: int) -> list[tuple[int, int]]:
        """Return active rows behind one, in order, with their fingerprints."""
        tail = "WHERE +deleted_at IS NULL AND rowid > ? ORDER BY rowid LIMIT ?"
        found = self._store.execute(f"{self._select} {tail}", (after, limit))
        return [(row, fingerprint(data)) for row, data in found]

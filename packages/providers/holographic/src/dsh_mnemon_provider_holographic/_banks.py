"""The bank of a category: all its fact vectors superposed (providers specification §6.3, §6.5).

Hermes reads every vector of the category again for each write. The sums that a bank is made of are
kept here instead, and read again only when somebody else has written.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Final

import attrs

from dsh_mnemon_provider_holographic._algebra import (
    Phasors,
    Vector,
    angles,
    decode,
    encode,
    phasors,
)

__all__ = ("Banks", "file_dim")

_PREFIX: Final = "cat:"


@attrs.frozen
class _Sum:
    """The phasors of a category's vectors, added up, and how many there are."""

    total: Phasors | None
    count: int


class Banks:
    """Writes the bank rows of one file; use it inside a write transaction only."""

    def __init__(self) -> None:
        self._sums: dict[str, _Sum] = {}
        self._seen: tuple[int, int] | None = None

    def forget_sums(self) -> None:
        """Read the vectors again at the next change."""
        self._sums = {}
        self._seen = None

    def change(
        self,
        connection: sqlite3.Connection,
        category: str,
        dim: int,
        *,
        added: Sequence[Vector] = (),
        removed: Sequence[Vector] = (),
        now: str,
    ) -> None:
        """Write the bank of a category whose facts have changed already.

        Args:
            connection: Inside a write transaction, the change done.
            category: As stored in the fact.
            dim: Dimension of the bank; vectors of another one do not count.
            added: The vectors of the facts that came.
            removed: The vectors of the facts that went.
            now: ``YYYY-MM-DD HH:MM:SS``, UTC.
        """
        known = self._known(connection, category, dim)
        if known is None:
            known = _add_up(connection, category, dim)
        else:
            for vector in added:
                known = _plus(known, vector, dim, 1)
            for vector in removed:
                known = _plus(known, vector, dim, -1)
        self._sums[category] = known
        _write(connection, category, dim, known, now)

    def _known(self, connection: sqlite3.Connection, category: str, dim: int) -> _Sum | None:
        # The version changes with the commits of all connections but this one.
        seen = (connection.execute("PRAGMA data_version").fetchone()[0], dim)
        if seen != self._seen:
            self.forget_sums()
            self._seen = seen
        return self._sums.get(category)


def file_dim(connection: sqlite3.Connection, wanted: int) -> int:
    """Return the dimension of new vectors: that of the file, ``wanted`` while it has none.

    Hermes cannot read a category whose vectors differ, so a setting never mixes dimensions.
    """
    query = "SELECT dim FROM memory_banks GROUP BY dim ORDER BY sum(fact_count) DESC LIMIT 1"
    row = connection.execute(query).fetchone()
    return row[0] if row is not None and isinstance(row[0], int) and row[0] > 0 else wanted


def _plus(known: _Sum, vector: Vector, dim: int, sign: int) -> _Sum:
    if len(vector) != dim:
        return known
    part = sign * phasors(vector)
    return _Sum(part if known.total is None else known.total + part, known.count + sign)


def _add_up(connection: sqlite3.Connection, category: str, dim: int) -> _Sum:
    known = _Sum(None, 0)
    query = "SELECT hrr_vector FROM facts WHERE category = ? AND hrr_vector IS NOT NULL"
    for (blob,) in connection.execute(query, (category,)):
        vector = decode(blob, dim)
        if vector is not None:
            known = _plus(known, vector, dim, 1)
    return known


def _write(connection: sqlite3.Connection, category: str, dim: int, known: _Sum, now: str) -> None:
    name = f"{_PREFIX}{category}"
    if known.total is None or known.count <= 0:
        connection.execute("DELETE FROM memory_banks WHERE bank_name = ?", (name,))
        return
    connection.execute(
        "INSERT INTO memory_banks (bank_name, vector, dim, fact_count, updated_at)"
        " VALUES (?, ?, ?, ?, ?) ON CONFLICT (bank_name) DO UPDATE SET vector = excluded.vector,"
        " dim = excluded.dim, fact_count = excluded.fact_count, updated_at = excluded.updated_at",
        (name, encode(angles(known.total)), dim, known.count, now),
    )

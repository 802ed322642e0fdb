"""Find the rows that somebody has changed by hand, of which no mark tells (D47).

Programs only add rows and mark them as deleted. A person with a SQLite shell may do anything, so
after each foreign commit the index is compared with the rows themselves: which rows there are at
once, what is in them a part at a time.
"""

from __future__ import annotations

import json
import sqlite3
from secrets import randbelow
from typing import Final

from dsh_mnemon_provider_mnemon_native._index.keeping import Keeper

__all__ = ("PART", "Check")

PART: Final = 4_096
"""Rows whose contents are compared during one read: about 15 ms of work."""

_ACTIVE: Final = "SELECT rowid AS doc FROM insights WHERE deleted_at IS NULL"
_KNOWN: Final = "SELECT doc FROM docs UNION ALL SELECT doc FROM left_out"


class Check:
    """Compares an index with its store and mends it: `begin`, then `step` by `step`."""

    def __init__(self, keeper: Keeper, store: sqlite3.Connection) -> None:
        self._keeper, self._store, self._index = keeper, store, keeper.index
        self._at, self._due = -1, 0

    def begin(self) -> bool:
        """Compare which rows there are, and have all contents compared; tell what has changed."""
        there, here = _sum(self._store, _ACTIVE), _sum(self._index, _KNOWN)
        self._due = max(there[0], 1)
        if there[0] <= PART:
            self._at = 0
        elif self._at < 0:
            # A process that asks once compares one part; many of them come round.
            self._at = randbelow(there[0])
        return there != here and self._renew(
            _docs(self._store, _ACTIVE) ^ _docs(self._index, _KNOWN)
        )

    def step(self) -> bool:
        """Compare the contents of the next rows, if any are due; tell whether one has changed."""
        if self._due <= 0:
            return False
        found = self._keeper.prints.part(self._at, PART)
        end = found[-1][0] if len(found) == PART else None
        kept = self._kept(self._at, end)
        self._due -= max(len(found), 1)
        self._at = end or 0
        return self._renew({doc for doc, print in found if kept.pop(doc, None) != print} | {*kept})

    def _kept(self, after: int, end: int | None) -> dict[int, int]:
        span = (after, 2**63 - 1 if end is None else end)
        query = (
            "SELECT doc, print FROM docs WHERE doc > ? AND doc <= ?"
            " UNION ALL SELECT doc, print FROM left_out WHERE doc > ? AND doc <= ?"
        )
        return dict(self._index.execute(query, (*span, *span)).fetchall())

    def _renew(self, docs: set[int]) -> bool:
        if docs:
            with self._keeper.transaction():
                self._keeper.renew(docs)
        return bool(docs)


def _sum(connection: sqlite3.Connection, docs: str) -> tuple[int, float]:
    """Return how many documents a query gives, and their sum: other ones hardly have both alike."""
    query = f"SELECT count(*), total(doc) FROM ({docs})"  # noqa: S608 - constant
    count, total = connection.execute(query).fetchone()
    return int(count), float(total)


def _docs(connection: sqlite3.Connection, docs: str) -> set[int]:
    query = f"SELECT json_group_array(doc) FROM ({docs})"  # noqa: S608 - constant
    (line,) = connection.execute(query).fetchone()
    return set(json.loads(line))

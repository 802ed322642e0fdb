"""The edges around a node, kept between recalls (spec/mnemon-native.md §7.4)."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from dsh_mnemon_provider_mnemon_native._records import Edge
from dsh_mnemon_provider_mnemon_native._store.rows import EDGE_COLUMNS, edges_of

__all__ = ("Arc", "Graph")

_KEPT_ARCS: Final = 400_000


class Arc(NamedTuple):
    """An edge as one of its ends sees it."""

    other: str
    type: str
    weight: float
    source: str


class Graph:
    """Reads edges on demand and keeps them until a commit touches one of their ends."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._arcs: dict[str, Sequence[Arc]] = {}
        self._count = 0
        self._version = -1

    def refresh(self) -> None:
        """Forget what was read when another process has committed."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version, self._count = version, 0
            self._arcs.clear()

    def touched(self, ids: Collection[str]) -> None:
        """Forget the edges around some nodes."""
        for id in ids:
            self._count -= len(self._arcs.pop(id, ()))

    def arcs(self, id: str) -> Sequence[Arc]:
        """Return the edges from and to a node; one to itself once."""
        arcs = self._arcs.get(id)
        if arcs is None:
            arcs = self._read(id)
            self._count += len(arcs)
            while self._count > _KEPT_ARCS and self._arcs:
                self.touched([next(iter(self._arcs))])
            self._arcs[id] = arcs
        return arcs

    def superseded(self) -> set[str]:
        """Return the insights that another one supersedes."""
        found = self._connection.execute(
            f"SELECT {EDGE_COLUMNS} FROM edges"  # noqa: S608 - constant
            " WHERE edge_type = 'supersedes' AND source_id <> target_id"
        )
        return {edge.target_id for edge in edges_of(found)}

    def _read(self, id: str) -> Sequence[Arc]:
        found = self._connection.execute(
            f"SELECT {EDGE_COLUMNS} FROM edges WHERE source_id = ?"  # noqa: S608 - constant
            f" UNION ALL SELECT {EDGE_COLUMNS} FROM edges WHERE target_id = ? AND source_id <> ?",
            (id, id, id),
        )
        return tuple(_arc(edge, id) for edge in edges_of(found))


def _arc(edge: Edge, id: str) -> Arc:
    # The same few ids and types occur again and again.
    begins = edge.source_id == id
    other = sys.intern(edge.target_id if begins else edge.source_id)
    return Arc(other, sys.intern(edge.type), edge.weight, id if begins else other)

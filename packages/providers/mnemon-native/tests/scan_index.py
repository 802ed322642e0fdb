"""The reference `Index`: looks at every active insight; slow, plain, and always right.

It says what an index must answer, and is what the quick one is measured against.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property

import attrs
from dsh_mnemon_provider_mnemon_native._instants import instant
from dsh_mnemon_provider_mnemon_native._ranking import EVERYTHING, Scope, Scored
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._tokens import field_tokens, overlap_ratio, tokens
from dsh_mnemon_provider_mnemon_native._vectors import cosine

__all__ = ("ScanIndex", "containment", "keyword_order")


def keyword_order(score: float, row: Row) -> tuple[float, int, float, str]:
    """Return the sort key of keyword search: score, importance, newest, id."""
    return (-score, -row.importance, -instant(row.created_at), row.id)


def containment(left: frozenset[str], right: frozenset[str]) -> float:
    """Return the larger share of one token set that lies in the other, 0 for an empty one."""
    smaller = min(len(left), len(right))
    return len(left & right) / smaller if smaller else 0.0


@attrs.frozen(slots=False)
class _Entry:
    row: Row

    @cached_property
    def tokens(self) -> frozenset[str]:
        return field_tokens(self.row.content, self.row.tags, self.row.entities)

    @cached_property
    def content_tokens(self) -> frozenset[str]:
        return tokens(self.row.content)

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(entity.lower() for entity in self.row.entities)


class ScanIndex:
    """Answers from all active rows, read anew after every commit of another process."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = Rows(connection)
        self._read: dict[str, _Entry] | None = None
        self._version = -1

    def refresh(self) -> None:
        """Forget what was read when another process has committed."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version, self._read = version, None

    def changed(self, row: Row) -> None:
        """Note a row of the open transaction."""
        if self._read is not None:
            self._read[row.id] = _Entry(row)

    def removed(self, id: str) -> None:
        """Note a forgotten row of the open transaction."""
        if self._read is not None:
            self._read.pop(id, None)

    def embedded(self, id: str, vector: Sequence[float]) -> None:
        """Do nothing: vectors are read from the rows."""

    def committed(self) -> None:
        """Do nothing: what was noted holds."""

    def rolled_back(self) -> None:
        """Forget what was read, for it holds what was noted."""
        self._read = None

    def close(self) -> None:
        """Forget what was read."""
        self._read = None

    def among(self, ids: Iterable[str]) -> frozenset[str]:
        """Return those that are read."""
        return frozenset(self._entries().keys() & set(ids))

    def census(self) -> Mapping[str, int]:
        """Count by category."""
        return dict(sorted(Counter(e.row.category for e in self._entries().values()).items()))

    def unreadable(self) -> int:
        """Count the active rows that are not read."""
        query = "SELECT count(*) FROM insights WHERE deleted_at IS NULL"
        (count,) = self._connection.execute(query).fetchone()
        return int(count) - len(self._entries())

    def names(self, limit: int) -> Sequence[tuple[str, int]]:
        """Return the entities that most insights hold."""
        held = Counter(name for e in self._entries().values() for name in {*e.row.entities})
        return sorted(held.items(), key=lambda item: (-item[1], item[0]))[:limit]

    def _entries(self) -> dict[str, _Entry]:
        if self._read is None:
            rows = self._rows.select("WHERE deleted_at IS NULL")
            self._read = {row.id: _Entry(row) for row in rows}
        return self._read

    def _within(self, scope: Scope) -> Iterable[_Entry]:
        return (entry for entry in self._entries().values() if scope.admits(entry.row))

    def same_content(self, content: str) -> str | None:
        """Return the newest id with exactly this content."""
        same = (e.row for e in self._entries().values() if e.row.content == content)
        newest = max(same, key=_newness, default=None)
        return newest.id if newest else None

    def known(self, words: Collection[str]) -> frozenset[str]:
        """Return those of ``words`` that are an entity."""
        wanted = frozenset(words)
        return frozenset(
            entity
            for entry in self._entries().values()
            for entity in entry.row.entities
            if entity in wanted
        )

    def holders(self, entity: str, *, limit: int, exclude: str) -> Sequence[str]:
        """Return the newest ids that hold the entity."""
        holding = (
            entry.row
            for entry in self._entries().values()
            if entity in entry.row.entities and entry.row.id != exclude
        )
        return [row.id for row in heapq.nlargest(limit, holding, key=_newness)]

    def keyword(
        self, tokens: frozenset[str], *, limit: int, scope: Scope = EVERYTHING
    ) -> Sequence[Scored]:
        """Rank by the share of the query's tokens."""
        scored = ((overlap_ratio(tokens, e.tokens), e.row) for e in self._within(scope))
        return _best(scored, limit)

    def naming(
        self, entities: frozenset[str], *, limit: int, scope: Scope = EVERYTHING
    ) -> Sequence[Scored]:
        """Rank by the share of the query's entities."""
        scored = ((overlap_ratio(entities, e.names), e.row) for e in self._within(scope))
        return _best(scored, limit)

    def overlapping(
        self, content_tokens: frozenset[str], *, limit: int, floor: float, exclude: str
    ) -> Sequence[Scored]:
        """Rank others by `containment` of content tokens."""
        scored = (
            (containment(content_tokens, entry.content_tokens), entry.row)
            for entry in self._entries().values()
            if entry.row.id != exclude
        )
        enough = ((score, row) for score, row in scored if score >= floor)
        best = heapq.nlargest(limit, enough, key=lambda pair: (pair[0], *_newness(pair[1])))
        return [Scored(row.id, score) for score, row in best]

    def newest(self, *, limit: int, scope: Scope = EVERYTHING) -> Sequence[str]:
        """Return the newest ids."""
        rows = (entry.row for entry in self._within(scope))
        order = heapq.nsmallest(limit, rows, key=lambda row: (-instant(row.created_at), row.id))
        return [row.id for row in order]

    def nearest(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        above: float,
        scope: Scope = EVERYTHING,
        exclude: str = "",
    ) -> Sequence[Scored]:
        """Rank by cosine."""
        inside = {entry.row.id for entry in self._within(scope)} - {exclude}
        scored = (
            Scored(id, cosine(vector, other)) for id, other in self._rows.vectors() if id in inside
        )
        near = (found for found in scored if found.score >= above)
        return heapq.nsmallest(limit, near, key=lambda found: (-found.score, found.id))


def _newness(row: Row) -> tuple[float, int]:
    return (instant(row.created_at), row.rowid)


def _best(scored: Iterable[tuple[float, Row]], limit: int) -> list[Scored]:
    found = ((score, row) for score, row in scored if score > 0)
    best = heapq.nsmallest(limit, found, key=lambda pair: keyword_order(*pair))
    return [Scored(row.id, score) for score, row in best]

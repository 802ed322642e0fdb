"""Insights and edges read from ``mnemon.db`` (spec/mnemon-native.md §2.1)."""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, Final

from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderNotFound

from dsh_mnemon_provider_mnemon_native._instants import instant
from dsh_mnemon_provider_mnemon_native._json import list_of
from dsh_mnemon_provider_mnemon_native._records import Edge, Row
from dsh_mnemon_provider_mnemon_native._store.schema import columns_of
from dsh_mnemon_provider_mnemon_native._vectors import unpack

__all__ = ("COLUMNS", "Rows", "row_of")

_logger = logging.getLogger(__name__)

COLUMNS: Final = (
    "rowid",
    "id",
    "content",
    "category",
    "importance",
    "tags",
    "entities",
    "source",
    "access_count",
    "created_at",
    "updated_at",
    "stored_at",
    "deleted_at",
    "last_accessed_at",
    "effective_importance",
)
"""What `row_of` reads, in this order; always named, for old files have another order."""

# The `+` below keeps SQLite from reading all active rows for a list of more than a few ids.
_CHUNK: Final = 500
_EDGE: Final = "rowid, source_id, target_id, edge_type, weight, metadata, created_at"


def _strings(text: str | None) -> tuple[str, ...]:
    if text == "[]" or not text:
        return ()
    try:
        values = list_of(json.loads(text))
    except ValueError:
        return ()
    return tuple(value for value in values if isinstance(value, str))


def _time(text: str | None) -> str | None:
    with suppress(ValueError):
        if text is not None:
            instant(text)
            return text
    return None


def row_of(values: Sequence[Any]) -> Row:
    """Make a `Row` of the values of `COLUMNS`.

    Raises:
        ValueError: ``created_at`` or ``updated_at`` is no time.
    """
    rowid, id, content, category, importance, tags, entities, source, accesses = values[:9]
    created, updated, stored, deleted, accessed, effective = values[9:]
    instant(created)
    if updated != created:
        instant(updated)
    return Row(
        rowid=rowid,
        id=id,
        content=content,
        category="general" if category is None else category,
        importance=3 if importance is None else importance,
        tags=_strings(tags),
        entities=_strings(entities),
        source="user" if source is None else source,
        access_count=accesses or 0,
        created_at=created,
        updated_at=updated,
        stored_at=stored,
        deleted_at=deleted,
        last_accessed_at=_time(accessed),
        effective_importance=0.5 if effective is None else effective,
    )


def _edge_of(values: Sequence[Any]) -> Edge:
    _, source, target, kind, weight, metadata, created = values
    return Edge(
        source_id=source,
        target_id=target,
        type=kind,
        weight=1.0 if weight is None else weight,
        metadata=metadata or "{}",
        created_at=created,
    )


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK))


class Rows:
    """Reads of one connection; a row whose times cannot be read is left out and reported once.

    Attributes:
        unreadable: Ids of the rows that were left out.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        present = columns_of(connection)
        # A read-only file of the old line lacks the younger columns.
        self.columns = ", ".join(
            name if name in present or name == "rowid" else f"NULL AS {name}" for name in COLUMNS
        )
        self._connection = connection
        self._vectors = "embedding" in present
        self.unreadable: set[str] = set()

    def select(self, tail: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Read rows; ``tail`` is what follows ``FROM insights`` and holds no outside text."""
        query = f"SELECT {self.columns} FROM insights {tail}"  # noqa: S608 - constant parts
        for values in self._connection.execute(query, parameters):
            try:
                yield row_of(values)
            except (TypeError, ValueError) as error:
                self._report(str(values[1]), error)

    def _report(self, id: str, error: Exception) -> None:
        if id not in self.unreadable:
            self.unreadable.add(id)
            _logger.warning("insight %s is left out: %s", id, error)

    def one(self, id: str) -> Row | None:
        """Return the active insight with this id."""
        return next(self.select("WHERE id = ? AND deleted_at IS NULL", (id,)), None)

    def require(self, id: str, role: str = "insight") -> Row:
        """Return the active insight with this id.

        Raises:
            ProviderNotFound: It is unknown or forgotten.
        """
        row = self.one(id)
        if row is None:
            raise ProviderNotFound(f"there is no {role} {id}", details={"id": id})
        return row

    def many(self, ids: Iterable[str]) -> dict[str, Row]:
        """Return the active ones among ``ids``."""
        found: dict[str, Row] = {}
        for chunk in _chunks(list(ids)):
            marks = ",".join("?" * len(chunk))
            tail = f"WHERE +deleted_at IS NULL AND id IN ({marks})"
            found.update((row.id, row) for row in self.select(tail, chunk))
        return found

    def in_order(self, ids: Sequence[str]) -> list[Row]:
        """Return the active ones among ``ids``, in their order."""
        found = self.many(ids)
        return [found[id] for id in ids if id in found]

    def vector(self, id: str) -> Sequence[float] | None:
        """Return an insight's vector, where there is a readable one."""
        if not self._vectors:
            return None
        query = "SELECT embedding FROM insights WHERE id = ?"
        found = self._connection.execute(query, (id,)).fetchone()
        return unpack(found[0]) if found else None

    def vectors(self) -> Iterator[tuple[str, Sequence[float]]]:
        """Read every vector of an active insight."""
        if not self._vectors:
            return
        query = "SELECT id, embedding FROM insights WHERE deleted_at IS NULL AND embedding NOTNULL"
        for id, blob in self._connection.execute(query):
            vector = unpack(blob)
            if vector is not None:
                yield id, vector

    def without_vector(self) -> Iterator[tuple[str, str]]:
        """Yield id and content of active insights without a vector, important ones first."""
        yield from self._connection.execute(
            "SELECT id, content FROM insights WHERE deleted_at IS NULL AND embedding IS NULL"
            " ORDER BY importance DESC, created_at DESC"
        )

    def incident(self, id: str) -> list[Edge]:
        """Return the edges from and to one insight, in the order they were written."""
        # Two index look-ups; OR would make SQLite sort what is nearly sorted anyway.
        query = (
            f"SELECT {_EDGE} FROM edges WHERE source_id = ?1 UNION ALL"  # noqa: S608 - constant
            f" SELECT {_EDGE} FROM edges WHERE target_id = ?1 AND source_id <> ?1"
        )
        found = self._connection.execute(query, (id,)).fetchall()
        return [_edge_of(values) for values in sorted(found)]

    def arcs(self, id: str, type: str | None = None) -> list[tuple[str, str]]:
        """Return the other ends and the types of the edges around one insight, like `incident`."""
        found = self._connection.execute(
            "SELECT rowid, target_id, edge_type FROM edges WHERE source_id = ?1 UNION ALL"
            " SELECT rowid, source_id, edge_type FROM edges"
            " WHERE target_id = ?1 AND source_id <> ?1",
            (id,),
        ).fetchall()
        found.sort()
        return [(other, kind) for _, other, kind in found if type in {None, kind}]

    def outgoing(self, ids: Sequence[str]) -> list[Edge]:
        """Return the edges that begin at some insights, in the order they were written."""
        found: list[tuple[Any, ...]] = []
        for chunk in _chunks(ids):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT {_EDGE} FROM edges WHERE source_id IN ({marks})"  # noqa: S608 - marks
            found += self._connection.execute(query, chunk)
        return [_edge_of(values) for values in sorted(found)]

    def active(self, ids: Iterable[str]) -> Iterator[str]:
        """Yield those of ``ids`` that are active insights."""
        for chunk in _chunks(list(set(ids))):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT id FROM insights WHERE +deleted_at IS NULL AND id IN ({marks})"  # noqa: S608
            yield from (id for (id,) in self._connection.execute(query, chunk))

    def degree(self, id: str) -> int:
        """Count the edges from and to one insight; an edge to itself counts twice."""
        query = (
            "SELECT (SELECT count(*) FROM edges WHERE source_id = ?1)"
            " + (SELECT count(*) FROM edges WHERE target_id = ?1)"
        )
        (count,) = self._connection.execute(query, (id,)).fetchone()
        return int(count)

    def newest(self, *, exclude: str, limit: int, since: str) -> list[tuple[str, str]]:
        """Return id and time of the newest active others, not before ``since``.

        Newest by ``created_at``, then by rowid; the index holds such ties the other way round.
        """
        select = "SELECT id, created_at FROM insights INDEXED BY idx_insights_active_created"
        execute = self._connection.execute
        found: list[tuple[str, str]] = execute(
            f"{select} WHERE deleted_at IS NULL AND created_at >= ?"
            " ORDER BY created_at DESC LIMIT ?",
            (since, limit + 1),
        ).fetchall()
        times = dict.fromkeys(time for _, time in found)
        if len(times) < len(found):
            tied = (
                f"{select} WHERE deleted_at IS NULL AND created_at = ? ORDER BY rowid DESC LIMIT ?"
            )
            found = [row for time in times for row in execute(tied, (time, limit + 1))]
        return [(id, time) for id, time in found if id != exclude][:limit]

    def newest_of(self, source: str, *, exclude: str, limit: int) -> list[tuple[str, str]]:
        """Return id and content of the newest active others of one source, like `newest`."""
        return self._connection.execute(
            "SELECT id, content FROM insights INDEXED BY idx_insights_active_source_created"
            " WHERE deleted_at IS NULL AND source = ? AND id <> ?"
            " ORDER BY created_at DESC, rowid DESC LIMIT ?",
            (source, exclude, limit),
        ).fetchall()

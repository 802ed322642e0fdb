"""Insights and edges read from ``mnemon.db`` (spec/mnemon-native.md §2.1)."""

from __future__ import annotations

import json
import logging
import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderNotFound

from dsh_mnemon_provider_mnemon_native._instants import instant
from dsh_mnemon_provider_mnemon_native._json import list_of
from dsh_mnemon_provider_mnemon_native._records import Edge, Row
from dsh_mnemon_provider_mnemon_native._store.schema import columns_of
from dsh_mnemon_provider_mnemon_native._vectors import unpack

__all__ = ("COLUMNS", "EDGE_COLUMNS", "Rows", "edge_of", "edges_of", "row_of")

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

EDGE_COLUMNS: Final = "rowid, source_id, target_id, edge_type, weight, metadata, created_at"
"""What `edge_of` reads, in this order."""


def _text(name: str, value: Any) -> str:
    """Return a value that is text; a BLOB, and text that is no UTF-8, come as bytes."""
    if not isinstance(value, str):
        raise TypeError(f"{name} is no text")
    return value


def _whole(name: str, value: Any) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{name} is no whole number")
    return value


def _strings(name: str, value: Any) -> tuple[str, ...]:
    if value == "[]" or not value:
        return ()
    try:
        values = list_of(json.loads(_text(name, value)))
    except (ValueError, RecursionError):
        return ()
    return tuple(value for value in values if isinstance(value, str) and _is_unicode(value))


def _is_unicode(text: str) -> bool:
    """Whether a text holds no half characters, which JSON can escape (D52)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _time(value: Any) -> str | None:
    with suppress(ValueError):
        if isinstance(value, str):
            instant(value)
            return value
    return None


def row_of(values: Sequence[Any]) -> Row:
    """Make a `Row` of the values of `COLUMNS`.

    Raises:
        TypeError: A value is not of the type it must have.
        ValueError: ``created_at`` or ``updated_at`` is no time.
    """
    rowid, id, content, category, importance, tags, entities, source, accesses = values[:9]
    created, updated, stored, deleted, accessed, effective = values[9:]
    instant(_text("created_at", created))
    if updated != created:
        instant(_text("updated_at", updated))
    return Row(
        rowid=rowid,
        id=_text("id", id),
        content=_text("content", content),
        category="general" if category is None else _text("category", category),
        importance=3 if importance is None else _whole("importance", importance),
        tags=_strings("tags", tags),
        entities=_strings("entities", entities),
        source="user" if source is None else _text("source", source),
        access_count=accesses if isinstance(accesses, int) else 0,
        created_at=created,
        updated_at=updated,
        stored_at=stored if isinstance(stored, str) else None,
        deleted_at=deleted,
        last_accessed_at=_time(accessed),
        effective_importance=effective if isinstance(effective, (int, float)) else 0.5,
    )


def edge_of(values: Sequence[Any]) -> Edge:
    """Make an `Edge` of the values of `EDGE_COLUMNS`.

    Raises:
        TypeError: A value is not of the type it must have.
        ValueError: The weight is infinite, or ``created_at`` no time.
    """
    _, source, target, kind, weight, metadata, created = values
    if weight is None:
        weight = 1.0
    elif not math.isfinite(weight):
        raise ValueError("weight is infinite")
    instant(_text("created_at", created))
    return Edge(
        source_id=_text("source_id", source),
        target_id=_text("target_id", target),
        type=_text("edge_type", kind),
        weight=weight,
        metadata="{}" if metadata is None else _text("metadata", metadata) or "{}",
        created_at=created,
    )


def edges_of(found: Iterable[Sequence[Any]]) -> Iterator[Edge]:
    """Make edges of rows of `EDGE_COLUMNS`; one that cannot be read is left out."""
    for values in found:
        with suppress(TypeError, ValueError):
            yield edge_of(values)


def _rowid(values: Sequence[Any]) -> int:
    rowid: int = values[0]
    return rowid


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (ids[start : start + _CHUNK] for start in range(0, len(ids), _CHUNK))


class Rows:
    """Reads of one connection; what cannot be read is left out, an insight reported once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        present = columns_of(connection)
        # A read-only file of the old line lacks the younger columns.
        self.columns = ", ".join(
            name if name in present or name == "rowid" else f"NULL AS {name}" for name in COLUMNS
        )
        self._connection = connection
        self._vectors = "embedding" in present
        self._reported: set[int] = set()

    def select(self, tail: str, parameters: Sequence[Any] = ()) -> Iterator[Row]:
        """Read rows; ``tail`` is what follows ``FROM insights`` and holds no outside text."""
        query = f"SELECT {self.columns} FROM insights {tail}"  # noqa: S608 - constant parts
        for values in self._connection.execute(query, parameters):
            try:
                yield row_of(values)
            except (TypeError, ValueError) as error:
                self._report(values[0], error)

    def _report(self, rowid: int, error: Exception) -> None:
        if rowid not in self._reported:
            self._reported.add(rowid)
            _logger.warning("the insight of row %s is left out: %s", rowid, error)

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

    def incident(self, id: str) -> list[Edge]:
        """Return the edges from and to one insight, in the order they were written."""
        # Two index look-ups; OR would make SQLite sort what is nearly sorted anyway.
        query = (
            f"SELECT {EDGE_COLUMNS} FROM edges WHERE source_id = ? UNION ALL"  # noqa: S608 - constant
            f" SELECT {EDGE_COLUMNS} FROM edges WHERE target_id = ? AND source_id <> ?"
        )
        found = self._connection.execute(query, (id, id, id)).fetchall()
        return list(edges_of(sorted(found, key=_rowid)))

    def arcs(self, id: str, type: str | None = None) -> list[tuple[str, str]]:
        """Return the other ends and the types of the edges around one insight, like `incident`."""
        return [
            (edge.target_id if edge.source_id == id else edge.source_id, edge.type)
            for edge in self.incident(id)
            if type in {None, edge.type}
        ]

    def outgoing(self, ids: Sequence[str]) -> tuple[list[Edge], int]:
        """Return the edges that begin at some insights, as written, and how many are unreadable."""
        found: list[tuple[Any, ...]] = []
        for chunk in _chunks(ids):
            marks = ",".join("?" * len(chunk))
            query = f"SELECT {EDGE_COLUMNS} FROM edges WHERE source_id IN ({marks})"  # noqa: S608 - marks
            found += self._connection.execute(query, chunk)
        edges = list(edges_of(sorted(found, key=_rowid)))
        return edges, len(found) - len(edges)

    def degree(self, id: str) -> int:
        """Count the edges from and to one insight; an edge to itself counts twice."""
        query = (
            "SELECT (SELECT count(*) FROM edges WHERE source_id = ?)"
            " + (SELECT count(*) FROM edges WHERE target_id = ?)"
        )
        (count,) = self._connection.execute(query, (id, id)).fetchone()
        return int(count)

    def newest(self, *, exclude: str, limit: int, since: str) -> list[tuple[str, str]]:
        """Return id and time of the newest active others, not before ``since``.

        Newest by ``created_at``, then by rowid; the index holds such ties the other way round.
        """
        active = "INDEXED BY idx_insights_active_created WHERE deleted_at IS NULL"
        # No LIMIT in SQL: what cannot be read must not take a place.
        late = self.select(f"{active} AND created_at >= ? ORDER BY created_at DESC", (since,))
        found = list(islice(late, limit + 1))
        times = dict.fromkeys(row.created_at for row in found)
        if len(times) < len(found):
            tied = f"{active} AND created_at = ? ORDER BY rowid DESC"
            found = [row for time in times for row in islice(self.select(tied, (time,)), limit + 1)]
        return [(row.id, row.created_at) for row in found if row.id != exclude][:limit]

    def newest_of(self, source: str, *, exclude: str, limit: int) -> list[tuple[str, str]]:
        """Return id and content of the newest active others of one source, like `newest`."""
        found = self.select(
            "INDEXED BY idx_insights_active_source_created"
            " WHERE deleted_at IS NULL AND source = ? AND id <> ?"
            " ORDER BY created_at DESC, rowid DESC",
            (source, exclude),
        )
        return [(row.id, row.content) for row in islice(found, limit)]

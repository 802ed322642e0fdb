"""Insights and edges page by page, and counts of a whole store (spec/mnemon-native.md §12, §13)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import EntityCount, SpaceStats
from dsh_mnemon_source_memory_spaces.provider_sdk.cursor import read_cursor, write_cursor

from dsh_mnemon_provider_mnemon_native._ranking import EVERYTHING, Scope
from dsh_mnemon_provider_mnemon_native._records import Edge, Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._store.transaction import Session

__all__ = (
    "GraphPage",
    "RowPage",
    "entity_counts",
    "graph_page",
    "like",
    "list_page",
    "stats",
    "unreadable",
)

_LOOKED_AT: Final = 10_000
"""How many rows one page looks at, at most, when few of them fit."""

_TOP_ENTITIES: Final = 20

_EDGE_IS_SOUND: Final = (
    "typeof(source_id) = 'text' AND typeof(target_id) = 'text'"
    " AND typeof(weight) IN ('real', 'integer', 'null') AND coalesce(abs(weight), 0) < 9e999"
    " AND typeof(metadata) IN ('text', 'null')"
    " AND typeof(created_at) = 'text' AND julianday(replace(created_at, ',', '.')) NOTNULL"
)
"""As `edge_of` judges, as far as SQL can: it knows no text that is not UTF-8."""

_ESCAPED: Final = re.compile(r"[\\%_]")

_GRAPH: Final = ["graph"]
"""What a page of the graph answers; see `write_cursor`."""


@attrs.frozen(kw_only=True)
class RowPage:
    """One page of insights; without ``next_cursor`` it is the last.

    Attributes:
        unreadable: How many active insights of the store are left out, for they cannot be read.
    """

    rows: tuple[Row, ...]
    next_cursor: str | None = None
    unreadable: int = 0


@attrs.frozen(kw_only=True)
class GraphPage:
    """One page of a graph: the newest insights first, and the edges that begin at them.

    Attributes:
        unreadable: How many of these edges are left out, for they cannot be read.
    """

    rows: tuple[Row, ...]
    edges: tuple[Edge, ...]
    next_cursor: str | None = None
    unreadable: int = 0


def list_page(
    rows: Rows, *, limit: int, scope: Scope = EVERYTHING, query: str = "", cursor: str | None = None
) -> RowPage:
    """Return active insights, important ones first, then new ones.

    Args:
        rows: Where to read.
        limit: Most insights of the page.
        scope: Which insights.
        query: Text that must occur in content or id, in any case.
        cursor: What the page before answered.

    Raises:
        InputError: ``cursor-invalid``.
    """
    question = ["list", query, scope.category, scope.source]
    place = None if cursor is None else read_cursor(question, cursor, int, str, int)
    found: list[Row] = []
    wanted, end = query.lower(), list[Any]()
    for looked_at, row in enumerate(_ranked_after(rows, scope, place)):
        if len(found) == limit or looked_at == _LOOKED_AT:
            return RowPage(rows=tuple(found), next_cursor=write_cursor(question, end))
        end = [row.importance, row.created_at, row.rowid]
        if wanted in row.content.lower() or wanted in row.id.lower():
            found.append(row)
    return RowPage(rows=tuple(found))


def _ranked_after(rows: Rows, scope: Scope, place: Sequence[Any] | None) -> Iterator[Row]:
    where, values = ["deleted_at IS NULL"], list[Any]()
    for column, value in (("category", scope.category), ("source", scope.source)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if place is not None:
        importance, created, rowid = place
        where.append(
            "importance <= ? AND (importance < ? OR created_at < ?"
            " OR (created_at = ? AND rowid > ?))"
        )
        values += [importance, importance, created, created, rowid]
    order = "ORDER BY importance DESC, created_at DESC, rowid"
    return rows.select(f"WHERE {' AND '.join(where)} {order}", values)


def like(
    rows: Rows, text: str, *, limit: int, scope: Scope = EVERYTHING, literal: bool = False
) -> list[Row]:
    """Return active insights whose content is LIKE ``%text%``, important ones first, then new.

    ASCII letters match in any case. ``%`` and ``_`` in the text match what they do in SQL, as they
    do for the command line tool; only themselves when ``literal``.
    """
    tail = (
        r"WHERE deleted_at IS NULL AND (? = '' OR content LIKE '%' || ? || '%' ESCAPE '\')"
        " AND (? IS NULL OR category = ?) AND (? IS NULL OR source = ?)"
        " ORDER BY importance DESC, created_at DESC, rowid"
    )
    pattern = _ESCAPED.sub(r"\\\g<0>", text) if literal else text.replace("\\", r"\\")
    values = (pattern, scope.category, scope.source)
    twice = [value for value in values for _ in range(2)]
    return list(islice(rows.select(tail, twice), limit))


def graph_page(session: Session, *, limit: int, cursor: str | None = None) -> GraphPage:
    """Return a page of active insights, newest first, and their outgoing edges to active ones.

    Raises:
        InputError: ``cursor-invalid``.
    """
    tail, values = "WHERE deleted_at IS NULL", list[Any]()
    if cursor is not None:
        created, rowid = read_cursor(_GRAPH, cursor, str, int)
        tail += " AND created_at <= ? AND (created_at < ? OR rowid < ?)"
        values = [created, created, rowid]
    tail += " ORDER BY created_at DESC, rowid DESC"
    found = list(islice(session.rows.select(tail, values), limit + 1))
    page, more = found[:limit], found[limit:]
    edges, unreadable = session.rows.outgoing([row.id for row in page])
    active = session.index.among({edge.target_id for edge in edges})
    return GraphPage(
        rows=tuple(page),
        edges=tuple(edge for edge in edges if edge.target_id in active),
        next_cursor=write_cursor(_GRAPH, [page[-1].created_at, page[-1].rowid]) if more else None,
        unreadable=unreadable,
    )


def entity_counts(session: Session, limit: int) -> Sequence[EntityCount]:
    """Return the entities that most active insights name, equal ones by name."""
    found = session.index.names(limit)
    return [EntityCount(entity=entity, count=count) for entity, count in found]


def unreadable(session: Session) -> int:
    """Count the active insights and the edges that cannot be read; looks at every edge."""
    query = f"SELECT count(*) FROM edges WHERE NOT ({_EDGE_IS_SOUND})"  # noqa: S608 - constant
    (edges,) = session.connection.execute(query).fetchone()
    return session.index.unreadable() + int(edges)


def stats(session: Session) -> SpaceStats:
    """Count what a store holds; insights that cannot be read are not among them."""
    (deleted, edges, logged) = session.connection.execute(
        "SELECT (SELECT count(*) FROM insights WHERE deleted_at NOTNULL),"
        " (SELECT count(*) FROM edges), (SELECT count(*) FROM oplog)"
    ).fetchone()
    categories = session.index.census()
    return SpaceStats(
        total_insights=sum(categories.values()),
        deleted_insights=deleted,
        edge_count=edges,
        oplog_count=logged,
        db_size_bytes=_size(session.path),
        by_category=dict(categories),
        top_entities=tuple(entity_counts(session, _TOP_ENTITIES)),
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0

"""Insights and edges page by page, and counts of a whole store (spec/mnemon-native.md §12, §13)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import digest
from dsh_mnemon_source_memory_spaces.provider_sdk import EntityCount, SpaceStats

from dsh_mnemon_provider_mnemon_native._ranking import EVERYTHING, Scope
from dsh_mnemon_provider_mnemon_native._records import Edge, Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._store.transaction import Session

__all__ = ("GraphPage", "RowPage", "entity_counts", "graph_page", "like", "list_page", "stats")

_LOOKED_AT: Final = 10_000
"""How many rows one page looks at, at most, when few of them fit."""

_TOP_ENTITIES: Final = 20


@attrs.frozen(kw_only=True)
class RowPage:
    """One page of insights; without ``next_cursor`` it is the last."""

    rows: tuple[Row, ...]
    next_cursor: str | None = None


@attrs.frozen(kw_only=True)
class GraphPage:
    """One page of a graph: the newest insights first, and the edges that begin at them."""

    rows: tuple[Row, ...]
    edges: tuple[Edge, ...]
    next_cursor: str | None = None


def _cursor(question: Sequence[Any], place: Sequence[Any]) -> str:
    text = json.dumps([digest(list(question))[:16], *place], separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _place(question: Sequence[Any], cursor: str, *kinds: type) -> list[Any]:
    """Return the place in a cursor.

    Raises:
        InputError: ``cursor-invalid``; it is none of ours, or of another question.
    """
    place: list[Any]
    try:
        bound, *place = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError):
        bound, place = None, []
    if bound != digest(list(question))[:16] or [type(value) for value in place] != list(kinds):
        raise InputError("cursor-invalid", "this cursor is not one of this query; begin again")
    return place


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
    question = ("list", query, scope.category, scope.source)
    place = None if cursor is None else _place(question, cursor, int, str, int)
    found: list[Row] = []
    wanted, end = query.lower(), list[Any]()
    for looked_at, row in enumerate(_ranked_after(rows, scope, place)):
        if len(found) == limit or looked_at == _LOOKED_AT:
            return RowPage(rows=tuple(found), next_cursor=_cursor(question, end))
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


def like(rows: Rows, pattern: str, *, limit: int, scope: Scope = EVERYTHING) -> list[Row]:
    """Return active insights whose content is LIKE ``%pattern%``, important ones first, then new.

    ``%`` and ``_`` in the pattern match what they do in SQL; ASCII letters match in any case.
    """
    tail = (
        "WHERE deleted_at IS NULL AND (?1 = '' OR content LIKE '%' || ?1 || '%')"
        " AND (?2 IS NULL OR category = ?2) AND (?3 IS NULL OR source = ?3)"
        " ORDER BY importance DESC, created_at DESC, rowid LIMIT ?4"
    )
    return list(rows.select(tail, (pattern, scope.category, scope.source, limit)))


def graph_page(rows: Rows, *, limit: int, cursor: str | None = None) -> GraphPage:
    """Return a page of active insights, newest first, and their outgoing edges to active ones.

    Raises:
        InputError: ``cursor-invalid``.
    """
    tail, values = "WHERE deleted_at IS NULL", list[Any]()
    if cursor is not None:
        created, rowid = _place(("graph",), cursor, str, int)
        tail += " AND created_at <= ? AND (created_at < ? OR rowid < ?)"
        values = [created, created, rowid]
    tail += " ORDER BY created_at DESC, rowid DESC LIMIT ?"
    found = list(rows.select(tail, (*values, limit + 1)))
    page, more = found[:limit], found[limit:]
    edges = rows.outgoing([row.id for row in page])
    active = set(rows.active(edge.target_id for edge in edges))
    return GraphPage(
        rows=tuple(page),
        edges=tuple(edge for edge in edges if edge.target_id in active),
        next_cursor=_cursor(("graph",), (page[-1].created_at, page[-1].rowid)) if more else None,
    )


def entity_counts(session: Session, limit: int, offset: int = 0) -> Sequence[EntityCount]:
    """Return the entities that most active insights name, equal ones by name."""
    found = session.connection.execute(
        "SELECT value, count(DISTINCT insights.id) AS named FROM insights, json_each("
        " CASE WHEN json_valid(entities) THEN entities ELSE '[]' END)"
        " WHERE deleted_at IS NULL AND entities <> '[]' AND type = 'text'"
        " GROUP BY value ORDER BY named DESC, value LIMIT ? OFFSET ?",
        (limit, offset),
    )
    return [EntityCount(entity=entity, count=count) for entity, count in found]


def stats(session: Session) -> SpaceStats:
    """Count what a store holds."""
    execute = session.connection.execute
    (active, deleted) = execute(
        "SELECT (SELECT count(*) FROM insights WHERE deleted_at IS NULL),"
        " (SELECT count(*) FROM insights WHERE deleted_at NOTNULL)"
    ).fetchone()
    (edges, logged) = execute(
        "SELECT (SELECT count(*) FROM edges), (SELECT count(*) FROM oplog)"
    ).fetchone()
    categories = execute(
        "SELECT category, count(*) FROM insights WHERE deleted_at IS NULL GROUP BY category"
        " ORDER BY category"
    )
    return SpaceStats(
        total_insights=active,
        deleted_insights=deleted,
        edge_count=edges,
        oplog_count=logged,
        db_size_bytes=_size(session.path),
        by_category=dict(categories.fetchall()),
        top_entities=tuple(entity_counts(session, _TOP_ENTITIES)),
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0

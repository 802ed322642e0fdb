"""The schema of ``mnemon.db`` and what a given file lacks of it (spec/mnemon-native.md §2)."""

from __future__ import annotations

import sqlite3
from typing import Final

import attrs

__all__ = (
    "EDGES_TABLE",
    "EDGE_INDEXES",
    "USER_VERSION",
    "Lack",
    "create",
    "is_foreign",
    "lack_of",
    "table_names",
)

USER_VERSION: Final = 1
"""``PRAGMA user_version`` of a store whose vectors are float32."""

_INSIGHTS: Final = """
CREATE TABLE IF NOT EXISTS insights (
    id           TEXT PRIMARY KEY,
    content      TEXT NOT NULL,
    category     TEXT DEFAULT 'general',
    importance   INTEGER DEFAULT 3,
    tags         TEXT DEFAULT '[]',
    entities     TEXT DEFAULT '[]',
    source       TEXT DEFAULT 'user',
    access_count INTEGER DEFAULT 0,
    stored_at    TEXT,
    created_at   TEXT NOT NULL,
    updated_at   TEXT NOT NULL,
    deleted_at   TEXT
)"""

EDGES_TABLE: Final = """
CREATE TABLE IF NOT EXISTS edges (
    source_id   TEXT NOT NULL,
    target_id   TEXT NOT NULL,
    edge_type   TEXT NOT NULL
        CHECK(edge_type IN ('temporal','semantic','causal','entity','supersedes')),
    weight      REAL DEFAULT 1.0,
    metadata    TEXT DEFAULT '{}',
    created_at  TEXT NOT NULL,
    PRIMARY KEY (source_id, target_id, edge_type),
    FOREIGN KEY (source_id) REFERENCES insights(id) ON DELETE CASCADE,
    FOREIGN KEY (target_id) REFERENCES insights(id) ON DELETE CASCADE
)"""

_OPLOG: Final = """
CREATE TABLE IF NOT EXISTS oplog (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    operation   TEXT NOT NULL,
    insight_id  TEXT,
    detail      TEXT DEFAULT '',
    created_at  TEXT NOT NULL
)"""

TABLES: Final = {"insights": _INSIGHTS, "edges": EDGES_TABLE, "oplog": _OPLOG}

EDGE_INDEXES: Final = {
    "idx_edges_source": "edges(source_id)",
    "idx_edges_target": "edges(target_id)",
    "idx_edges_type": "edges(edge_type)",
    "idx_edges_source_type": "edges(source_id, edge_type)",
    "idx_edges_target_type": "edges(target_id, edge_type)",
}

_ACTIVE: Final = "WHERE deleted_at IS NULL"
INDEXES: Final = {
    "idx_insights_category": "insights(category)",
    "idx_insights_deleted": "insights(deleted_at)",
    "idx_insights_active_created": f"insights(deleted_at, created_at DESC) {_ACTIVE}",
    "idx_insights_active_source_created": f"insights(source, created_at) {_ACTIVE}",
    "idx_insights_active_ranked": (
        f"insights(deleted_at, importance DESC, created_at DESC) {_ACTIVE}"
    ),
    **EDGE_INDEXES,
    "idx_oplog_created": "oplog(created_at)",
    "idx_insights_stored": "insights(stored_at)",
    "idx_insights_effective_imp": "insights(effective_importance)",
    "idx_prune_candidates": (
        "insights(deleted_at, importance, access_count, effective_importance)"
    ),
    "idx_prune_age_candidates": (
        "insights(deleted_at, importance, access_count, stored_at, effective_importance)"
    ),
}

DROPPED_INDEXES: Final = (
    "idx_insights_importance",
    "idx_insights_created",
    "idx_insights_source",
)

TRIGGER: Final = """
CREATE TRIGGER IF NOT EXISTS set_insight_stored_at
AFTER INSERT ON insights
WHEN NEW.stored_at IS NULL OR NEW.stored_at = ''
BEGIN
    UPDATE insights SET stored_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE id = NEW.id;
END"""

ADDED_COLUMNS: Final = {
    "last_accessed_at": "TEXT",
    "stored_at": "TEXT",
    "embedding": "BLOB",
    "effective_importance": "REAL DEFAULT 0.5",
}
"""Columns that later versions added, in the order they did."""

_FIRST_COLUMN_TEXT: Final = (
    "id content category importance tags entities source access_count created_at updated_at "
    "deleted_at"
)
_FIRST_COLUMNS: Final = frozenset(_FIRST_COLUMN_TEXT.split())


@attrs.frozen(kw_only=True)
class Lack:
    """What a file needs before it can be written; all empty for a complete one."""

    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    indexes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    trigger: bool = False
    vectors: bool = False
    edge_types: bool = False
    narratives: bool = False


def table_names(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the names of the file's tables, SQLite's own left out."""
    return _names(connection, "table")


def _names(connection: sqlite3.Connection, kind: str) -> frozenset[str]:
    query = "SELECT name FROM sqlite_master WHERE type = ? AND name NOT LIKE 'sqlite_%'"
    return frozenset(name for (name,) in connection.execute(query, (kind,)))


def columns_of(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the columns of ``insights``; none without such a table."""
    found = connection.execute("SELECT name FROM pragma_table_info('insights')")
    return frozenset(name for (name,) in found)


def is_foreign(connection: sqlite3.Connection) -> bool:
    """Whether the file holds tables of something else; an empty file is not foreign."""
    names = table_names(connection)
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application or (names and "insights" not in names):
        return True
    return bool(names) and not columns_of(connection) >= _FIRST_COLUMNS


def lack_of(connection: sqlite3.Connection) -> Lack:
    """Compare a file's schema with the present one; reads only."""
    tables, columns = table_names(connection), columns_of(connection)
    indexes = _names(connection, "index")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    missing = tuple(name for name in TABLES if name not in tables)
    return Lack(
        tables=missing,
        columns=tuple(name for name in ADDED_COLUMNS if name not in columns),
        indexes=tuple(name for name in INDEXES if name not in indexes),
        dropped=tuple(name for name in DROPPED_INDEXES if name in indexes),
        trigger="set_insight_stored_at" not in _names(connection, "trigger"),
        vectors=version < USER_VERSION,
        edge_types="edges" not in missing and not _knows_edge_types(connection),
        narratives="insights" not in missing and _has_narratives(connection),
    )


def _knows_edge_types(connection: sqlite3.Connection) -> bool:
    query = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'edges'"
    (sql,) = connection.execute(query).fetchone()
    return "'supersedes'" in sql and "'narrative'" not in sql


def _has_narratives(connection: sqlite3.Connection) -> bool:
    query = "SELECT 1 FROM insights WHERE category = 'narrative' AND deleted_at IS NULL LIMIT 1"
    return connection.execute(query).fetchone() is not None


def create(connection: sqlite3.Connection, lack: Lack) -> None:
    """Create the tables that are missing; the rest is the migration's."""
    for name in lack.tables:
        connection.execute(TABLES[name])

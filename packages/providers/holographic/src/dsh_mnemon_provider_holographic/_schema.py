"""The tables of a fact database, exactly those of the Hermes plugin (providers specification §6.2).

What is our own lies in two tables beside them; Hermes never looks there. ``user_version`` stays 0.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from functools import cache
from typing import Final, Literal, TypeAlias

__all__ = ("Layout", "create", "has_full_text", "has_table", "layout")

Layout: TypeAlias = Literal["empty", "partial", "complete", "foreign"]
"""No table at all, some of ours missing, all there, or somebody else's database."""

_TABLES: Final = (
    """
    CREATE TABLE IF NOT EXISTS facts (
        fact_id INTEGER PRIMARY KEY AUTOINCREMENT,
        content TEXT NOT NULL UNIQUE,
        category TEXT DEFAULT 'general',
        tags TEXT DEFAULT '',
        trust_score REAL DEFAULT 0.5,
        retrieval_count INTEGER DEFAULT 0,
        helpful_count INTEGER DEFAULT 0,
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
        hrr_vector BLOB
    )""",
    """
    CREATE TABLE IF NOT EXISTS entities (
        entity_id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        entity_type TEXT DEFAULT 'unknown',
        aliases TEXT DEFAULT '',
        created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
    )""",
    """
    CREATE TABLE IF NOT EXISTS fact_entities (
        fact_id INTEGER REFERENCES facts(fact_id),
        entity_id INTEGER REFERENCES entities(entity_id),
        PRIMARY KEY (fact_id, entity_id)
    )""",
    """
    CREATE TABLE IF NOT EXISTS memory_banks (
        bank_id INTEGER PRIMARY KEY AUTOINCREMENT,
        bank_name TEXT NOT NULL UNIQUE,
        vector BLOB NOT NULL,
        dim INTEGER NOT NULL,
        fact_count INTEGER DEFAULT 0,
        updated_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP
    )""",
    "CREATE TABLE IF NOT EXISTS dsh_meta (key TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE IF NOT EXISTS dsh_fact_meta (fact_id PRIMARY KEY, json TEXT)",
    "CREATE INDEX IF NOT EXISTS idx_facts_trust ON facts(trust_score DESC)",
    "CREATE INDEX IF NOT EXISTS idx_facts_category ON facts(category)",
    "CREATE INDEX IF NOT EXISTS idx_entities_name ON entities(name)",
)
_FULL_TEXT: Final = (
    """
    CREATE VIRTUAL TABLE facts_fts
        USING fts5(content, tags, content=facts, content_rowid=fact_id)""",
    # A table that is made later than its facts must learn of them.
    "INSERT INTO facts_fts(facts_fts) VALUES ('rebuild')",
)
_FORGET_OLD: Final = """
    INSERT INTO facts_fts(facts_fts, rowid, content, tags)
        VALUES ('delete', old.fact_id, old.content, old.tags);"""
_LEARN_NEW: Final = """
    INSERT INTO facts_fts(rowid, content, tags) VALUES (new.fact_id, new.content, new.tags);"""
_TRIGGERS: Final = (
    f"CREATE TRIGGER IF NOT EXISTS facts_ai AFTER INSERT ON facts BEGIN{_LEARN_NEW} END",
    f"CREATE TRIGGER IF NOT EXISTS facts_ad AFTER DELETE ON facts BEGIN{_FORGET_OLD} END",
    f"CREATE TRIGGER IF NOT EXISTS facts_au AFTER UPDATE ON facts"
    f" BEGIN{_FORGET_OLD}{_LEARN_NEW} END",
)

_WANTED: Final = {
    "facts": {
        "fact_id",
        "content",
        "category",
        "tags",
        "trust_score",
        "helpful_count",
        "created_at",
        "updated_at",
    },
    "entities": {"entity_id", "name", "aliases"},
    "fact_entities": {"fact_id", "entity_id"},
    "memory_banks": {"bank_name", "vector", "dim", "fact_count", "updated_at"},
    "facts_fts": {"content", "tags"},
}
_ADDED_LATER: Final = "hrr_vector"


def layout(connection: sqlite3.Connection) -> Layout:
    """Judge what a database holds; tables, columns and triggers of forks do not matter."""
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
    if not names:
        return "empty"
    if "facts" not in names:
        return "foreign"
    columns = {name: _columns(connection, name) for name in _WANTED if name in names}
    if any(not _WANTED[name] <= found for name, found in columns.items()):
        return "foreign"
    complete = columns.keys() == _WANTED.keys() and _ADDED_LATER in columns["facts"]
    return "complete" if complete else "partial"


def create(connection: sqlite3.Connection) -> None:
    """Add what is missing, inside the caller's transaction; what is there stays as it is."""
    for statement in _TABLES:
        connection.execute(statement)
    if _ADDED_LATER not in _columns(connection, "facts"):
        connection.execute(f"ALTER TABLE facts ADD COLUMN {_ADDED_LATER} BLOB")
    if not has_table(connection, "facts_fts"):
        for statement in _FULL_TEXT:
            connection.execute(statement)
    for statement in _TRIGGERS:
        connection.execute(statement)


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """Whether a table of this name exists at present."""
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (name,)).fetchone() is not None


@cache
def has_full_text() -> bool:
    """Whether this Python's SQLite was built with FTS5."""
    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5(content)")
        except sqlite3.OperationalError:
            return False
    return True


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}

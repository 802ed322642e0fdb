"""Older files get the present schema (spec/mnemon-native.md §2.3)."""

from __future__ import annotations

import logging
import sqlite3
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._store import migrations
from dsh_mnemon_provider_mnemon_native._store.schema import lack_of
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native.errors import StoreUnwritable

pytestmark = pytest.mark.requirement("native:migrations")

OLDEST = """
CREATE TABLE insights (id TEXT PRIMARY KEY, content TEXT NOT NULL, category TEXT DEFAULT 'general',
  importance INTEGER DEFAULT 3, tags TEXT DEFAULT '[]', entities TEXT DEFAULT '[]',
  source TEXT DEFAULT 'user', access_count INTEGER DEFAULT 0, created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL, deleted_at TEXT{columns});
CREATE TABLE edges (source_id TEXT NOT NULL, target_id TEXT NOT NULL, edge_type TEXT NOT NULL
  CHECK(edge_type IN ('temporal','semantic','causal','entity','narrative')),
  weight REAL DEFAULT 1.0, metadata TEXT DEFAULT '{{}}', created_at TEXT NOT NULL,
  PRIMARY KEY (source_id, target_id, edge_type));
CREATE INDEX idx_insights_source ON insights(source);
CREATE INDEX idx_edges_type ON edges(edge_type);
"""
TIME = "2026-01-02T03:04:05Z"


def make(path: Path, columns: str = "", *rows: dict[str, Any]) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(OLDEST.format(columns=columns))
    for row in rows:
        row = {"content": "old", "created_at": TIME, "updated_at": TIME, **row}
        marks = ", ".join("?" * len(row))
        connection.execute(
            f"INSERT INTO insights ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
        )
    connection.executemany(
        "INSERT INTO edges VALUES (?, ?, ?, 1.0, '{}', ?)",
        [
            ("b", "a", "narrative", TIME),
            ("a", "gone", "temporal", TIME),
            ("a", "b", "semantic", TIME),
        ],
    )
    connection.commit()
    connection.close()


def ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


async def test_the_oldest_file_gets_the_present_schema(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    make(path, "", {"id": "a"}, {"id": "b"}, {"id": "n", "category": "narrative"})
    store = make_store()
    counted = await store.status()
    assert (counted.total_insights, counted.deleted_insights) == (2, 1)
    await store.aclose()
    assert ask(path, "SELECT stored_at FROM insights WHERE id = 'a'") == [(TIME,)]
    # Narrative edges go, an orphan stays, the order too.
    assert ask(path, "SELECT source_id, target_id, edge_type FROM edges ORDER BY rowid") == [
        ("a", "gone", "temporal"),
        ("a", "b", "semantic"),
    ]
    connection = sqlite3.connect(path)
    lack = lack_of(connection)
    assert (lack.tables, lack.columns, lack.indexes, lack.dropped) == ((), (), (), ())
    assert not (lack.trigger)
    assert not (lack.vectors)
    assert not (lack.edge_types)
    assert not (lack.narratives)
    # What an old binary inserts gets its time from the trigger.
    connection.execute(
        "INSERT INTO insights (id, content, created_at, updated_at) VALUES ('x', 'y', ?, ?)",
        (TIME, TIME),
    )
    (stored,) = connection.execute("SELECT stored_at FROM insights WHERE id = 'x'").fetchone()
    assert stored.endswith("Z")
    connection.close()


async def test_vectors_of_the_old_line_become_float32(
    make_store: Callable[..., MnemonStore], path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    columns = ", embedding BLOB"
    doubles = struct.pack("<2d", 0.5, -2.0)
    odd, huge = b"\x01\x02\x03", struct.pack("<1d", 1e300)
    make(
        path,
        columns,
        {"id": "a", "embedding": doubles},
        {"id": "b", "embedding": odd},
        {"id": "c", "embedding": huge},
    )
    with caplog.at_level(logging.WARNING):
        await make_store().status()
    assert ask(path, "SELECT id, embedding FROM insights ORDER BY id") == [
        ("a", struct.pack("<2f", 0.5, -2.0)),
        ("b", odd),
        ("c", huge),
    ]
    assert [record.args for record in caplog.records[:2]] == [(2,), (3,)]
    assert ask(path, "PRAGMA user_version") == [(1,)]


async def test_a_failed_migration_leaves_the_file_as_it_was(
    make_store: Callable[..., MnemonStore], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(path, "", {"id": "a"})
    schema = "SELECT name, sql FROM sqlite_master ORDER BY name"
    before = ask(path, schema)

    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("SELECT no_such_function()")

    monkeypatch.setattr(migrations, "_rebuild_edges", fail)
    with pytest.raises(StoreUnwritable):
        await make_store().status()
    assert ask(path, schema) == before


async def test_opening_a_complete_file_writes_nothing(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    store = make_store()
    await store.remember(NewInsight(content="a note"))
    await store.aclose()
    before = path.read_bytes()  # noqa: ASYNC240 - a test
    store = make_store()
    await store.status()
    await store.aclose()
    assert path.read_bytes() == before  # noqa: ASYNC240 - a test


async def test_indexes_an_old_binary_made_again_go_when_nobody_writes(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    await make_store().status()
    index = "CREATE INDEX idx_insights_created ON insights(created_at)"
    names = "SELECT name FROM sqlite_master WHERE name = 'idx_insights_created'"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute(index)
    other.execute("BEGIN IMMEDIATE")
    busy = make_store()
    await busy.status()
    await busy.aclose()
    other.execute("COMMIT")
    assert ask(path, names) == [("idx_insights_created",)]
    await make_store().status()
    assert ask(path, names) == []
    other.close()

"""The tables of a file that others made, and what SQLite must be able to do (§6.2)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic import _schema
from dsh_mnemon_provider_holographic._client import Store
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderUnavailable


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "facts.db"


@pytest.fixture
def store(path: Path, store_of: Callable[[Path], Store]) -> Store:
    return store_of(path)


@pytest.mark.requirement("holographic:schema:missing")
def test_what_is_missing_is_added(path: Path, store: Store) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as old:
        old.executescript(
            "CREATE TABLE facts (fact_id INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT UNIQUE,"
            " category TEXT, tags TEXT, trust_score REAL, retrieval_count INTEGER,"
            " helpful_count INTEGER, created_at TEXT, updated_at TEXT, of_a_fork TEXT);"
            "INSERT INTO facts (content, of_a_fork) VALUES ('An old fact.', 'kept');"
            "CREATE TABLE of_a_fork (x);"
        )
    with store.reading() as connection:
        assert connection is not None
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (1,)
    with store.writing() as connection:
        connection.execute("INSERT INTO facts (content) VALUES ('A fact.')")
    with store.reading() as connection:
        assert connection is not None
        query = "SELECT rowid FROM facts_fts WHERE facts_fts MATCH 'old OR fact' ORDER BY 1"
        assert connection.execute(query).fetchall() == [(1,), (2,)]
        query = "SELECT hrr_vector, of_a_fork FROM facts WHERE fact_id = 1"
        assert connection.execute(query).fetchone() == (None, "kept")
        assert _schema.has_table(connection, "of_a_fork")


@pytest.mark.requirement("holographic:file:full-text")
def test_without_full_text_search_nothing_works(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _schema.has_full_text()
    monkeypatch.setattr(_schema, "has_full_text", lambda: False)
    with pytest.raises(ProviderUnavailable), store.writing():
        pytest.fail("a store without full-text search was opened")
    assert not store.path.parent.exists()


@pytest.mark.requirement("holographic:file:full-text")
def test_full_text_search_is_tried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bare(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            return super().execute(sql.replace("fts5", "no_such_module"), *parameters)

    real = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda name: real(name, factory=Bare))
    assert not _schema.has_full_text.__wrapped__()

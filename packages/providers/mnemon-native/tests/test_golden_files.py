"""Recorded files: opened, migrated, counted (spec/mnemon-native.md §2, §14)."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions

GOLDEN = Path(__file__).parent / "golden" / "mnemon-native"
FOLDERS = ["", "legacy", "embedded"]
EDGES = "SELECT source_id, target_id, edge_type, weight, metadata, created_at FROM edges"


def copied(tmp_path: Path, name: str) -> Path:
    path = tmp_path / "data" / "default" / "mnemon.db"
    path.parent.mkdir(parents=True)
    shutil.copy(GOLDEN / name / "store.db", path)
    return path


def last_status(name: str) -> dict[str, Any] | None:
    lines = (GOLDEN / name / "transcript.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if "status" in case["argv"][:2]]
    answers = [case["stdout_json"] for case in cases if "stdout_json" in case]
    return answers[-1] if answers else None


def ask(path: Path, query: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


@pytest.mark.requirement("native:golden:files")
@pytest.mark.parametrize("read_only", [True, False])
@pytest.mark.parametrize("name", FOLDERS)
async def test_a_recorded_store_counts_what_it_did(
    tmp_path: Path, name: str, read_only: bool
) -> None:
    path = copied(tmp_path, name)
    store = MnemonStore(path, StoreOptions(read_only=read_only))
    counted = await store.status()
    rows = (await store.list(limit=1_000)).rows
    await store.aclose()
    assert counted.total_insights == len(rows)
    expected = last_status(name)
    if expected is not None:
        for key in ("total_insights", "deleted_insights", "edge_count", "oplog_count"):
            assert getattr(counted, key) == expected[key], key
        assert counted.by_category == expected["by_category"]
    if read_only:
        assert path.read_bytes() == (GOLDEN / name / "store.db").read_bytes()


@pytest.mark.requirement("native:golden:legacy")
async def test_a_store_of_the_old_line_gets_the_present_schema(tmp_path: Path) -> None:
    path = copied(tmp_path, "legacy")
    present, before = GOLDEN / "store.db", ask(path, EDGES + " ORDER BY rowid")
    insights = ask(path, "SELECT id, content, created_at, deleted_at FROM insights ORDER BY rowid")
    store = MnemonStore(path, StoreOptions())
    await store.status()
    await store.link(insights[0][0], insights[1][0], type="supersedes")
    await store.aclose()
    schema = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
    expected = sqlite3.connect(f"file:{present}?mode=ro&immutable=1", uri=True)
    assert ask(path, schema) == expected.execute(schema).fetchall()
    expected.close()
    assert ask(path, EDGES + " ORDER BY rowid")[:-1] == before
    kept = ask(path, "SELECT id, content, created_at, deleted_at FROM insights ORDER BY rowid")
    assert kept == insights
    assert ask(path, "SELECT count(*) FROM insights WHERE stored_at <> created_at") == [(0,)]
    assert ask(path, "PRAGMA user_version") == [(1,)]

"""Rows read from a store, sound or not (spec/mnemon-native.md §2)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight

TIME = "2026-01-02T03:04:05Z"


def insert(path: Path, **columns: Any) -> None:
    """Write a row as another program would."""
    row = {"content": "foreign note", "created_at": TIME, "updated_at": TIME, **columns}
    connection = sqlite3.connect(path)
    marks = ", ".join("?" * len(row))
    connection.execute(
        f"INSERT INTO insights ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
    )
    connection.commit()
    connection.close()


@pytest.mark.requirement("native:times")
async def test_a_row_without_a_readable_time_is_left_out_and_reported(
    store: MnemonStore, path: Path
) -> None:
    await store.remember(NewInsight(content="a note"))
    insert(path, id="bad-created", created_at="yesterday")
    insert(path, id="bad-updated", updated_at="")
    insert(path, id="blob", created_at=b"\x00")
    insert(path, id="odd", created_at="2026-01-02T05:04:05.5+02:00", last_accessed_at="never")
    insert(path, id="spaced", deleted_at=None, updated_at="2026-01-02 03:04:05")
    found = await store.list(limit=10)
    assert [row.id for row in found.rows] == ["n1", "odd", "spaced"]
    assert await store.unreadable() == 3
    assert (await store.status()).total_insights == 3
    assert [row.id for row, _ in await store.search("foreign")] == ["odd", "spaced"]


async def test_missing_values_are_read_as_the_defaults(store: MnemonStore, path: Path) -> None:
    await store.status()
    insert(
        path,
        id="bare",
        category=None,
        importance=None,
        tags=None,
        entities="{broken",
        source=None,
        access_count=None,
        effective_importance=None,
    )
    insert(path, id="mixed", tags='["one", 2, "three"]', entities='{"no": "list"}')
    bare, mixed = await store.show("bare"), await store.show("mixed")
    assert (bare.category, bare.importance, bare.source, bare.access_count) == (
        "general",
        3,
        "user",
        0,
    )
    assert (bare.tags, bare.entities, bare.effective_importance) == ((), (), 0.5)
    assert (mixed.tags, mixed.entities) == (("one", "three"), ())


async def test_the_newest_come_by_time_then_by_insertion(
    make_store: Callable[..., MnemonStore], clock: Any
) -> None:
    store = make_store()
    for number in range(4):
        await store.remember(NewInsight(content=f"together {number}", source=str(number % 2)))
    clock.advance(seconds=5)
    await store.remember(NewInsight(content="later", source="1"))

    def newest(limit: int, since: str = "") -> list[str]:
        rows: Rows = store._open.session.rows  # type: ignore[union-attr]
        return [id for id, _ in rows.newest(exclude="n5", limit=limit, since=since)]

    assert await store._worker.run(lambda: newest(3)) == ["n4", "n3", "n2"]
    assert await store._worker.run(lambda: newest(9)) == ["n4", "n3", "n2", "n1"]
    assert await store._worker.run(lambda: newest(9, "2026-11-30T12:00:05Z")) == []

    def of_source() -> list[str]:
        rows: Rows = store._open.session.rows  # type: ignore[union-attr]
        return [id for id, _ in rows.newest_of("1", exclude="n4", limit=5)]

    assert await store._worker.run(of_source) == ["n5", "n2"]

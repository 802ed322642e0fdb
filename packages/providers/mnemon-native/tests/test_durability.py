"""What is acknowledged is on the disk (spec/mnemon-native.md §2.6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight

pytestmark = pytest.mark.requirement("native:durable")

NORMAL, FULL = 1, 2


@pytest.fixture
async def levels(store: MnemonStore) -> list[int]:
    """Record how each commit is synced."""
    noted: list[int] = []
    await store.status()
    session = store._open.session  # type: ignore[union-attr]

    def note(_: object) -> None:
        noted.append(session.connection.execute("PRAGMA synchronous").fetchone()[0])

    session.after_commit = note
    return noted


WRITES: dict[str, Callable[[MnemonStore], Awaitable[object]]] = {
    "remember": lambda store: store.remember(NewInsight(content="a note")),
    "original": lambda store: store.remember(NewInsight(content="a note", exact=True)),
    "originals": lambda store: store.remember_many([NewInsight(content="a note")]),
    "import": lambda store: store.import_draft(checked([DraftInsight(content="a note")])),
    "link": lambda store: store.link("n1", "n2"),
    "forget": lambda store: store.forget("n1"),
}


@pytest.mark.parametrize("name", WRITES)
async def test_every_write_waits_for_the_disk(
    store: MnemonStore, levels: list[int], name: str
) -> None:
    for content in ("one", "two"):
        await store.remember(NewInsight(content=content))
    levels.clear()
    await WRITES[name](store)
    assert set(levels) == {FULL}


async def test_counting_accesses_waits_for_no_disk_and_the_next_write_does(
    store: MnemonStore, levels: list[int]
) -> None:
    await store.remember(NewInsight(content="a note"))
    await store.recall(Query(text="note"))
    await store.remember(NewInsight(content="another note"))
    assert levels == [FULL, NORMAL, FULL]


async def test_an_acknowledged_write_is_in_the_file_while_the_store_is_open(
    store: MnemonStore, path: Path
) -> None:
    await store.remember(NewInsight(content="seen by others"))
    other = sqlite3.connect(path)
    assert other.execute("SELECT content FROM insights").fetchall() == [("seen by others",)]
    other.close()

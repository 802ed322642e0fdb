"""One bad row or edge costs itself and nothing else (spec/mnemon-native.md §2.4)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._hybrid import HybridRanking
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native._write.retention import Retention
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftEdge, DraftInsight

pytestmark = pytest.mark.requirement("native:unreadable")

TIME = "2026-11-30T11:00:00Z"
NOT_UTF8 = "CAST(x'ff47' AS TEXT)"

BAD_ROWS = {
    **{f"{name} is no UTF-8": {name: NOT_UTF8} for name in ("content", "id", "tags", "entities")},
    **{f"{name} is no UTF-8": {name: NOT_UTF8} for name in ("category", "source", "created_at")},
    **{f"{name} is a BLOB": {name: "x'41'"} for name in ("content", "id", "tags", "source")},
    "no id": {"id": "NULL"},
    "no date": {"created_at": "'not a date'"},
    "no update": {"updated_at": "'not a date'"},
    "before the calendar": {"created_at": "'0001-01-01T00:00:00+14:00'"},
    "a word for a number": {"importance": "'high'"},
}
BAD_EDGES = {
    "a word for a weight": {"weight": "'heavy'"},
    "an infinite weight": {"weight": "9e999"},
    "a BLOB for a weight": {"weight": "x'41'"},
    "metadata is a BLOB": {"metadata": "x'41'"},
    "metadata is no UTF-8": {"metadata": NOT_UTF8},
    "no date": {"created_at": "'not a date'"},
    "the date is a BLOB": {"created_at": "x'41'"},
}
SILENT = {"metadata is no UTF-8"}
"""What SQL cannot tell is left out all the same, but not counted."""


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def insert(table: str, values: dict[str, str]) -> str:
    return f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(values.values())})"


def row(**values: str) -> str:
    sound = {"content": "'alpha bad because'", "created_at": f"'{TIME}'"}
    return insert("insights", {"id": "'bad'", "updated_at": f"'{TIME}'", **sound, **values})


def edge(source: str, target: str, kind: str, **values: str) -> str:
    sound = {"source_id": f"'{source}'", "target_id": f"'{target}'", "edge_type": f"'{kind}'"}
    return insert("edges", {**sound, "weight": "1.0", "created_at": f"'{TIME}'", **values})


async def works(store: MnemonStore, sound: set[str]) -> None:
    """Use everything there is, with only the sound insights in any answer."""
    for content in ("alpha one because", "alpha two because"):
        await store.remember(NewInsight(content=content, entities=("Atlas",)))
        sound |= {content}
    assert {one.content for one, _ in (await store.recall(Query(text="alpha why"))).rows} == sound
    assert {one.content for one, _ in await store.search("alpha")} == sound
    assert {one.content for one in await store.basic("")} == sound
    pages, cursor = list[str](), None
    while True:
        page = await store.graph(limit=1, cursor=cursor)
        pages += [one.content for one in page.rows]
        for link in page.edges:
            assert isinstance(link.weight, float)
            assert isinstance(link.metadata, str)
        cursor = page.next_cursor
        if cursor is None:
            break
    listed = (await store.list(limit=9)).rows
    assert set(pages) == {one.content for one in listed} == sound
    counted = await store.status()
    assert counted.total_insights == len(sound)
    assert counted.by_category == {"general": len(sound)}
    assert [one.entity for one in await store.entities(9)] == ["Atlas"]
    for one in listed:
        await store.related(one.id)
        assert await store.show(one.id) == one
    data = checked(
        [DraftInsight(content="alpha three"), DraftInsight(content="alpha four")],
        [DraftEdge(source_index=0, target_index=1, edge_type="causal", weight=0.5)],
    )
    assert (await store.import_draft(data)).count("added") == 2
    await store.link(listed[0].id, listed[1].id, type="causal")
    await store.forget(listed[0].id)
    found = {one.content for one, _ in await store.search("alpha")}
    assert found == (sound | {"alpha three", "alpha four"}) - {listed[0].content}


@pytest.mark.parametrize("ranking", [HybridRanking, CompatibleRanking])
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("bad", BAD_ROWS)
async def test_a_bad_row_is_left_out_and_counted(
    make_store: Callable[..., MnemonStore], path: Path, bad: str, running: bool, ranking: Any
) -> None:
    store = make_store(ranking=ranking, retention=Retention(max_insights=50))
    await store.remember(NewInsight(content="alpha zero"))
    if not running:
        await store.aclose()
    columns = BAD_ROWS[bad]
    run(path, row(**columns))
    if "id" not in columns:
        run(path, edge("n1", "bad", "causal"), edge("bad", "n1", "supersedes"))
        run(path, "DELETE FROM edges WHERE edge_type = 'supersedes'")
    assert await store.unreadable() == await store.left_out() == 1
    await works(store, {"alpha zero"})
    assert await store.unreadable() == 1


@pytest.mark.parametrize("ranking", [HybridRanking, CompatibleRanking])
@pytest.mark.parametrize("bad", BAD_EDGES)
async def test_a_bad_edge_is_left_out_and_counted(
    make_store: Callable[..., MnemonStore], path: Path, bad: str, ranking: Any
) -> None:
    store = make_store(ranking=ranking)
    await store.remember(NewInsight(content="alpha zero"))
    await store.remember(NewInsight(content="alpha other"))
    run(path, "DELETE FROM edges")
    for kind in ("causal", "semantic", "supersedes"):
        run(path, edge("n1", "n2", kind, **BAD_EDGES[bad]))
    assert (await store.graph(limit=9)).edges == ()
    assert await store.related("n1") == []
    found = {one.id: ranked for one, ranked in (await store.recall(Query(text="alpha"))).rows}
    assert found.keys() == {"n1", "n2"}
    assert not any(ranked.superseded for ranked in found.values())
    assert await store.unreadable() == (0 if bad in SILENT else 3)
    assert await store.left_out() == 0
    await works(store, {"alpha zero", "alpha other"})


async def test_what_is_merely_odd_is_read(store: MnemonStore, path: Path) -> None:
    await store.status()
    deep = "'" + "[" * 100_000 + "'"
    run(
        path,
        row(id="'half'", tags='\'["\\ud800", "fine"]\'', access_count="'often'"),
        row(id="'deep'", tags=deep, stored_at="x'41'", effective_importance="'much'"),
        row(id="'vector'", embedding="'a text'"),
    )
    half, deeply = await store.show("half"), await store.show("deep")
    assert (half.tags, half.access_count) == (("fine",), 0)
    assert (deeply.tags, deeply.stored_at, deeply.effective_importance) == ((), None, 0.5)
    assert {one.id for one, _ in await store.search("alpha")} == {"half", "deep", "vector"}
    assert await store.unreadable() == 0


async def test_what_cannot_be_read_can_be_forgotten_and_put_right(
    store: MnemonStore, path: Path
) -> None:
    await store.remember(NewInsight(content="alpha zero"))
    run(path, row(content="x'41'"), row(id="'other'", content="x'41'"))
    assert await store.left_out() == 2
    await store.forget("bad")
    assert await store.left_out() == 1
    run(path, "UPDATE insights SET content = 'alpha again' WHERE id = 'other'")
    assert {one.id for one, _ in await store.search("alpha")} == {"n1", "other"}
    assert await store.left_out() == 0


async def test_bad_rows_take_no_place_among_the_newest(store: MnemonStore, path: Path) -> None:
    await store.remember(NewInsight(content="alpha zero"))
    statements = [row(id=f"'b{number}'", created_at="'not a date'") for number in range(30)]
    run(path, *statements, "UPDATE insights SET source = 'user'")
    made = await store.remember(NewInsight(content="alpha one"))
    assert made.outcome.edges.temporal == 2
    linked = {step.row.id for step in await store.related("n2", depth=1)}
    assert linked == {"n1"}
    for one in (await store.list(limit=9)).rows:
        assert attrs.asdict(one)["created_at"] != "not a date"

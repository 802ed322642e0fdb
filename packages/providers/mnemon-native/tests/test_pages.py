"""Insights and edges page by page (spec/mnemon-native.md §6, §12, D45)."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._ranking import Scope
from dsh_mnemon_provider_mnemon_native._store import pages
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight

pytestmark = pytest.mark.requirement("native:pages")


@pytest.fixture
async def filled(make_store: Callable[..., MnemonStore]) -> MnemonStore:
    """Thirty insights with equal and unequal importance and times."""
    store = make_store()
    await store.import_draft(
        checked(
            [
                DraftInsight(
                    content=f"Note {number} of Atlas",
                    importance=number % 3 + 1,
                    category="fact" if number % 2 else "context",
                    created_at=f"2026-01-{number % 5 + 1:02}T00:00:00Z",
                    entities=("Atlas", f"Thing{number % 4}"),
                )
                for number in range(30)
            ]
        )
    )
    return store


async def all_pages(store: MnemonStore, limit: int, **more: Any) -> list[str]:
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list(limit=limit, cursor=cursor, **more)
        assert len(page.rows) <= limit
        found += [row.id for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            return found
        assert len(cursor) <= 2_000


@pytest.mark.parametrize("limit", [1, 4, 29, 30, 100])
async def test_pages_of_any_size_show_the_same_list(filled: MnemonStore, limit: int) -> None:
    rows = (await filled.list(limit=1_000)).rows
    order = sorted(rows, key=lambda r: (-r.importance, tuple(-ord(c) for c in r.created_at)))
    assert [row.id for row in rows] == [row.id for row in order]
    assert await all_pages(filled, limit) == [row.id for row in rows]


async def test_a_list_is_filtered_by_category_source_and_text(filled: MnemonStore) -> None:
    facts = await all_pages(filled, 4, scope=Scope(category="fact"))
    assert len(facts) == 15
    assert await all_pages(filled, 4, scope=Scope(source="nobody")) == []
    assert len(await all_pages(filled, 4, query="NOTE 1")) == 11
    assert await all_pages(filled, 4, query=facts[0].upper()) == [facts[0]]


async def test_a_page_looks_at_a_bounded_number_of_rows(
    filled: MnemonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "_LOOKED_AT", 7)
    page = await filled.list(limit=5, query="no such text")
    assert page.rows == ()
    assert page.next_cursor is not None
    assert len(await all_pages(filled, 5, query="Note 29")) == 1


@pytest.mark.parametrize("cursor", ["", "!", base64.urlsafe_b64encode(b"[1]").decode(), "W10="])
async def test_a_foreign_cursor_is_refused(filled: MnemonStore, cursor: str) -> None:
    page = await filled.list(limit=3)
    for attempt in (
        filled.list(limit=3, cursor=cursor),
        filled.list(limit=3, query="other", cursor=page.next_cursor),
        filled.graph(limit=3, cursor=page.next_cursor),
    ):
        with pytest.raises(InputError) as raised:
            await attempt
        assert raised.value.code == "cursor-invalid"


@pytest.mark.parametrize("limit", [4, 30, 100])
async def test_a_graph_in_pages_is_the_whole_graph(filled: MnemonStore, limit: int) -> None:
    await filled.forget("n3")
    whole = await filled.graph(limit=1_000)
    nodes: list[str] = []
    edges: set[tuple[str, str, str]] = set()
    cursor: str | None = None
    while True:
        page = await filled.graph(limit=limit, cursor=cursor)
        nodes += [row.id for row in page.rows]
        edges |= {(edge.source_id, edge.target_id, edge.type) for edge in page.edges}
        cursor = page.next_cursor
        if cursor is None:
            break
    assert nodes == [row.id for row in whole.rows]
    assert edges == {(edge.source_id, edge.target_id, edge.type) for edge in whole.edges}
    assert "n3" not in nodes
    assert all("n3" not in edge for edge in edges)


async def test_entities_are_counted_once_an_insight(filled: MnemonStore) -> None:
    await filled.remember(NewInsight(content="x", entities=("Twice", "Twice")))
    counts = {one.entity: one.count for one in await filled.entities(10)}
    assert counts == {"Atlas": 30, "Thing0": 8, "Thing1": 8, "Thing2": 7, "Thing3": 7, "Twice": 1}
    assert [one.entity for one in await filled.entities(2)] == ["Atlas", "Thing0"]


async def test_wildcards_act_in_basic_search(store: MnemonStore) -> None:
    for content in ("50% of a_b", "Ab or aXb", "nothing"):
        await store.remember(NewInsight(content=content))
    assert [row.content for row in await store.basic("A_B")] == ["50% of a_b", "Ab or aXb"]
    assert [row.content for row in await store.basic("%")] == ["50% of a_b", "Ab or aXb", "nothing"]
    assert len(await store.basic("", limit=2)) == 2
    assert [row.content for row in await store.basic("b", scope=Scope(category="fact"))] == []

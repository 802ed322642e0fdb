"""Drafts and their import (spec/mnemon-native.md §11)."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import isfinite
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction
from dsh_mnemon_provider_mnemon_native._write import batches
from dsh_mnemon_provider_mnemon_native._write.drafts import Draft, checked
from dsh_mnemon_provider_mnemon_native._write.limits import EXACT_BYTES, NewInsight
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput, StoreLocked
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftEdge, DraftInsight

pytestmark = pytest.mark.requirement("native:import")

ONE: dict[str, Any] = {"content": "one"}
TWO: dict[str, Any] = {"content": "two"}


def draft(*insights: dict[str, Any], edges: Any = (), **more: Any) -> Draft:
    return checked(
        [DraftInsight(**one) for one in insights], [DraftEdge(**one) for one in edges], **more
    )


def edge(**values: Any) -> dict[str, Any]:
    return {"source_index": 0, "target_index": 1, "edge_type": "causal", **values}


@pytest.mark.parametrize(
    ("insights", "edges", "field"),
    [
        ([], [], "insights"),
        ([{"content": ""}], [], "insights[0].content"),
        ([ONE, {"content": "x" * 8_001}], [], "insights[1].content"),
        ([{**ONE, "category": "idea"}], [], "insights[0].category"),
        ([{**ONE, "importance": 6}], [], "insights[0].importance"),
        ([{**ONE, "importance": -1}], [], "insights[0].importance"),
        ([{**ONE, "tags": ("x",) * 21}], [], "insights[0].tags"),
        ([{**ONE, "entities": ("x" * 201,)}], [], "insights[0].entities"),
        ([{**ONE, "created_at": "2026-01-01"}], [], "insights[0].created_at"),
        ([ONE], [edge()], "edges[0].target_index"),
        ([ONE, TWO], [edge(source_index=-1)], "edges[0].source_index"),
        ([ONE, TWO], [edge(source_index=1)], "edges[0].target_index"),
        ([ONE, TWO], [edge(edge_type="friend")], "edges[0].edge_type"),
        ([ONE, TWO], [edge(), edge(weight=1.5)], "edges[1].weight"),
    ],
)
def test_a_draft_is_judged_as_a_whole(insights: Any, edges: Any, field: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        draft(*insights, edges=edges)
    assert raised.value.details["field"] == field


def test_what_an_insight_does_not_say_comes_from_the_draft() -> None:
    first, second = draft(
        {"content": "  ", "importance": 0},
        {**ONE, "source": "own", "created_at": "2026-03-02T12:00:00.5+01:00"},
        source="draft",
    ).entries
    assert (first.insight.content, first.insight.importance) == ("  ", 3)
    assert (first.insight.category, first.insight.source) == ("general", "draft")
    assert (second.insight.source, second.created_at) == ("own", "2026-03-02T11:00:00Z")
    assert checked([DraftInsight(content="x")]).entries[0].insight.source == "import"
    assert checked([DraftInsight(content="x" * 8_192)], limit=EXACT_BYTES)


async def test_the_edges_of_the_calendar_are_imported_or_refused_by_place(
    store: MnemonStore,
) -> None:
    times = ("9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "2026-03-02T11:00:00Z")
    data = draft(*({"content": time, "created_at": time} for time in times), ONE)
    assert (await store.import_draft(data)).count("added") == 4
    await store.remember(NewInsight(content="now"))
    listed = (await store.list(limit=9)).rows
    assert {row.created_at for row in listed} > set(times)
    assert all(isfinite(row.effective_importance) for row in listed)
    for time in ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"):
        with pytest.raises(InvalidInput) as raised:
            draft(ONE, {**TWO, "created_at": time})
        assert raised.value.details["field"] == "insights[1].created_at"


async def test_repeats_are_skipped_and_their_edges_written_again(store: MnemonStore) -> None:
    data = draft(ONE, TWO, ONE, edges=[edge(reason="why", weight=0), edge(target_index=2)])
    first = await store.import_draft(data)
    assert [one.action for one in first.results.values()] == ["added", "added", "skipped"]
    assert first.results[2].id == first.results[0].id
    # An edge from an insight to itself is none.
    assert first.edges_inserted == 1
    again = await store.import_draft(data)
    assert (again.count("skipped"), again.edges_inserted) == (3, 1)
    causal = [e for e in (await store.graph(limit=9)).edges if e.type == "causal"]
    assert [(e.weight, e.metadata) for e in causal] == [(0.5, '{"reason":"why"}')]
    forced = await store.import_draft(draft(ONE, diff=False))
    assert forced.count("added") == 1


async def test_what_was_forgotten_comes_back_and_is_counted(store: MnemonStore) -> None:
    first = await store.import_draft(draft(ONE, TWO))
    assert first.brought_back == 0
    await store.forget(first.results[0].id)
    again = await store.import_draft(draft(ONE, TWO, ONE))
    assert (again.count("added"), again.count("skipped"), again.brought_back) == (1, 2, 1)
    assert (await store.import_draft(draft(ONE))).brought_back == 0


async def test_new_rows_take_their_place_in_the_chain(store: MnemonStore) -> None:
    def at(day: int) -> dict[str, str]:
        return {"content": f"day {day}", "source": "s", "created_at": f"2026-01-{day:02}T00:00:00Z"}

    await store.import_draft(draft(at(2), at(6)))
    await store.import_draft(draft(at(4), at(5), at(9), at(1)))
    rows = {row.id: row.content for row in (await store.list(limit=9)).rows}
    chain = {
        (rows[e.source_id], rows[e.target_id])
        for e in (await store.graph(limit=9)).edges
        if e.type == "temporal" and "precedes" in e.metadata
    }
    days = (1, 2, 4, 5, 6, 9)
    assert chain == {(f"day {a}", f"day {b}") for a, b in pairwise(days)}


async def test_a_long_import_is_many_transactions_with_others_between(
    make_store: Callable[..., MnemonStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "_HELD_SECONDS", 0.0)
    commits: list[int] = []
    store = make_store()
    await store.status()
    session = store._open.session  # type: ignore[union-attr]
    session.after_commit = lambda ids: commits.append(len(ids))
    data = draft(*[{"content": f"note {n}"} for n in range(12)], edges=[edge()])
    done = await store.import_draft(data)
    assert (done.count("added"), done.edges_inserted) == (12, 1)
    assert len(commits) > 12
    assert len((await store.graph(limit=50)).edges) >= 23


@pytest.mark.parametrize("failing", [0, 3, 12])
async def test_a_failure_keeps_what_is_committed_and_names_the_rest(
    store: MnemonStore, monkeypatch: pytest.MonkeyPatch, failing: int
) -> None:
    monkeypatch.setattr(batches, "_HELD_SECONDS", 0.0)
    edge_of, insert = Transaction.edge, Transaction.insert
    count = iter(range(100))

    def refuse(*arguments: Any, **more: Any) -> Any:
        if next(count) >= failing:
            raise StoreLocked("the store is locked")
        return insert(*arguments, **more)

    def refuse_edge(*arguments: Any) -> None:
        if failing == 12:
            raise StoreLocked("the store is locked")
        edge_of(*arguments)

    monkeypatch.setattr(Transaction, "insert", refuse)
    monkeypatch.setattr(Transaction, "edge", refuse_edge)
    data = draft(*[{"content": f"note{n}", "source": f"s{n}"} for n in range(12)], edges=[edge()])
    if failing == 0:
        with pytest.raises(StoreLocked):
            await store.import_draft(data)
        return
    done = await store.import_draft(data)
    assert done.count("added") == failing
    assert [fault.index for fault in done.faults] == (list(range(failing, 12)) or [0])
    assert done.edges_inserted == 0
    assert (await store.status()).total_insights == failing


async def test_an_import_of_originals_and_edges_of_every_kind(store: MnemonStore) -> None:
    insights = [DraftInsight(content=content) for content in ("one", "two")]
    edges = [
        DraftEdge(source_index=0, target_index=1, edge_type=kind, weight=1)
        for kind in ("temporal", "semantic", "causal", "entity", "supersedes")
    ]
    done = await store.import_draft(checked(insights, edges))
    assert done.edges_inserted == 5
    await store.remember(NewInsight(content="three"))
    assert {e.type for e in (await store.graph(limit=9)).edges} == {
        "temporal",
        "semantic",
        "causal",
        "entity",
        "supersedes",
    }

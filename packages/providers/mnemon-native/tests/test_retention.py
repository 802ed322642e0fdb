"""Weights and pruning (spec/mnemon-native.md §9)."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._write.decay import effective_importance
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native._write.retention import Retention
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.requirement("native:retention")


@given(st.integers(0, 6), st.integers(0, 10_000), st.floats(-1, 4_000), st.integers(0, 500))
def test_the_weight_follows_its_formula(
    importance: int, accesses: int, days: float, edges: int
) -> None:
    weight = effective_importance(importance, accesses, days, edges)
    base = {5: 1.0, 4: 0.8, 3: 0.5, 2: 0.3}.get(importance, 0.15)
    expected = base * max(1, math.log(1 + accesses)) * 0.5 ** (days / 30)
    assert weight == pytest.approx(expected * (1 + 0.1 * min(edges, 5)))
    # Use and connections never weaken, age never strengthens.
    assert effective_importance(importance, accesses + 1, days, edges + 1) >= weight
    assert effective_importance(importance, accesses, days + 30, edges) == pytest.approx(weight / 2)


async def test_nothing_is_pruned_by_default(store: MnemonStore, clock: Any) -> None:
    draft = checked([DraftInsight(content=f"note {n}", importance=1) for n in range(1_010)])
    await store.import_draft(draft)
    clock.advance(days=400)
    done = await store.remember(NewInsight(content="one more"))
    assert done.outcome.pruned == ()
    assert (await store.status()).total_insights == 1_011


async def test_the_weakest_old_insights_go_over_the_limit(
    make_store: Callable[..., MnemonStore], clock: Any
) -> None:
    store = make_store(retention=Retention(max_insights=3))
    await store.remember(NewInsight(content="important", importance=4))
    await store.remember_many([NewInsight(content="original", importance=1)])
    await store.remember(NewInsight(content="weakest", importance=1))
    await store.remember(NewInsight(content="weak", importance=2))
    assert (await store.status()).total_insights == 4, "young ones have a grace of a day"
    clock.advance(hours=25)
    done = await store.remember(NewInsight(content="new", importance=1))
    assert done.outcome.pruned == ("n3", "n4")
    left = {row.content for row in (await store.list(limit=9)).rows}
    assert left == {"important", "original", "new"}
    entry = next(entry for entry in await store.log() if entry.operation == "prune")
    assert entry.detail == ("auto-prune: over capacity (active=5, max=3, min_age=24h) trigger=n5")
    assert [row.content for row, _ in await store.search("weak")] == []


async def test_at_most_ten_go_at_once_and_an_import_prunes_too(
    make_store: Callable[..., MnemonStore], clock: Any
) -> None:
    store = make_store(retention=Retention(max_insights=1, grace=timedelta(0)))
    notes = [DraftInsight(content=f"note {number}", importance=1) for number in range(30)]
    done = await store.import_draft(checked(notes))
    assert len(done.pruned) == 10
    clock.advance(seconds=1)
    assert len((await store.import_draft(checked(notes[:1]))).pruned) == 10
    written = await store.remember_many([NewInsight(content="original")])
    assert written[0].action == "added"
    assert (await store.status()).total_insights == 2

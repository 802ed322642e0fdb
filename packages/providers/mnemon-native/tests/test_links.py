"""Joining, walking, forgetting, counting and the log (spec/mnemon-native.md §5.6, §8, §12)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native import _oplog
from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderNotFound


@pytest.fixture
async def chain(store: MnemonStore, clock: Any) -> MnemonStore:
    """Five insights far apart in time, each of a source of its own: no edges."""
    for name in "abcde":
        await store.remember(NewInsight(content=f"{name}{name}{name}", source=name))
        clock.advance(days=2)
    return store


@pytest.mark.requirement("native:link")
async def test_a_link_goes_both_ways_and_is_replaced(chain: MnemonStore) -> None:
    made = await chain.link("n1", "n2", weight=0.25, metadata={"reason": "因为"})
    assert made.metadata == {"reason": "因为", "created_by": "claude"}
    await chain.link("n2", "n1", type="semantic", weight=1)
    edges = (await chain.graph(limit=9)).edges
    assert [(edge.source_id, edge.target_id, edge.weight) for edge in edges] == [
        ("n2", "n1", 1.0),
        ("n1", "n2", 1.0),
    ]
    await chain.link("n3", "n4", type="supersedes")
    assert len((await chain.graph(limit=9)).edges) == 3
    assert (await chain.log(1))[0].detail == "n3→n4 type=supersedes weight=0.50"


@pytest.mark.requirement("native:link")
@pytest.mark.parametrize(
    ("ends", "options", "error"),
    [
        (("n1", "n2"), {"type": "friend"}, InvalidInput),
        (("n1", "n2"), {"weight": 1.01}, InvalidInput),
        (("n1", "n2"), {"weight": -0.01}, InvalidInput),
        (("n1", "n1"), {"type": "supersedes"}, InvalidInput),
        (("nobody", "n1"), {}, ProviderNotFound),
        (("n1", "nobody"), {}, ProviderNotFound),
    ],
)
async def test_a_senseless_link_is_refused(
    chain: MnemonStore, ends: tuple[str, str], options: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        await chain.link(*ends, **options)
    assert (await chain.graph(limit=9)).edges == ()


@pytest.mark.requirement("native:related")
async def test_a_walk_goes_outward_and_meets_each_once(chain: MnemonStore) -> None:
    await chain.link("n1", "n2", type="causal")
    await chain.link("n2", "n3", type="semantic")
    await chain.link("n3", "n4", type="causal")
    await chain.link("n1", "n3", type="supersedes")
    await chain.link("n1", "n1", type="semantic")

    async def walk(**options: Any) -> list[tuple[str, int, str]]:
        steps = await chain.related("n1", **options)
        return [(step.row.id, step.depth, step.via) for step in steps]

    first = [("n2", 1, "causal"), ("n3", 1, "supersedes")]
    assert await walk(depth=1) == first
    assert await walk() == [*first, ("n4", 2, "causal")]
    assert await walk(type="causal", depth=5) == [("n2", 1, "causal")]
    await chain.forget("n3")
    assert await walk(depth=5) == first[:1]


@pytest.mark.requirement("native:related")
async def test_a_senseless_walk_is_refused(chain: MnemonStore) -> None:
    with pytest.raises(ProviderNotFound):
        await chain.related("nobody")
    with pytest.raises(InvalidInput):
        await chain.related("n1", depth=0)
    with pytest.raises(InvalidInput):
        await chain.related("n1", type="friend")


@pytest.mark.requirement("native:forget")
async def test_a_forgotten_insight_is_in_no_read_and_its_row_stays(
    chain: MnemonStore, read_file: Callable[[str], list[Any]]
) -> None:
    await chain.link("n1", "n2")
    await chain.forget("n1")
    for missing in (chain.show("n1"), chain.forget("n1"), chain.forget("nobody")):
        with pytest.raises(ProviderNotFound):
            await missing
    assert "n1" not in [row.id for row in (await chain.list(limit=9)).rows]
    assert await chain.search("aaa") == []
    assert await chain.basic("aaa") == []
    assert (await chain.graph(limit=9)).edges == ()
    recalled = await chain.recall(Query(text="aaa"))
    assert "n1" not in [row.id for row, _ in recalled.rows]
    rows = read_file("SELECT content, deleted_at NOTNULL FROM insights WHERE id = 'n1'")
    assert rows == [("aaa", 1)]
    assert (await chain.status()).deleted_insights == 1


@pytest.mark.requirement("native:accesses")
async def test_what_a_search_returns_counts_as_accessed(chain: MnemonStore, clock: Any) -> None:
    await chain.search("aaa")
    await chain.basic("aaa")
    await chain.recall(Query(text="aaa", limit=1))
    row = await chain.show("n1")
    assert row.access_count == 3
    assert row.last_accessed_at == clock().strftime("%Y-%m-%dT%H:%M:%SZ")
    assert [(one.operation, one.detail) for one in await chain.log(3)] == [
        ("recall", "q=aaa hits=1"),
        ("recall:basic", "q=aaa hits=1"),
        ("search", "q=aaa hits=1"),
    ]


@pytest.mark.requirement("native:accesses")
async def test_counting_never_waits_long_nor_fails_a_search(
    make_store: Callable[..., MnemonStore], write_lock: Callable[[], Any]
) -> None:
    store = make_store(ranking=CompatibleRanking)
    await store.remember(NewInsight(content="aaa"))
    with write_lock():
        assert len(await store.search("aaa")) == 1
        assert (await store.show("n1")).access_count == 0
    assert len((await store.recall(Query(text="aaa"))).rows) == 1
    assert (await store.show("n1")).access_count == 1


@pytest.mark.requirement("native:limits")
async def test_limits_of_searches_are_at_least_one(chain: MnemonStore) -> None:
    for call in (
        chain.search("a", 0),
        chain.basic("a", 0),
        chain.recall(Query(text="a", limit=0)),
        chain.log(0),
    ):
        with pytest.raises(InvalidInput):
            await call


@pytest.mark.requirement("native:accesses")
async def test_the_log_keeps_the_newest_entries(
    store: MnemonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_oplog, "KEPT", 3)
    for number in range(5):
        await store.remember(NewInsight(content=f"note {number}"))
    assert [entry.detail for entry in await store.log(9)] == ["note 4", "note 3", "note 2"]

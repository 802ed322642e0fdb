"""The command line tool's ranking, apart from recorded cases (spec/mnemon-native.md §7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking, graph
from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_of, intent_override
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, Recalled
from dsh_mnemon_provider_mnemon_native._ranking import Query, Scope
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput

pytestmark = pytest.mark.requirement("native:compatible")


@pytest.mark.requirement("native:intent")
@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("", "GENERAL"),
        ("atlas backup", "GENERAL"),
        ("Why is the reason unclear", "WHY"),
        ("when and why", "GENERAL"),
        ("when, before or why", "WHEN"),
        ("what is the reason", "ENTITY"),
        ("whenever someone", "GENERAL"),
        ("数据库是什么", "ENTITY"),
        ("為什麼使用它", "WHY"),
        ("什麼時候發布", "WHEN"),
        ("क्यों किया", "WHY"),
        ("¿Por qué SQLite?", "WHY"),
        ("¿cuándo se publica?", "WHEN"),
        ("لماذا اخترنا", "WHY"),
        ("Pourquoi et quand", "GENERAL"),
        ("qu'est-ce que Atlas", "ENTITY"),
        ("অ্যাটলাস কী?", "ENTITY"),
        ("O que é isto", "ENTITY"),
        ("apa itu Atlas", "ENTITY"),
        ("почему и когда", "GENERAL"),
        ("Warum WAL", "WHY"),
        ("wannabe", "GENERAL"),
        ("pourquoi, because", "WHY"),
        ("pourquoi when", "GENERAL"),
        ('say "warum" please', "GENERAL"),
        ("say `wann` please", "GENERAL"),
    ],
)
def test_the_intent_is_read_from_cues(query: str, intent: str) -> None:
    assert intent_of(query) == intent


@pytest.mark.requirement("native:intent")
def test_an_intent_may_be_given() -> None:
    assert intent_override("why") == "WHY"
    assert intent_override("") is None
    with pytest.raises(InvalidInput):
        intent_override("WHERE")


@pytest.fixture
async def causes(make_store: Callable[..., MnemonStore], clock: Any) -> MnemonStore:
    store = make_store(ranking=CompatibleRanking)
    for number in range(6):
        await store.remember(
            NewInsight(
                content=f"outage step {number}",
                category="fact" if number % 2 else "decision",
                source=f"s{number}",
                importance=number % 5 + 1,
            )
        )
        clock.advance(days=3)
    return store


def order(recalled: Recalled) -> list[str]:
    return [row.id for row, _ in recalled.rows]


async def why(store: MnemonStore, limit: int = 6) -> list[str]:
    return order(await store.recall(Query(text="why outage", limit=limit)))


def causal(path: Path, *pairs: tuple[str, str]) -> None:
    connection = sqlite3.connect(path)
    connection.executemany(
        "INSERT INTO edges VALUES (?, ?, 'causal', 0.1, '{}', '2026-01-01T00:00:00Z')", pairs
    )
    connection.commit()
    connection.close()


async def test_causes_stand_before_their_effects(causes: MnemonStore, path: Path) -> None:
    causal(path, ("n1", "n2"), ("n2", "n3"), ("n3", "n6"))
    found = await why(causes)
    assert sorted(found) == [f"n{number}" for number in range(1, 7)]
    assert found.index("n1") < found.index("n2") < found.index("n3") < found.index("n6")


async def test_a_circle_of_causes_keeps_its_order_at_the_end(
    causes: MnemonStore, path: Path
) -> None:
    before = order(await causes.recall(Query(text="outage", limit=6)))
    assert len(before) == 6
    causal(path, ("n1", "n2"), ("n2", "n1"))
    found = await why(causes)
    assert sorted(found[-2:]) == ["n1", "n2"]
    assert len(found) == 6


async def test_a_filter_holds_for_every_step(causes: MnemonStore, path: Path) -> None:
    causal(path, ("n1", "n2"), ("n2", "n3"))
    scope = Scope(category="decision")
    found = await causes.recall(Query(text="outage", scope=scope))
    assert sorted(order(found)) == ["n1", "n3", "n5"]
    assert found.answer.traversed == 3
    nothing = await causes.recall(Query(text="outage", scope=Scope(source="nobody")))
    assert (order(nothing), nothing.answer.hint) == ([], "sparse_results")


async def test_what_is_superseded_counts_a_quarter(causes: MnemonStore) -> None:
    plain = await causes.recall(Query(text="outage step 5", limit=6))
    scores = {ranked.id: ranked.score for _, ranked in plain.rows}
    await causes.link("n1", "n6", type="supersedes")
    recalled = await causes.recall(Query(text="outage step 5", limit=6))
    ranked = {one.id: one for _, one in recalled.rows}
    assert ranked["n6"].superseded
    assert not ranked["n1"].superseded
    assert ranked["n6"].score < scores["n6"] / 2


async def test_commits_of_all_kinds_are_seen(causes: MnemonStore, path: Path) -> None:
    await causes.recall(Query(text="outage"))
    await causes.forget("n6")
    assert "n6" not in order(await causes.recall(Query(text="outage step 5")))
    await causes.remember(NewInsight(content="zebra outage"))
    assert order(await causes.recall(Query(text="zebra")))[0] == "n7"
    connection = sqlite3.connect(path)
    connection.execute("UPDATE insights SET deleted_at = updated_at WHERE id = 'n7'")
    connection.commit()
    connection.close()
    assert "n7" not in order(await causes.recall(Query(text="zebra")))


async def test_little_of_the_graph_is_kept(
    causes: MnemonStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for one in range(1, 6):
        await causes.link(f"n{one}", f"n{one + 1}")
    expected = order(await causes.recall(Query(text="outage step 3")))
    monkeypatch.setattr(graph, "_KEPT_ARCS", 2)
    await causes.link("n1", "n2")
    assert order(await causes.recall(Query(text="outage step 3"))) == expected

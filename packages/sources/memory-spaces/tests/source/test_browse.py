"""Browsing in pages: list, graph, entities (spec/sources.md §4.10, D45)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
import attrs
import pytest
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    Graph,
    GraphEdge,
    GraphNode,
    Insight,
    Page,
    ProviderAdapter,
    ProviderUnavailable,
    SearchAnswer,
    SpaceStats,
    SpaceStatus,
)
from dsh_mnemon_source_memory_spaces.testing.reference import ReferenceAdapter

Make = Callable[..., Any]
TIME = "2026-01-02T03:04:05.678Z"


async def pages(room: Any, operation: str, value: dict[str, Any], key: str) -> list[list[Any]]:
    """Read all pages."""
    found: list[list[Any]] = []
    cursor: str | None = None
    while True:
        page = await room.read(operation, {**value, **({"cursor": cursor} if cursor else {})})
        found.append([item.get("id", item.get("entity")) for item in page[key]])
        cursor = page.get("nextCursor")
        if cursor is None:
            return found
        assert len(cursor) <= 2_000


@pytest.fixture
async def full(room: Any) -> Any:
    """Two native Spaces of five memories each, and one of a third party with two."""
    for name in ("team", "crew"):
        space = await room.create(name)
        await room.keep(space, *[f"{name} {number}" for number in range(5)], category="fact")
    (log,) = await room.connect("beta")
    await room.keep(log, "log 0", "team log", category="context")
    return room


@pytest.mark.requirement("memory-spaces:browse:list")
class TestList:
    async def test_one_page_holds_everything_in_space_order(self, full: Any) -> None:
        page = await full.read("list")
        contents = [item["content"] for item in page["items"]]
        assert contents == [
            *[f"team {n}" for n in range(5)],
            *[f"crew {n}" for n in range(5)],
            "log 0",
            "team log",
        ]
        assert (page["total"], page["truncated"]) == (12, False)
        assert "nextCursor" not in page
        assert [(s["mode"], s["status"], s["itemCount"]) for s in page["sources"]] == [
            ("enumerable", "ready", 5), ("enumerable", "ready", 5), ("enumerable", "ready", 2),
        ]  # fmt: skip

    @pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13])
    async def test_pages_follow_each_other_without_loss(self, full: Any, limit: int) -> None:
        whole = (await pages(full, "list", {}, "items"))[0]
        found = await pages(full, "list", {"limit": limit}, "items")
        assert [item for page in found for item in page] == whole
        assert {len(page) for page in found[:-1]} <= {limit}
        assert len(found) == -(-len(whole) // limit)

    async def test_items_are_filtered_by_category_and_text(self, full: Any) -> None:
        found = await full.read("list", {"query": "TEAM", "category": "context"})
        assert [item["content"] for item in found["items"]] == ["team log"]

    async def test_a_provider_need_not_filter(self, room: Any) -> None:
        await room.create("team")
        items = (
            Insight(id="nox-1", content="a", category="fact"),
            Insight(id="b", content="has NOX", category="decision"),
            Insight(id="c", content="else", category="fact"),
        )
        room.native.answer("list", Page(items=items))
        by_text = await room.read("list", {"query": "Nox"})
        assert [item["id"] for item in by_text["items"]] == ["nox-1", "b"]
        by_category = await room.read("list", {"category": "fact"})
        assert [item["id"] for item in by_category["items"]] == ["nox-1", "c"]

    async def test_filtered_pages_are_filled_over_several_provider_pages(self, room: Any) -> None:
        space = await room.create("team")
        await room.keep(space, *[f"note {number}" for number in range(30)])

        async def listing(request: Any) -> Page:
            start = int(request.cursor or 0)
            items = tuple(room.native.namespaces[space].insights.values())[start : start + 3]
            return Page(items=items, next_cursor=str(start + 3) if start < 27 else None)

        adapter = room.source._memory.children.get("mnemon-native").adapter
        adapter.list = lambda _space, request: listing(request)
        found = await room.read("list", {"query": "note 2", "limit": 5})
        assert [item["content"] for item in found["items"]] == [
            "note 2", "note 20", "note 21", "note 22", "note 23",
        ]  # fmt: skip
        more = await room.read(
            "list", {"query": "note 2", "limit": 5, "cursor": found["nextCursor"]}
        )
        assert [item["content"] for item in more["items"]] == [f"note 2{n}" for n in range(4, 10)][
            :5
        ]

    async def test_an_answer_gives_up_after_many_empty_pages(self, room: Any) -> None:
        await room.create("team")
        turns: list[str | None] = []

        async def listing(request: Any) -> Page:
            turns.append(request.cursor)
            return Page(items=(), next_cursor=str(len(turns)))

        adapter = room.source._memory.children.get("mnemon-native").adapter
        adapter.list = lambda _space, request: listing(request)
        page = await room.read("list", {"query": "x"})
        assert (page["items"], len(turns)) == ([], 20)
        await room.read("list", {"query": "x", "cursor": page["nextCursor"]})
        assert turns[20] == "20"

    async def test_a_cursor_that_comes_again_ends_the_space(self, room: Any) -> None:
        await room.create("team")

        async def listing(_request: Any) -> Page:
            return Page(items=(Insight(id="a", content="x"),), next_cursor="same")

        adapter = room.source._memory.children.get("mnemon-native").adapter
        adapter.list = lambda _space, request: listing(request)
        page = await room.read("list")
        assert len(page["items"]) == 2
        assert "nextCursor" not in page

    @pytest.mark.parametrize("unreadable", [3, True, -1, "many"])
    async def test_what_the_provider_left_out_is_counted(self, room: Any, unreadable: Any) -> None:
        await room.create("team")
        page = Page(items=(Insight(id="a", content="x"),), unreadable=unreadable)
        room.native.answer("list", page)
        room.native.answer("search", SearchAnswer(results=page.items, unreadable=unreadable))
        count = 3 if unreadable == 3 else None
        for found in (await room.read("list"), await room.read("search", {"query": "x"})):
            (source,) = found["sources"]
            assert (source.get("unreadable"), found["complete"]) == (count, count is None)
            hint = None if count is None else f"team: {count} unreadable items were left out"
            assert found.get("hint") == hint

    async def test_a_space_that_cannot_page_and_is_full_is_truncated(self, room: Any) -> None:
        await room.create("team")
        items = tuple(Insight(id=f"i{n}", content="x") for n in range(9))
        room.native.answer("list", Page(items=items[:2]))
        assert (await room.read("list", {"limit": 2}))["truncated"] is True
        assert (await room.read("list", {"limit": 3}))["truncated"] is False
        room.native.answer("list", Page(items=items))
        over = await room.read("list", {"limit": 2})
        assert (len(over["items"]), over["truncated"]) == (2, True)
        assert over["hint"] == "team: 7 items beyond what was asked for were left out"

    async def test_a_cursor_too_long_to_hand_on_is_truncated(self, room: Any) -> None:
        await room.create("team")
        page = Page(items=(Insight(id="a", content="x"),), next_cursor="c" * 3_000)
        room.native.answer("list", page)
        found = await room.read("list", {"limit": 1})
        assert found["truncated"] is True
        assert "nextCursor" not in found

    async def test_a_fault_is_that_spaces_alone(self, full: Any) -> None:
        full.native.fail("list", ProviderUnavailable("locked"), namespace="default")
        page = await full.read("list")
        assert len(page["items"]) == 7
        assert page["sources"][0]["status"] == "unavailable"
        assert page["hint"] == "team: unavailable: locked"

    async def test_one_that_hangs_or_answers_rubbish_is_given_up(self, make_room: Make) -> None:
        room = make_room({"timeoutMs": 50})
        await room.create("team")
        await room.connect("beta")
        room.native.hang("list")
        room.beta.answer("list", ["rubbish"])
        with anyio.fail_after(3):
            page = await room.read("list")
        assert page["hint"].split("\n") == [
            "team: unavailable: no answer within 0.05 s",
            "Log: unavailable: the Provider did not answer with a page",
        ]

    async def test_a_later_page_that_fails_can_be_asked_for_again(self, room: Any) -> None:
        await room.create("team")
        answers: list[Any] = [
            Page(items=(Insight(id="a", content="other"),), next_cursor="1"),
            ProviderUnavailable("blip"),
            Page(items=(Insight(id="b", content="note"),)),
        ]

        async def listing(_request: Any) -> Page:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            page: Page = answer
            return page

        adapter = room.source._memory.children.get("mnemon-native").adapter
        adapter.list = lambda _space, request: listing(request)
        first = await room.read("list", {"query": "note"})
        assert (first["items"], first["hint"]) == ([], "team: unavailable: blip")
        again = await room.read("list", {"query": "note", "cursor": first["nextCursor"]})
        assert [item["id"] for item in again["items"]] == ["b"]

    async def test_only_searchable_spaces_need_a_query(self, make_room: Make) -> None:
        room = make_room(beta={"capabilities": {"search": True, "remember": True}})
        (log,) = await room.connect("beta")
        await room.keep(log, "nox runs", "other", category="fact")
        without = await room.read("list")
        assert without["sources"][0]["status"] == "query-required"
        found = await room.read("list", {"query": "nox", "category": "fact"})
        assert found["sources"][0]["mode"] == "query-only"
        assert [item["content"] for item in found["items"]] == ["nox runs"]
        none = await room.read("list", {"query": "nothing"})
        assert none["sources"][0]["status"] == "empty"
        room.beta.answer("search", SearchAnswer(results=(Insight(id="a", content="x"),)))
        other = await room.read("list", {"query": "x", "category": "fact"})
        assert other["items"] == []
        room.beta.answer("search", None)
        broken = await room.read("list", {"query": "x"})
        assert broken["sources"][0]["status"] == "unavailable"

    async def test_what_can_do_neither_is_unsupported(self, make_room: Make) -> None:
        room = make_room(beta={"capabilities": {"remember": True}})
        await room.connect("beta")
        page = await room.read("list")
        assert page["sources"][0]["mode"] == page["sources"][0]["status"] == "unsupported"

    async def test_a_named_space_is_shown_though_it_is_off(self, full: Any) -> None:
        await full.change("body-activate", {"memoryBodyId": "default", "active": False})
        assert len((await full.read("list"))["items"]) == 7
        assert len((await full.read("list", {"memoryBodyIds": ["default"]}))["items"]) == 5
        assert len((await full.read("graph", {"memoryBodyIds": ["default"]}))["nodes"]) == 5

    async def test_without_spaces_a_page_is_empty(self, room: Any) -> None:
        assert await room.read("list") == {
            "items": [], "total": 0, "truncated": False, "sources": [], "complete": True,
        }  # fmt: skip

    async def test_a_cursor_fits_its_own_query_only(self, full: Any) -> None:
        cursor = (await full.read("list", {"limit": 2}))["nextCursor"]
        cases = [
            ("list", {"limit": 3, "cursor": cursor}),
            ("list", {"limit": 2, "query": "x", "cursor": cursor}),
            ("graph", {"cursor": cursor}),
            ("entities", {"cursor": cursor}),
            ("list", {"limit": 2, "cursor": "rubbish"}),
            ("list", {"limit": 2, "cursor": "é"}),
        ]
        for operation, value in cases:
            assert await full.refused(operation, value, mode="read") == "cursor-invalid"

    async def test_a_cursor_of_a_space_that_is_off_is_invalid(self, full: Any) -> None:
        cursor = (await full.read("list", {"limit": 2}))["nextCursor"]
        await full.change("body-activate", {"memoryBodyId": "default", "active": False})
        again = {"limit": 2, "cursor": cursor}
        assert await full.refused("list", again, mode="read") == "cursor-invalid"

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            ({"limit": 0}, "number-range"),
            ({"limit": 1_001}, "number-range"),
            ({"query": "x" * 501}, "text-too-long"),
            ({"category": "gossip"}, "category-unsupported"),
            ({"memoryBodyIds": ["none"]}, "space-unknown"),
        ],
    )
    async def test_the_strict_limits_count(
        self, room: Any, value: dict[str, Any], code: str
    ) -> None:
        assert await room.refused("list", value, mode="read") == code


@pytest.mark.requirement("memory-spaces:browse:graph")
class TestGraph:
    async def test_nodes_and_edges_are_keyed_by_space(self, full: Any) -> None:
        link = {"sourceId": "memory-1", "targetId": "memory-2", "memoryBodyId": "default"}
        await full.change("link", {**link, "reason": "the same subject"})
        graph = await full.read("graph")
        assert len(graph["nodes"]) == 12
        node = graph["nodes"][0]
        assert node["graphId"] == "default:memory-1"
        assert (node["label"], node["color"], node["category"]) == ("team 0", "#6574d9", "fact")
        assert graph["edges"] == [
            {
                "sourceId": "default:memory-1",
                "targetId": "default:memory-2",
                "label": "semantic",
                "color": "#6574d9",
                "type": "semantic",
                "weight": 0.5,
                "reason": "the same subject",
            }
        ]
        assert (graph["generatedAt"], graph["truncated"]) == (TIME, False)
        assert [source["mode"] for source in graph["sources"]] == ["graph"] * 3

    async def test_without_a_graph_the_list_is_projected(self, make_room: Make) -> None:
        room = make_room(beta={"capabilities": {"browse": True, "remember": True}})
        (log,) = await room.connect("beta")
        colors = {}
        for category in ("preference", "decision", "fact", "insight", "context", "general"):
            await room.keep(log, f"about {category}", category=category)
        graph = await room.read("graph")
        colors = {node["category"]: node["color"] for node in graph["nodes"]}
        assert colors == {
            "preference": "#9b59b6",
            "decision": "#e74c3c",
            "fact": "#3498db",
            "insight": "#2ecc71",
            "context": "#f39c12",
            "general": "#6574d9",
        }
        assert (graph["edges"], graph["sources"][0]["mode"]) == ([], "projection")

    async def test_projections_have_pages(self, make_room: Make) -> None:
        room = make_room(beta={"capabilities": {"browse": True, "remember": True}})
        (log,) = await room.connect("beta")
        await room.keep(log, *[f"note {number}" for number in range(250)])
        found = await pages(room, "graph", {}, "nodes")
        assert [len(page) for page in found] == [200, 50]

    async def test_a_page_ends_where_a_space_goes_on(self, full: Any) -> None:
        node = GraphNode(id="n1", label="x", color="red")
        first = Graph(nodes=(node,), generated_at=TIME, next_cursor="more")
        full.native.answer("graph", first, namespace="default")
        page = await full.read("graph")
        assert [item["graphId"] for item in page["nodes"]] == ["default:n1"]
        assert page["nodes"][0]["color"] == "#6574d9"
        last = Graph(nodes=(GraphNode(id="n2", label="y", color="#123abc"),), generated_at=TIME)
        full.native.answer("graph", last, namespace="default")
        rest = await full.read("graph", {"cursor": page["nextCursor"]})
        assert rest["nodes"][0]["id"] == "n2"
        assert len(rest["nodes"]) == 8

    async def test_a_page_ends_with_the_space_that_fills_it(self, full: Any) -> None:
        nodes = tuple(GraphNode(id=f"n{n}", label="x", color="#123abc") for n in range(1_200))
        full.native.answer("graph", Graph(nodes=nodes, generated_at=TIME), namespace="default")
        page = await full.read("graph")
        assert (len(page["nodes"]), len(page["sources"])) == (1_000, 1)
        rest = await full.read("graph", {"cursor": page["nextCursor"]})
        assert len(rest["nodes"]) == 7

    async def test_faults_and_rubbish_are_left_out(self, full: Any) -> None:
        nodes: Any = (
            GraphNode(id="ok", label="fine", color="#123abc", importance=True, category=" "),  # type: ignore[arg-type]
            GraphNode(id="", label="x", color="#123abc"),
            GraphNode(id="bad", label="\ud800", color="#123abc"),
            "rubbish",
        )
        good = GraphEdge(source_id="ok", target_id="ok", label="x", color="#123abc", weight=0.5)
        edges: Any = (
            GraphEdge(source_id="ok", target_id="ok", label="", color="?", weight=7, reason=7),
            attrs.evolve(good, reason="r" * 2_000),
            attrs.evolve(good, reason=" "),
            GraphEdge(source_id="ok", target_id="", label="x", color="#123abc"),
            None,
        )
        graph = Graph(nodes=nodes, edges=edges, generated_at=TIME)
        full.native.answer("graph", graph, namespace="default")
        full.beta.answer("graph", "rubbish")
        bodies = (await full.read("body-directory"))["bodies"]
        page = await full.read("graph", {"memoryBodyIds": [bodies[0]["id"], bodies[2]["id"]]})
        assert [node["id"] for node in page["nodes"]] == ["ok"]
        assert "importance" not in page["nodes"][0]
        assert [(e["label"], e["color"], e.get("weight")) for e in page["edges"]] == [
            ("", "#6574d9", None), ("x", "#123abc", 0.5), ("x", "#123abc", 0.5),
        ]  # fmt: skip
        assert [len(e.get("reason", "")) for e in page["edges"]] == [0, 1_000, 0]
        assert page["hint"].splitlines() == [
            "team: 5 nodes or edges were left out",
            "Log: unavailable: the Provider did not answer with a graph",
        ]
        assert not page["complete"]

    async def test_edges_tell_who_drew_them_and_exactly_why(self, full: Any) -> None:
        nodes = tuple(GraphNode(id=id, label=id, color="#123abc") for id in ("a", "b"))
        drawn = GraphEdge(
            source_id="a", target_id="b", label="x", color="#123abc", reason="so,\n  and so",
            drawn=True,
        )  # fmt: skip
        own = attrs.evolve(drawn, reason="half \ud800", drawn=False)
        graph = Graph(nodes=nodes, edges=(drawn, own), generated_at=TIME, unreadable=2)
        full.native.answer("graph", graph, namespace="default")
        page = await full.read("graph", {"memoryBodyIds": ["default"]})
        told = [(edge.get("reason"), edge.get("drawn")) for edge in page["edges"]]
        assert told == [("so,\n  and so", True), (None, None)]
        (source,) = page["sources"]
        assert (source["unreadable"], page["complete"]) == (2, False)

    async def test_other_spaces_say_what_they_need(self, make_room: Make) -> None:
        room = make_room(beta={"capabilities": {"search": True}}, alpha={"capabilities": {}})
        await room.connect("beta")
        await room.connect("alpha", apiKey="alpha-secret")
        sources = (await room.read("graph"))["sources"]
        states = {source["providerId"]: source["status"] for source in sources}
        assert states == {"beta": "query-required", "alpha": "unsupported"}

    async def test_a_cursor_too_long_to_hand_on_is_truncated(self, full: Any) -> None:
        node = GraphNode(id="n1", label="x", color="#123abc")
        graph = Graph(nodes=(node,), generated_at=TIME, next_cursor="c" * 3_000)
        full.native.answer("graph", graph, namespace="default")
        assert (await full.read("graph"))["truncated"] is True


@pytest.mark.requirement("memory-spaces:browse:entities")
class TestEntities:
    @pytest.fixture
    async def named(self, room: Any) -> Any:
        team = await room.create("team")
        await room.keep(team, "a nox", "b nox", entities=["nox", "Ada"])
        (log,) = await room.connect("beta")
        await room.keep(log, "c nox", entities=["nox"])
        return room

    async def test_counts_of_all_spaces_are_summed(self, named: Any) -> None:
        found = await named.read("entities")
        assert found["entities"] == [{"entity": "nox", "count": 3}, {"entity": "Ada", "count": 2}]
        assert (found["total"], found["complete"], "hint" in found) == (2, True, False)
        assert {source["status"] for source in found["sources"]} == {"ready"}

    async def test_a_selected_entity_is_recalled(self, named: Any) -> None:
        found = await named.read("entities", {"entity": "nox", "limit": 2})
        assert found["selected"]["entity"] == found["selected"]["query"] == "nox"
        assert len(found["selected"]["results"]) == 2

    async def test_unhealthy_spaces_do_not_count_and_faults_are_lines(self, named: Any) -> None:
        named.beta.answer("status", SpaceStatus(healthy=False, error="down"))
        assert (await named.read("entities"))["entities"] == [
            {"entity": "Ada", "count": 2}, {"entity": "nox", "count": 2},
        ]  # fmt: skip
        named.beta.heal()
        named.beta.fail("entities", ProviderUnavailable("busy"))
        found = await named.read("entities")
        assert found["hint"] == "Log: unavailable: busy"

    async def test_statistics_do_where_nothing_better_is_offered(
        self, named: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(ReferenceAdapter, "entities", ProviderAdapter.entities)
        found = await named.read("entities")
        assert found["entities"][0] == {"entity": "nox", "count": 3}
        named.native.answer("status", SpaceStatus(healthy=True))
        assert (await named.read("entities"))["entities"][0] == {"entity": "nox", "count": 1}

    async def test_pages_follow_each_other(self, named: Any) -> None:
        counts = [EntityCount(entity=f"e{n:03}", count=1) for n in range(250)]
        named.native.answer("entities", counts)
        found = await pages(named, "entities", {}, "entities")
        assert [len(page) for page in found] == [100, 100, 51]
        assert found[0][0] == "e000"

    async def test_unreadable_counts_are_left_out(self, named: Any) -> None:
        rubbish: Any = [None, EntityCount(entity="", count=1), EntityCount(entity="x", count=-1)]
        named.native.answer("entities", [*rubbish, EntityCount(entity="y", count=2)])
        found = await named.read("entities")
        assert found["entities"] == [{"entity": "y", "count": 2}, {"entity": "nox", "count": 1}]


@pytest.mark.requirement("memory-spaces:health")
class TestHealth:
    async def test_simultaneous_looks_share_one_probe(self, room: Any) -> None:
        await room.create("team")
        memory = room.source._memory
        targets = (await memory.targets()).all()
        room.native.calls.clear()
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(memory.health.look, targets)
        assert room.native.calls.count(("status", "default")) == 1

    async def test_who_waits_takes_over_when_the_first_is_cancelled(self, room: Any) -> None:
        await room.create("team")
        room.native.hang("status")
        memory = room.source._memory
        targets = (await memory.targets()).all()
        states: list[bool] = []

        async def second() -> None:
            states.append((await memory.health.look(targets))["default"].healthy)

        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as first:
                async with anyio.create_task_group() as inner:
                    inner.start_soon(memory.health.look, targets)
                    await anyio.wait_all_tasks_blocked()
                    tasks.start_soon(second)
                    await anyio.wait_all_tasks_blocked()
                    room.native.heal()
                    first.cancel()
        assert states == [True]

    async def test_rubbish_is_unhealthy_or_left_out(self, room: Any) -> None:
        await room.create("team")
        odd: Any = {
            "total_insights": -1,
            "edge_count": "many",
            "oplog_count": True,
            "by_category": {"fact": 3, "x": None, 5: 1},
            "top_entities": "many",
        }
        for status, healthy, error in (
            ("rubbish", "unhealthy", "the Provider did not answer with a status"),
            (SpaceStatus(healthy=False), "unhealthy", "the Provider reports a problem without"),
            (SpaceStatus(healthy=1, error=" "), "unhealthy", "the Provider reports"),  # type: ignore[arg-type]
            (SpaceStatus(healthy=True, stats=SpaceStats(**odd)), "healthy", ""),
        ):
            room.native.answer("status", status)
            (body,) = (await room.read("bodies"))["bodies"]
            assert (body["status"], body.get("error", "").startswith(error)) == (healthy, True)
        assert body["stats"] == {"byCategory": {"fact": 3}}
        room.native.answer("status", SpaceStatus(healthy=True, stats=SpaceStats(by_category=3)))  # type: ignore[arg-type]
        (body,) = (await room.read("bodies"))["bodies"]
        assert body["stats"] == {}

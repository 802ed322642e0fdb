"""The routes of a View (spec/sources.md §4.6)."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConfigurationError, MnemonError
from dsh_mnemon_core.sdk import thaw, to_wire
from dsh_mnemon_source_memory_spaces._children import ChildEntry, MountedChild
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Insight,
    ProviderBusy,
    ProviderUnavailable,
    SearchAnswer,
    SpaceStatus,
)

Make = Callable[..., Any]


@pytest.mark.requirement("memory-spaces:recall:route")
class TestRecall:
    async def test_items_say_where_they_come_from(self, room: Any, view_of: Make) -> None:
        team = await room.create("team")
        await room.keep(
            team, "nox runs the build", category="fact", tags=["ci"], entities=["nox"], importance=4
        )
        view = await view_of(room)
        evidence = await view.query("recall", {"query": "nox build"})
        (item,) = evidence.items
        assert (item.id, item.text, item.score) == ("memory-1", "nox runs the build", 1.0)
        assert item.revision == "2026-01-02T03:04:05.678Z"
        said = thaw(item.provenance)
        assert said.pop("memoryCapabilities")["writeMode"] == "exact"
        assert said == {
            "memoryBodyId": team,
            "memoryBodyName": "team",
            "memoryProviderId": "mnemon-native",
            "memoryProviderLabel": "Mnemon-native",
            "relevanceTier": "high",
            "category": "fact",
            "importance": 4,
            "createdAt": "2026-01-02T03:04:05.678Z",
            "tags": ["ci"],
            "entities": ["nox"],
            "source": "user",
        }
        assert evidence.id.startswith("evidence:")
        assert evidence.observed_at == "2026-01-02T03:04:05.678Z"
        assert (evidence.view_id, evidence.route_id) == (view.id, f"{room.key}/recall")
        assert evidence.metadata["sources"][0]["status"] == "ready"
        assert "results" not in evidence.metadata

    async def test_only_granted_spaces_are_read(self, room: Any, view_of: Make) -> None:
        team = await room.create("team")
        await room.keep(team, "nox one")
        view = await view_of(room)
        later = await room.create("later")
        await room.keep(later, "nox two")
        assert await view.recall("nox") == ["memory-1"]
        assert await view.refused_query("recall", {"query": "nox", "memoryBodyIds": [later]}) == (
            "recall-space-outside-grant"
        )

    async def test_a_space_switched_off_since_is_left_out_or_refused_by_name(
        self, room: Any, view_of: Make
    ) -> None:
        team, other = await room.create("team"), await room.create("other")
        await room.keep(team, "nox one")
        await room.keep(other, "nox two")
        view = await view_of(room)
        await room.change("body-activate", {"memoryBodyId": other, "active": False})
        assert await view.recall("nox") == ["memory-1"]
        assert await view.refused_query("recall", {"query": "nox", "memoryBodyIds": [other]}) == (
            "space-inactive"
        )

    async def test_named_spaces_are_read_in_registry_order(self, room: Any, view_of: Make) -> None:
        team, other = await room.create("team"), await room.create("other")
        await room.keep(other, "nox two")
        await room.keep(team, "nox one")
        view = await view_of(room)
        assert await view.recall("nox", memoryBodyIds=[other]) == ["memory-1"]
        assert await view.recall("nox", memoryBodyIds=[other, team]) == ["memory-2", "memory-1"]

    @pytest.mark.parametrize(
        ("config", "asked", "ceiling", "found"),
        [
            ({"defaultRecallLimit": 3}, {}, 20, 3),
            ({"defaultRecallLimit": 50}, {}, 20, 20),
            ({}, {"limit": 2}, 20, 2),
            ({}, {"limit": 20}, 4, 4),
            ({}, {}, 20, 10),
        ],
    )
    async def test_the_smallest_limit_counts(
        self,
        make_room: Make,
        view_of: Make,
        config: dict[str, Any],
        asked: dict[str, Any],
        ceiling: int,
        found: int,
    ) -> None:
        room = make_room(config)
        team = await room.create("team")
        await room.keep(team, *[f"nox {number}" for number in range(30)])
        view = await view_of(room)
        evidence = await view.query("recall", {"query": "nox", **asked}, results=ceiling)
        assert len(evidence.items) == found

    async def test_texts_share_the_characters(self, room: Any, view_of: Make) -> None:
        team = await room.create("team")
        await room.keep(team, "nox " + "x" * 96, "nox " + "y" * 96, "nox " + "z" * 96)
        view = await view_of(room)
        evidence = await view.query("recall", {"query": "nox"}, characters=150)
        assert [len(item.text) for item in evidence.items] == [100, 50]
        assert evidence.items[1].text.endswith("…")
        assert evidence.truncated
        # Only what was shown may be named.
        assert await view.refused_query("related", {"id": "memory-3"}) == "evidence-not-admitted"

    async def test_hints_stand_in_unavailable_only_without_results(
        self, room: Any, view_of: Make
    ) -> None:
        await room.connect("alpha", apiKey="alpha-secret")
        (log,) = await room.connect("beta")
        view = await view_of(room)
        room.alpha.fail("search", ProviderUnavailable("gone: alpha-secret"))
        empty = await view.query("recall", {"query": "nox"})
        assert empty.unavailable == (
            "One: unavailable: gone: [redacted]\nTwo: unavailable: gone: [redacted]"
        )
        await room.keep(log, "nox")
        found = await view.query("recall", {"query": "nox"})
        assert (len(found.items), found.unavailable) == (1, None)
        assert found.metadata["hint"] == empty.unavailable

    async def test_a_remark_about_the_results_is_no_fault(self, room: Any, view_of: Make) -> None:
        await room.create("team")
        view = await view_of(room)
        room.native.answer("search", SearchAnswer(remark="few memories of /a/b/c.db fit"))
        evidence = await view.query("recall", {"query": '"'})
        assert (evidence.items, evidence.unavailable) == ((), None)
        told = "team: few memories of b/c.db fit"
        assert evidence.metadata["hint"] == told
        room.native.answer("search", SearchAnswer(remark="few fit", unreadable=2))
        evidence = await view.query("recall", {"query": '"'})
        assert evidence.unavailable == "team: 2 unreadable items were left out"
        assert evidence.metadata["sources"][0]["unreadable"] == 2
        assert evidence.metadata["hint"] == "team: few fit; 2 unreadable items were left out"

    async def test_items_without_a_score_say_that_their_tier_is_unknown(
        self, room: Any, view_of: Make
    ) -> None:
        await room.create("team")
        answer = SearchAnswer(results=(Insight(id="a", content="x"),))
        room.native.answer("search", answer)
        evidence = await (await view_of(room)).query("recall", {"query": "nox"})
        (item,) = evidence.items
        assert (item.score, item.provenance["relevanceTier"]) == (None, "unknown")

    async def test_the_query_is_required(self, room: Any, view_of: Make) -> None:
        view = await view_of(room)
        assert await view.refused_query("recall", {"query": " "}) == "text-required"

    @pytest.mark.parametrize(
        "change",
        [
            {"value": {}},
            {"value": {"memoryBodyIds": "all", "knownMemoryBodyIds": []}},
            {"value": ["default"]},
            {"schema": "another/v1"},
        ],
    )
    async def test_a_foreign_grant_is_refused(
        self, room: Any, view_of: Make, change: dict[str, Any]
    ) -> None:
        view = await view_of(room)
        view.grant = attrs.evolve(view.grant, **change)
        with pytest.raises(AuthorityError) as caught:
            await view.recall("nox")
        assert caught.value.code == "grant-foreign"

    async def test_an_unknown_route_is_refused(self, room: Any, view_of: Make) -> None:
        view = await view_of(room)
        assert await view.refused_query("browse", {}) == "route-unsupported"


@pytest.mark.requirement("memory-spaces:related:route")
class TestRelated:
    @pytest.fixture
    async def view(self, room: Any, view_of: Make) -> Any:
        team = await room.create("team")
        await room.keep(team, "nox one", "second", "third", "fourth")
        for source, target in ((1, 2), (2, 3), (3, 4)):
            link = {"sourceId": f"memory-{source}", "targetId": f"memory-{target}"}
            await room.change("link", {**link, "memoryBodyId": team})
        return await view_of(room)

    async def test_only_what_the_view_returned_can_be_followed(self, view: Any) -> None:
        assert await view.refused_query("related", {"id": "memory-1"}) == "evidence-not-admitted"
        await view.recall("nox")
        evidence = await view.query("related", {"id": "memory-1"})
        shown = [(item.id, item.provenance["depth"]) for item in evidence.items]
        assert shown == [("memory-2", 1), ("memory-3", 2)]
        # What a traversal returns can be followed too.
        further = await view.query("related", {"id": "memory-3", "depth": 1})
        assert [item.id for item in further.items] == ["memory-2", "memory-4"]

    async def test_the_owner_must_be_clear(self, view: Any, room: Any, make_room: Make) -> None:
        await view.recall("nox")
        team = view.grant.value["memoryBodyIds"][0]
        other = await room.create("other")
        room.native.namespaces[other].insights["memory-1"] = Insight(id="memory-1", content="nox")
        view.room.source._memory.views.returned(view.id, [(other, "memory-1")])
        assert await view.refused_query("related", {"id": "memory-1"}) == "space-required"
        named = await view.query("related", {"id": "memory-1", "memoryBodyId": team})
        assert len(named.items) == 2
        outside = {"id": "memory-1", "memoryBodyId": other}
        assert await view.refused_query("related", outside) == "recall-space-outside-grant"

    async def test_more_than_the_ceiling_is_truncated(self, view: Any) -> None:
        await view.recall("nox")
        evidence = await view.query("related", {"id": "memory-1", "depth": 5}, results=2)
        assert [item.id for item in evidence.items] == ["memory-2", "memory-3"]
        assert evidence.truncated

    async def test_what_was_forgotten_meanwhile_is_a_line(self, view: Any, room: Any) -> None:
        await view.recall("nox")
        team = view.grant.value["memoryBodyIds"][0]
        await room.change("forget", {"id": "memory-1", "memoryBodyId": team})
        evidence = await view.query("related", {"id": "memory-1"})
        assert (evidence.items, evidence.unavailable) == ((), "team: there is no memory memory-1")

    async def test_a_fault_is_a_line(self, view: Any, room: Any) -> None:
        await view.recall("nox")
        room.native.fail("related", ProviderUnavailable("busy"))
        evidence = await view.query("related", {"id": "memory-1"})
        assert (evidence.items, evidence.unavailable) == ((), "team: unavailable: busy")

    async def test_unreadable_items_are_counted(self, view: Any, room: Any) -> None:
        await view.recall("nox")
        room.native.answer("related", [None])
        evidence = await view.query("related", {"id": "memory-1"})
        assert evidence.unavailable == "team: 1 unreadable items were left out"

    async def test_a_provider_that_cannot_is_refused(self, make_room: Make, view_of: Make) -> None:
        room = make_room(native={"capabilities": {"search": True, "remember": True}})
        team = await room.create("team")
        await room.keep(team, "nox one")
        view = await view_of(room)
        await view.recall("nox")
        with pytest.raises(AuthorityError, match=r"'team', cannot follow links$") as caught:
            await view.query("related", {"id": "memory-1"})
        assert caught.value.code == "capability-missing"


@pytest.mark.requirement("memory-spaces:inspect")
class TestInspect:
    async def shown(self, view: Any, section: str, **limits: Any) -> Any:
        evidence = await view.query("inspect", {"section": section}, **limits)
        (item,) = evidence.items
        assert item.id == f"memory-spaces:{section}"
        return json.loads(item.text)

    async def test_the_directory_lists_what_the_view_knows_and_created(
        self, room: Any, view_of: Make
    ) -> None:
        team = await room.create("team")
        view = await view_of(room)
        await room.create("later")
        request = {"name": "mine", "description": "Made here."}
        receipt = await view.act("manage-spaces", {"operation": "create", "request": request})
        shown = await self.shown(view, "directory")
        assert [item["id"] for item in shown["items"]] == [team, receipt.details["memoryBodyId"]]
        assert shown["persistenceStrategy"] == {"mode": "manual"}
        assert (shown["total"], shown["activeCount"], shown["omittedCount"]) == (2, 1, 0)

    async def test_the_directory_asks_nobody(self, room: Any, view_of: Make) -> None:
        await room.connect("alpha", apiKey="alpha-secret")
        view = await view_of(room)
        room.alpha.calls.clear()
        shown = await self.shown(view, "directory")
        assert [item["status"] for item in shown["items"]] == ["not-probed", "not-probed"]
        assert room.alpha.calls == []
        assert "alpha-secret" not in json.dumps(shown)

    async def test_health_counts_and_names_what_is_wrong(self, room: Any, view_of: Make) -> None:
        await room.create("team")
        await room.connect("alpha", apiKey="alpha-secret")
        room.alpha.answer("status", SpaceStatus(healthy=False, error="index lost"), namespace="two")
        view = await view_of(room)
        shown = await self.shown(view, "health")
        assert shown["healthy"] is True
        assert shown["commandFound"] is True
        assert shown["writeEnabled"] is True
        assert shown["version"] == "0.1.0"
        assert shown["error"] == "Two: index lost"
        assert shown["memorySpaces"] == {
            "total": 3, "active": 3, "healthy": 2, "unhealthy": 1, "providerDisabled": 0,
        }  # fmt: skip
        states = [(item["providerId"], item["status"]) for item in shown["providers"]]
        assert states == [("mnemon-native", "healthy"), ("alpha", "unhealthy")]
        assert shown["providers"][1]["error"] == "Two: index lost"
        assert shown["aggregate"]["totalInsights"] == 0
        assert (await self.shown(view, "directory"))["items"][2]["error"] == "index lost"

    async def test_a_provider_that_does_not_run_is_named(
        self, broken_room: Any, view_of: Make
    ) -> None:
        shown = await self.shown(await view_of(broken_room), "health")
        assert shown["error"] == "broken: broken: token is missing"
        entry = shown["providers"][-1]
        assert (entry["providerId"], len(shown["providers"])) == ("broken", 2)
        assert (entry["status"], entry["enabled"], entry["memoryBodyCount"]) == (
            "unhealthy", False, 0,
        )  # fmt: skip
        assert entry["error"] == "broken: token is missing"
        services = (await broken_room.read("provider-services"))["services"]
        assert [(item["state"], item["code"]) for item in services[-2:]] == [
            ("absent", "module-absent"),
            ("failed", "config-invalid"),
        ]

    async def test_an_engine_is_asked_in_a_thread(self, room: Any, view_of: Make) -> None:
        view, asked = await view_of(room), []
        adapter = room.source._memory.children.native.adapter
        adapter.ready = lambda: asked.append(threading.current_thread()) or True
        assert (await self.shown(view, "health"))["commandFound"] is True
        assert asked
        assert threading.main_thread() not in asked

    async def test_an_engine_that_cannot_say_is_not_ready(self, room: Any, view_of: Make) -> None:
        view = await view_of(room)

        def fail() -> bool:
            raise RuntimeError("with a secret in it")

        room.source._memory.children.native.adapter.ready = fail
        assert (await self.shown(view, "health"))["commandFound"] is False

    async def test_what_does_not_fit_is_nothing(self, room: Any, view_of: Make) -> None:
        view = await view_of(room)
        evidence = await view.query("inspect", {"section": "health"}, characters=20)
        assert (evidence.items, evidence.truncated) == ((), True)

    async def test_an_unknown_section_is_refused(self, room: Any, view_of: Make) -> None:
        view = await view_of(room)
        assert await view.refused_query("inspect", {"section": "x"}) == "section-unsupported"


@pytest.mark.requirement("memory-spaces:paths")
class TestPaths:
    FILE = "/srv/jane doe/data/default/mnemon.db"
    WINDOWS = r"C:\Users\jane\data\default\mnemon.db"

    @pytest.mark.parametrize("file", [FILE, WINDOWS, f"file://{FILE}"])
    async def test_no_answer_of_a_view_names_a_folder(
        self, room: Any, view_of: Make, file: str
    ) -> None:
        team = await room.create("team")
        await room.keep(team, "nox one")
        view = await view_of(room)
        await view.recall("nox")
        fault = ProviderBusy(f"the store {file}: locked", details={"file": file})
        for operation in ("search", "related", "remember", "forget"):
            room.native.fail(operation, fault)
        unhealthy = SpaceStatus(healthy=False, error=fault.message)
        room.native.answer("status", unhealthy)
        evidence = [
            await view.query("recall", {"query": "nox"}),
            await view.query("related", {"id": "memory-1"}),
            await view.query("inspect", {"section": "health"}),
            await view.query("inspect", {"section": "directory"}),
        ]
        receipts = [
            await view.act("remember", {"content": "nox"}),
            await view.act("forget", {"id": "memory-1"}),
        ]
        answers = [json.dumps(to_wire(item)) for item in (*evidence, *receipts)]
        for answer in answers:
            assert "jane" not in answer
            assert "the store default/mnemon.db: locked" in answer
        assert evidence[0].unavailable == "team: unavailable: the store default/mnemon.db: locked"

    async def test_a_hint_beside_results_names_no_folder(self, room: Any, view_of: Make) -> None:
        team = await room.create("team")
        view = await view_of(room)
        uris = (f"file://{self.FILE}", "viking://user/memories/a")
        found = tuple(
            Insight(id=f"m{n}", content="nox", score=0.9, external_uri=uri)
            for n, uri in enumerate(uris)
        )
        hint = f"{self.FILE} was repaired"
        room.native.answer("search", SearchAnswer(results=found, hint=hint), namespace=team)
        evidence = await view.query("recall", {"query": "nox"})
        assert [item.provenance["externalUri"] for item in evidence.items] == [
            "default/mnemon.db", uris[1],
        ]  # fmt: skip
        assert evidence.metadata["hint"] == "team: default/mnemon.db was repaired"
        assert evidence.metadata["sources"][0]["hint"] == "default/mnemon.db was repaired"

    async def test_what_a_memory_says_is_not_touched(self, room: Any, view_of: Make) -> None:
        team = await room.create("team")
        await room.keep(team, f"nox reads {self.FILE}")
        evidence = await (await view_of(room)).query("recall", {"query": "nox"})
        assert evidence.items[0].text == f"nox reads {self.FILE}"

    async def test_a_registry_that_is_damaged_is_named_without_its_folder(
        self, room: Any, view_of: Make, tmp_path: Path
    ) -> None:
        await room.connect("beta")
        view = await view_of(room)
        (tmp_path / "data").mkdir(exist_ok=True)
        (tmp_path / "data" / ".dsh-memory-bodies.json").write_text("{", encoding="utf-8")
        shown = await view.query("inspect", {"section": "health"})
        assert "data/.dsh-memory-bodies.json is damaged" in shown.items[0].text
        assert str(tmp_path) not in shown.items[0].text
        request = {"name": "Team", "description": "x"}
        with pytest.raises(MnemonError) as caught:
            await view.act("manage-spaces", {"operation": "create", "request": request})
        assert str(tmp_path) not in caught.value.message
        assert str(tmp_path) in caught.value.details["file"]

    async def test_a_provider_that_did_not_start_is_named_without_its_folder(
        self, make_room: Make, view_of: Make
    ) -> None:
        error = ConfigurationError("config-invalid", f"{self.FILE} is no key file")
        child = MountedChild(
            entry=ChildEntry(use="broken"), source_instance_id="spaces", error=error
        )
        room = make_room(more=[child])
        evidence = await (await view_of(room)).query("inspect", {"section": "health"})
        shown = json.loads(evidence.items[0].text)
        assert shown["error"] == "broken: default/mnemon.db is no key file"
        assert shown["providers"][-1]["error"] == "default/mnemon.db is no key file"
        await room.source.dispose()

    async def test_a_receipt_shows_no_connection(self, room: Any, view_of: Make) -> None:
        await room.connect("beta")
        bodies = (await room.read("body-directory"))["bodies"]
        change = {"connection": {"project": self.FILE}, "memoryBodyId": bodies[0]["id"]}
        await room.change("body-update", change)
        update = {"operation": "update", "memoryBodyId": bodies[0]["id"], "name": "Log 2"}
        receipt = await (await view_of(room)).act("manage-spaces", update)
        assert receipt.details["body"]["name"] == "Log 2"
        assert "jane" not in json.dumps(to_wire(receipt))

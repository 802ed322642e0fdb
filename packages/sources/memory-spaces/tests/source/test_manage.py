"""The management plane (spec/sources.md §1.3, §4.10)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    NativeAdapter,
    ProviderBusy,
    ProviderNotFound,
    ProviderRejected,
    ProviderUnavailable,
    SpaceStatus,
    WriteOutcomeUnknown,
)

Make = Callable[..., Any]
SECRET = "alpha-secret"


@pytest.fixture
async def team(room: Any) -> str:
    return str(await room.create("team"))


@pytest.mark.requirement("memory-spaces:management:fence")
class TestFence:
    async def test_confirmation_and_revision_are_required(self, room: Any, team: str) -> None:
        update = {"memoryBodyId": team, "name": "Crew"}
        cases: list[tuple[dict[str, Any], str]] = [
            ({"confirmed": False}, "management-unconfirmed"),
            ({"expected_revision": None}, "management-unconfirmed"),
            ({"expected_revision": "stale"}, "management-revision-conflict"),
        ]
        for change, code in cases:
            with pytest.raises(MnemonError) as caught:
                await room.change("body-update", update, **change)
            assert caught.value.code == code
        assert (await room.read("body-directory"))["bodies"][0]["name"] == "team"

    async def test_writes_to_providers_are_fenced_too(self, room: Any, team: str) -> None:
        with pytest.raises(MnemonError) as caught:
            await room.change("remember", {"content": "x"}, expected_revision="stale")
        assert caught.value.code == "management-revision-conflict"
        assert room.native.namespaces[team].insights == {}

    async def test_the_answer_has_the_revision_after_it(self, room: Any, team: str) -> None:
        before = (await room.facts()).revision
        update = {"memoryBodyId": team, "name": "Crew"}
        result = await room.answer(
            "mutate", "body-update", update, expected_revision=before, confirmed=True
        )
        assert result.revision == (await room.facts()).revision != before

    @pytest.mark.parametrize("mode", ["read", "mutate"])
    async def test_an_unknown_operation_is_refused(self, room: Any, mode: str) -> None:
        assert await room.refused("body-directry", mode=mode) == "operation-unsupported"

    async def test_read_only_refuses_every_change_but_reload(self, make_room: Make) -> None:
        room = make_room({"writeEnabled": False})
        create = {"request": {"name": "a", "description": "b"}}
        assert await room.refused("body-create", create) == "read-only"
        assert (await room.change("reload"))["reloaded"] is True


@pytest.mark.requirement("memory-spaces:management:reads")
class TestReads:
    async def test_the_directory_lists_every_space_without_asking(
        self, room: Any, team: str
    ) -> None:
        await room.connect("alpha", apiKey=SECRET)
        room.alpha.calls.clear()
        listed = await room.read("body-directory")
        assert (listed["total"], listed["activeCount"]) == (3, 3)
        native, one, _ = listed["bodies"]
        assert (native["id"], native["native"], native["status"]) == (team, True, "not-probed")
        assert (one["externalId"], one["metadataSource"]) == ("one", "provider")
        assert room.alpha.calls == []

    @pytest.mark.parametrize("wrapped", [True, False])
    async def test_the_write_scope_of_a_view_is_told(
        self, room: Any, team: str, wrapped: bool
    ) -> None:
        value = {"memoryBodyIds": [], "knownMemoryBodyIds": [team, "gone"]}
        grant = {"value": value, "schema": "x"} if wrapped else value
        mine = await room.create("mine")
        await room.create("later")
        room.source._memory.views.created("view:1", mine)
        scope = {"writeScope": {"viewId": "view:1", "grant": grant}}
        assert (await room.read("body-directory", scope))["writeScope"] == {
            "viewId": "view:1",
            "sourceInstanceKey": room.key,
            "memoryBodyIds": [team, mine],
        }

    async def test_bodies_are_probed_together_and_faults_are_theirs_alone(
        self, room: Any, team: str
    ) -> None:
        await room.connect("alpha", apiKey=SECRET)
        room.alpha.fail("status", ValueError(SECRET), namespace="one")
        bodies = (await room.read("bodies"))["bodies"]
        assert [body["status"] for body in bodies] == ["healthy", "unhealthy", "healthy"]
        assert bodies[1]["error"] == "the Provider failed unexpectedly (ValueError)"
        assert bodies[0]["stats"]["totalInsights"] == 0

    async def test_status_tells_what_a_person_needs(
        self, room: Any, team: str, tmp_path: Path
    ) -> None:
        await room.keep(team, "nox")
        status = await room.read("status")
        assert status["dataDir"] == str(tmp_path)
        assert status["aggregate"]["totalInsights"] == 1
        assert status["defaultRecallLimit"] == 10
        assert status["memorySpaces"]["healthy"] == 1
        assert [body["id"] for body in status["bodies"]] == [team]
        room.native.calls.clear()
        summary = await room.read("status-summary")
        assert summary["memorySpaces"]["healthy"] == 1  # what was learnt before
        assert room.native.calls == []

    async def test_services_show_names_of_secrets_and_never_values(self, room: Any) -> None:
        await room.connect("alpha", apiKey=SECRET)
        services = (await room.read("provider-services"))["services"]
        by_id = {item["providerId"]: item for item in services}
        assert list(by_id) == ["mnemon-native", "alpha", "beta"]
        assert by_id["alpha"]["configuredSecrets"] == ["apiKey"]
        assert (by_id["alpha"]["enabled"], by_id["beta"]["enabled"]) == (True, False)
        assert by_id["alpha"]["fields"][0]["key"] == "apiKey"
        assert (by_id["alpha"]["memoryBodyCount"], by_id["beta"]["memoryBodyCount"]) == (2, 0)
        for operation in ("provider-services", "body-directory", "bodies", "status"):
            assert SECRET not in json.dumps(await room.read(operation))

    async def test_a_space_that_works_may_have_a_note(self, room: Any) -> None:
        one, two = await room.connect("alpha", apiKey=SECRET)
        note = f"3 rows of {SECRET} cannot be read"
        room.alpha.answer("status", SpaceStatus(healthy=True, error="?", note=note))
        bodies = {body["id"]: body for body in (await room.read("bodies"))["bodies"]}
        told = {
            (bodies[id]["status"], bodies[id]["note"], bodies[id].get("error")) for id in (one, two)
        }
        assert told == {("healthy", "3 rows of [redacted] cannot be read", None)}
        assert (await room.read("status"))["healthy"] is True

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no modes")
    async def test_status_names_what_others_may_look_at(self, room: Any, tmp_path: Path) -> None:
        await room.connect("alpha", apiKey=SECRET)
        assert "exposed" not in await room.read("status")
        file = tmp_path / "state" / "memory-providers.json"
        file.chmod(0o644)
        (told,) = (await room.read("status"))["exposed"]
        assert told == {"path": str(file), "mode": "0644", "wanted": "0600"}
        file.parent.chmod(0o750)
        assert [item["mode"] for item in (await room.read("status"))["exposed"]] == ["0644", "0750"]
        file.unlink()
        assert "exposed" not in await room.read("status")

    async def test_services_name_a_file_that_cannot_be_read(
        self, room: Any, tmp_path: Path
    ) -> None:
        await room.connect("alpha", apiKey=SECRET)
        assert "faults" not in await room.read("provider-services")
        file = tmp_path / "state" / "memory-providers.json"
        file.write_text("{bad", encoding="utf-8")
        (fault,) = (await room.read("provider-services"))["faults"]
        assert (fault["code"], fault["file"]) == ("store-damaged", str(file))

    async def test_reconnecting_asks_one_space_anew(self, room: Any) -> None:
        one, _ = await room.connect("alpha", apiKey=SECRET)
        room.alpha.answer("status", SpaceStatus(healthy=False, error="down"))
        await room.read("bodies")
        room.alpha.heal()
        body = (await room.read("body-reconnect", {"memoryBodyId": one}))["body"]
        assert body["status"] == "healthy"
        states = [item["status"] for item in (await room.read("body-directory"))["bodies"]]
        assert states == ["healthy", "unhealthy"]
        missing = {"memoryBodyId": "none"}
        assert await room.refused("body-reconnect", missing, mode="read") == "space-unknown"

    async def test_embeddings_are_those_of_the_native_engine(
        self, room: Any, make_room: Make
    ) -> None:
        assert (await room.read("embedding-status"))["enabled"] is False
        room.native.fail("embedding_status", ProviderUnavailable("no engine"))
        assert (await room.read("embedding-status"))["error"] == "no engine"

    async def test_without_a_native_provider_there_are_no_embeddings(self, make_room: Make) -> None:
        third = make_room(native={"origin": "third-party"})
        assert await third.read("embedding-status") == {"enabled": False, "available": False}

    async def test_search_reports_every_space(self, room: Any, team: str) -> None:
        await room.keep(team, "nox runs", "nox is cached")
        found = await room.read("search", {"query": "nox", "limit": 1})
        assert [row["id"] for row in found["results"]] == ["memory-1"]
        assert found["sources"][0]["quality"]["fetched"] == 2
        too_many = {"query": "nox", "limit": 51}
        assert await room.refused("search", too_many, mode="read") == "number-range"

    async def test_related_walks_from_any_memory(self, room: Any, team: str) -> None:
        await room.keep(team, "a", "b")
        await room.change("link", {"sourceId": "memory-1", "targetId": "memory-2"})
        found = await room.read("related", {"id": "memory-1"})
        assert [row["id"] for row in found["results"]] == ["memory-2"]
        assert (found["query"], found["mode"]) == ("related:memory-1", "related")
        room.native.fail("related", ProviderUnavailable("busy"))
        with pytest.raises(MnemonError) as busy:
            await room.read("related", {"id": "memory-1"})
        assert (busy.value.code, busy.value.message) == ("provider-unavailable", "busy")
        assert busy.value.retryable
        room.native.fail("related", ValueError("secret"))
        assert await room.refused("related", {"id": "memory-1"}, mode="read") == "provider-failed"
        room.native.heal()
        await room.create("other")
        with pytest.raises(MnemonError, match=rf"{team} \(team\), ") as unnamed:
            await room.read("related", {"id": "memory-1"})
        assert unnamed.value.code == "space-required"
        named = await room.read("related", {"id": "memory-1", "memoryBodyId": team})
        assert len(named["results"]) == 1

    async def test_related_to_what_is_unknown_is_an_error(self, room: Any, team: str) -> None:
        with pytest.raises(ProviderNotFound) as caught:
            await room.read("related", {"id": "memory-9"})
        assert caught.value.message == "there is no memory memory-9"
        assert caught.value.details == {"id": "memory-9"}
        # A Provider may as well answer with nothing.
        room.native.answer("related", [])
        assert (await room.read("related", {"id": "memory-9"}))["results"] == []

    async def test_people_are_told_the_whole_path(self, room: Any, team: str) -> None:
        file = "/srv/jane/data/default/mnemon.db"
        fault = ProviderBusy(f"{file} is locked", details={"file": file})
        room.native.fail("search", fault)
        room.native.answer("status", SpaceStatus(healthy=False, error=fault.message))
        found = await room.read("search", {"query": "nox"})
        assert found["hint"] == f"team: unavailable: {file} is locked"
        shown = await room.read("status")
        assert shown["error"] == f"team: {file} is locked"
        assert shown["bodies"][0]["error"] == f"{file} is locked"
        assert shown["providers"][0]["error"] == f"team: {file} is locked"
        room.native.fail("remember", fault)
        with pytest.raises(ProviderBusy) as caught:
            await room.change("remember", {"content": "nox"})
        assert (caught.value.message, caught.value.details["file"]) == (f"{file} is locked", file)

    async def test_samples_and_placement_are_those_of_the_spaces(
        self, room: Any, team: str
    ) -> None:
        await room.keep(team, "nox")
        samples = (await room.read("metadata-sample", {"memoryBodyIds": [team]}))["samples"]
        assert [item["content"] for item in samples[0]["items"]] == ["nox"]
        request = {"mode": "automatic", "rules": {"dataBoundary": "local-only"}}
        prepared = await room.read("prepare-body-placement", request)
        assert prepared["decision"]["providerId"] == "mnemon-native"
        await room.connect("beta")
        decided = await room.read(
            "finalize-placement",
            {
                "selection": {"providerId": "beta", "reason": "A log.", "confidence": "low"},
                "request": {"mode": "automatic"},
                "runId": "run-1",
            },
        )
        assert (decided["providerId"], decided["runId"]) == ("beta", "run-1")


@pytest.mark.requirement("memory-spaces:management:mutations")
class TestMutations:
    async def test_a_service_is_switched_on_and_off(self, room: Any) -> None:
        await room.connect("alpha", apiKey=SECRET)
        off = {"providerId": "alpha", "enabled": False}
        service = (await room.change("provider-service-update", off))["service"]
        assert (service["enabled"], service["memoryBodyCount"]) == (False, 0)
        assert service["configuredSecrets"] == ["apiKey"]
        cleared = {"providerId": "alpha", "enabled": False, "clearSecrets": ["apiKey"]}
        service = (await room.change("provider-service-update", cleared))["service"]
        assert service["configuredSecrets"] == []

    async def test_a_space_is_created_with_a_connection(self, room: Any) -> None:
        await room.connect("beta")
        request = {
            "name": "Log",
            "description": "x",
            "providerId": "beta",
            "connection": {"project": "p"},
        }
        body = (await room.change("body-create", {"request": request}))["body"]
        assert (body["providerId"], body["connection"]) == ("beta", {"project": "p"})
        assert (body["active"], body["metadataSource"]) == (False, "manual")

    async def test_a_space_is_created_by_the_persistence_strategy(self, room: Any) -> None:
        request = {"name": "Team", "description": "x"}
        made = await room.change("body-create-for-persistence", {"request": request})
        assert made["body"]["providerId"] == "mnemon-native"

    async def test_a_decision_places_a_space(self, room: Any) -> None:
        decision = (await room.read("prepare-body-placement", {"mode": "automatic"}))["decision"]
        create = {"request": {"name": "T", "description": "x"}, "placementDecision": decision}
        body = (await room.change("body-create", create))["body"]
        assert body["placement"] == decision

    async def test_update_activate_delete(self, room: Any, team: str) -> None:
        other = await room.create("other")
        changed = await room.change(
            "body-update", {"memoryBodyId": team, "name": "Crew", "description": "New."}
        )
        assert (changed["body"]["name"], changed["body"]["description"]) == ("Crew", "New.")
        off = await room.change("body-activate", {"memoryBodyId": team, "active": False})
        assert off["body"]["active"] is False
        gone = await room.change("body-delete", {"memoryBodyId": other})
        assert gone == {"deleted": True, "memoryBodyId": other, "name": "other"}
        assert await room.refused("body-delete", {"memoryBodyId": team}) == "last-store"

    async def test_activation_takes_nothing_else(self, room: Any, team: str) -> None:
        more = {"memoryBodyId": team, "active": True, "name": "x"}
        assert await room.refused("body-activate", more) == "key-unknown"

    async def test_merge_says_how_far_it_got(self, room: Any, team: str) -> None:
        other = await room.create("other")
        await room.keep(other, "nox")
        merge = {"targetMemoryBodyId": team, "sourceMemoryBodyIds": [other]}
        merged = await room.change("body-merge", merge)
        assert (merged["completion"], merged["imported"]) == ("committed", 1)

    async def test_metadata_is_written_for_several(self, room: Any, team: str) -> None:
        update = {"memoryBodyId": team, "title": "Team facts", "description": "Agreed facts."}
        bodies = (await room.change("body-metadata-update", {"updates": [update]}))["bodies"]
        assert (bodies[0]["name"], bodies[0]["metadataSource"]) == ("Team facts", "ai")

    async def test_reload_forgets_health(self, room: Any, team: str) -> None:
        await room.read("bodies")
        assert await room.change("reload") == {"reloaded": True, "total": 1}
        assert (await room.read("body-directory"))["bodies"][0]["status"] == "not-probed"

    async def test_remember_link_forget(self, room: Any, team: str) -> None:
        kept = await room.change("remember", {"content": "a"})
        assert (kept["completion"], kept["memoryBodyId"]) == ("committed", team)
        await room.change("remember", {"content": "b"})
        link = {"sourceId": "memory-1", "targetId": "memory-2", "type": "causal", "weight": 1.0}
        assert (await room.change("link", link))["completion"] == "committed"
        assert room.native.namespaces[team].edges == [("memory-1", "memory-2", "causal", 1.0)]
        assert (await room.change("forget", {"id": "memory-1"}))["completion"] == "committed"

    async def test_what_a_provider_refuses_is_raised(self, room: Any, team: str) -> None:
        room.native.fail("remember", ProviderRejected("too long"))
        assert await room.refused("remember", {"content": "a"}) == "provider-rejected"
        room.native.fail("remember", WriteOutcomeUnknown("lost"))
        lost = await room.change("remember", {"content": "a"})
        assert lost["completion"] == "unknown"

    async def test_the_space_is_named_where_there_are_several(self, room: Any, team: str) -> None:
        await room.create("other")
        assert await room.refused("remember", {"content": "a"}) == "space-required"


@pytest.mark.requirement("memory-spaces:remember-many")
class TestRememberMany:
    async def test_results_come_in_request_order(self, room: Any, team: str) -> None:
        (log,) = await room.connect("beta")
        requests = [
            {"content": text, "memoryBodyId": space}
            for text, space in (("one", log), ("two", team), ("three", log))
        ]
        done = await room.change("remember-many", {"requests": requests})
        assert [result["memoryBodyId"] for result in done["results"]] == [log, team, log]
        assert done["completions"] == ["committed"] * 3
        stored = [i.content for i in room.beta.namespaces["log"].insights.values()]
        assert stored == ["one", "three"]

    async def test_everything_is_checked_before_anything_is_written(
        self, room: Any, team: str
    ) -> None:
        bad: list[tuple[list[dict[str, Any]], str]] = [
            ([{"content": "a"}, {"content": ""}], "text-required"),
            ([{"content": "a"}, {"content": "b", "memoryBodyId": "none"}], "space-unknown"),
            ([], "array-empty"),
            ([{"content": "a"}] * 1_001, "array-too-long"),
        ]
        for requests, code in bad:
            assert await room.refused("remember-many", {"requests": requests}) == code
        assert room.native.namespaces[team].insights == {}

    async def test_a_space_that_fails_takes_nothing_from_another(
        self, room: Any, team: str
    ) -> None:
        (log,) = await room.connect("beta")
        room.beta.fail("remember", ProviderRejected("full"))
        requests = [{"content": "a", "memoryBodyId": log}, {"content": "b", "memoryBodyId": team}]
        done = await room.change("remember-many", {"requests": requests})
        assert done["completions"] == ["failed", "committed"]
        assert done["results"][0]["error"] == {"code": "provider-rejected", "message": "full"}

    async def test_archived_originals_are_asked_for_exactly(
        self, room: Any, team: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[bool] = []
        adapter = room.source._memory.children.get("mnemon-native").adapter

        async def many(_space: Any, requests: Any) -> Any:
            seen.extend(request.exact for request in requests)
            return [{"action": "added"} for _ in requests]

        monkeypatch.setattr(adapter, "remember_many", many)
        await room.change("remember-many", {"requests": [{"content": "a"}]})
        await room.change("remember-many", {"requests": [{"content": "a"}], "exact": False})
        assert seen == [True, False]

    @pytest.mark.parametrize("answer", [[], None, [{"action": "added"}] * 3])
    async def test_one_receipt_is_wanted_for_each(
        self, room: Any, team: str, monkeypatch: pytest.MonkeyPatch, answer: Any
    ) -> None:
        adapter = room.source._memory.children.get("mnemon-native").adapter

        async def many(_space: Any, _requests: Any) -> Any:
            return answer

        monkeypatch.setattr(adapter, "remember_many", many)
        done = await room.change("remember-many", {"requests": [{"content": "a"}]})
        assert done["completions"] == ["unknown"]
        assert done["results"][0]["error"]["code"] == "provider-protocol"


@pytest.mark.requirement("memory-spaces:import")
class TestImport:
    async def test_a_native_space_takes_a_draft(self, room: Any, team: str) -> None:
        value = {
            "memoryBodyId": team,
            "insights": [
                {
                    "content": "a",
                    "created_at": "2025-01-01T00:00:00.000Z",
                    "category": "fact",
                    "source": "cron job",
                },
                {"content": "b", "tags": ["x"], "source": "external"},
            ],
            "edges": [{"source_index": 0, "target_index": 1, "edge_type": "supersedes"}],
        }
        done = await room.change("body-import", value)
        counts = {key: done[key] for key in ("imported", "skipped", "updated", "edges_inserted")}
        assert counts == {"imported": 2, "skipped": 0, "updated": 0, "edges_inserted": 1}
        assert (done["errors"], len(done["results"])) == ([], 1)
        held = room.native.namespaces[team]
        assert next(i.created_at for i in held.insights.values()) == "2025-01-01T00:00:00.000Z"
        assert held.edges == [("memory-1", "memory-2", "supersedes", 0.5)]
        assert [item.source for item in held.insights.values()] == ["cron job", "external"]
        again = await room.change("body-import", value)
        assert (again["imported"], again["skipped"], again["edges_inserted"]) == (0, 2, 0)

    async def test_another_space_takes_memory_by_memory(self, room: Any) -> None:
        (log,) = await room.connect("beta")
        value = {
            "memoryBodyId": log,
            "insights": [{"content": "a"}, {"content": "a"}, {"content": "b", "source": "cron"}],
            "edges": [{"source_index": 0, "target_index": 2, "edge_type": "causal"}],
        }
        done = await room.change("body-import", value)
        assert (done["imported"], done["skipped"], done["accepted"]) == (2, 1, 0)
        assert [error["code"] for error in done["errors"]] == ["edges-unsupported"]
        assert len(done["results"]) == 3
        assert [i.source for i in room.beta.namespaces["log"].insights.values()] == [
            "external", "external",
        ]  # fmt: skip

    async def test_what_fails_is_named_by_its_place(self, room: Any) -> None:
        (log,) = await room.connect("beta")
        value = {"memoryBodyId": log, "insights": [{"content": "a"}]}
        room.beta.fail("remember", ProviderRejected("full"))
        done = await room.change("body-import", value)
        assert done["errors"] == [{"index": 0, "code": "provider-rejected", "message": "full"}]
        room.beta.answer("remember", {"id": "x"})
        done = await room.change("body-import", value)
        assert done["errors"][0]["code"] == "write-unknown"
        room.beta.answer("remember", {"status": "queued"})
        done = await room.change("body-import", value)
        assert (done["accepted"], done["errors"]) == (1, [])

    async def test_a_native_engine_that_refuses_is_raised(self, room: Any, team: str) -> None:
        room.native.fail("import_draft", ProviderRejected("no"))
        value = {"memoryBodyId": team, "insights": [{"content": "a"}]}
        assert await room.refused("body-import", value) == "provider-rejected"

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"insights": []}, "array-empty"),
            ({"insights": [{"content": "a"}] * 1_001}, "array-too-long"),
            ({"insights": [{"content": "x" * 8_193}]}, "text-too-long"),
            (
                {"edges": [{"source_index": 0, "target_index": 1, "edge_type": "causal"}]},
                "edge-index",
            ),
            (
                {"edges": [{"source_index": 0, "target_index": 0, "edge_type": "x"}]},
                "edge-type-unsupported",
            ),
        ],
    )
    async def test_what_does_not_fit_is_refused(
        self, room: Any, team: str, change: dict[str, Any], code: str
    ) -> None:
        value = {"memoryBodyId": team, "insights": [{"content": "a"}], **change}
        assert await room.refused("body-import", value) == code
        assert await room.refused("body-import-check", value, mode="read") == code
        del value["memoryBodyId"]
        assert await room.refused("body-import-check", value, mode="read") == code
        assert room.native.namespaces[team].insights == {}

    @pytest.mark.requirement("memory-spaces:import-check")
    async def test_a_check_says_what_the_engine_would_refuse_and_writes_nothing(
        self, room: Any, team: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        edges = [{"source_index": 0, "target_index": 1, "edge_type": "causal"}]
        draft = {"insights": [{"content": "a"}, {"content": "b"}], "edges": edges}
        assert await room.read("body-import-check", draft) == {"errors": []}
        value = {"memoryBodyId": team, **draft}
        assert await room.read("body-import-check", value) == {"errors": []}
        asked: list[Any] = []

        async def check(_self: Any, insights: Any, edges: Any) -> None:
            asked.extend((insights, edges))
            raise ProviderRejected("too odd")

        monkeypatch.setattr(NativeAdapter, "check_draft", check)
        assert await room.refused("body-import-check", value, mode="read") == "provider-rejected"
        assert [item.content for item in asked[0]] == ["a", "b"]
        assert asked[1][0].edge_type == "causal"
        assert room.native.namespaces[team].insights == {}
        (log,) = await room.connect("beta")
        elsewhere = await room.read("body-import-check", {**value, "memoryBodyId": log})
        assert [error["code"] for error in elsewhere["errors"]] == ["edges-unsupported"]
        unknown = {**value, "memoryBodyId": "nowhere"}
        assert await room.refused("body-import-check", unknown, mode="read") == "space-unknown"

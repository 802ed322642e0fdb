"""The actions of a View (spec/sources.md §4.9)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, InputError
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderRejected,
    ProviderServerError,
    WriteOutcomeUnknown,
)

Make = Callable[..., Any]


@pytest.fixture
async def team(room: Any) -> str:
    return str(await room.create("team"))


@pytest.mark.requirement("memory-spaces:remember")
class TestRemember:
    async def test_what_is_certain_is_committed_and_activates(
        self, room: Any, view_of: Make
    ) -> None:
        team = await room.create("team", active=False)
        view = await view_of(room)
        before = (await room.facts()).revision
        receipt = await view.act("remember", {"content": " nox runs ", "memoryBodyId": team})
        assert (receipt.status, receipt.completion) == ("succeeded", "committed")
        assert receipt.committed_at == "2026-01-02T03:04:05.678Z"
        assert receipt.revision == (await room.facts()).revision != before
        assert receipt.details["memoryBodyId"] == team
        assert dict(receipt.details["result"]) == {
            "action": "stored",
            "provider": "mnemon-native",
            "id": "memory-1",
            "summary": "stored",
            "memoryBodyId": team,
            "memoryBodyName": "team",
            "memoryProviderId": "mnemon-native",
            "memoryProviderLabel": "Mnemon-native",
        }
        (body,) = (await room.read("body-directory"))["bodies"]
        assert body["active"] is True
        stored = room.native.namespaces[team].insights["memory-1"]
        assert (stored.content, stored.category, stored.importance, stored.source) == (
            "nox runs", "general", 3, "user",
        )  # fmt: skip

    async def test_a_duplicate_is_unknown_and_changes_nothing(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        view = await view_of(room)
        await view.act("remember", {"content": "nox"})
        before = (await room.facts()).revision
        receipt = await view.act("remember", {"content": "nox"})
        assert (receipt.status, receipt.completion) == ("partial", "unknown")
        assert (await room.facts()).revision == before

    @pytest.mark.parametrize(
        ("result", "status", "completion"),
        [
            ({"status": "queued"}, "succeeded", "accepted"),
            ({"state": "candidate"}, "succeeded", "candidate"),
            ({"status": "failed"}, "failed", "failed"),
            ({"status": "canceled"}, "cancelled", "cancelled"),
            ({"imported": 1, "errors": ["x"]}, "partial", "partial"),
            ("done", "partial", "unknown"),
            ({"id": object()}, "partial", "unknown"),
        ],
    )
    async def test_the_result_is_classified(
        self, room: Any, view_of: Make, team: str, result: Any, status: str, completion: str
    ) -> None:
        room.native.answer("remember", result)
        receipt = await (await view_of(room)).act("remember", {"content": "nox"})
        assert (receipt.status, receipt.completion) == (status, completion)
        assert receipt.committed_at is None
        assert receipt.details["result"]["memoryBodyId"] == team

    @pytest.mark.parametrize(
        ("error", "completion", "code"),
        [
            (ProviderRejected("too long"), "failed", "provider-rejected"),
            (WriteOutcomeUnknown("connection lost"), "unknown", "write-outcome-unknown"),
            (ProviderServerError("HTTP 500"), "unknown", "provider-server-error"),
            (ValueError("secret text"), "unknown", "provider-failed"),
        ],
    )
    async def test_an_error_proves_what_it_proves(
        self, room: Any, view_of: Make, team: str, error: Exception, completion: str, code: str
    ) -> None:
        room.native.fail("remember", error)
        receipt = await (await view_of(room)).act("remember", {"content": "nox"})
        assert receipt.completion == completion
        assert receipt.details["result"]["error"]["code"] == code
        assert "secret" not in str(receipt.details)

    async def test_the_space_may_be_left_out_where_there_is_one(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        one = await view_of(room)
        assert (await one.act("remember", {"content": "a"})).details["memoryBodyId"] == team
        await room.create("other")
        two = await view_of(room)
        assert await two.refused("remember", {"content": "b"}) == "space-required"

    async def test_the_spaces_to_choose_from_are_named(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        others = [await room.create(f"other {n}") for n in range(17)]
        view = await view_of(room)
        with pytest.raises(InputError) as caught:
            await view.act("remember", {"content": "b"})
        names = {team: "team", **{id: f"other {n}" for n, id in enumerate(others)}}
        assert caught.value.details == {"memoryBodyIds": sorted(names)}
        told = caught.value.message
        assert told.startswith("name the memoryBodyId; it may be one of: ")
        shown = [f"{id} ({names[id]})" in told for id in sorted(names)]
        assert shown == [True] * 16 + [False] * 2
        assert told.endswith(", and 2 more")

    async def test_without_a_space_to_choose_from_it_says_what_to_do(
        self, room: Any, view_of: Make
    ) -> None:
        await room.create("team", active=False)
        view = await view_of(room)
        with pytest.raises(InputError, match="make or activate one") as caught:
            await view.act("remember", {"content": "b"})
        assert caught.value.code == "space-required"

    async def test_a_space_the_view_does_not_know_is_refused(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        view = await view_of(room)
        later = await room.create("later")
        refused = {"content": "a", "memoryBodyId": later}
        assert await view.refused("remember", refused) == "space-outside-grant"

    async def test_a_space_it_created_may_be_written(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        view = await view_of(room)
        request = {"name": "mine", "description": "Made here."}
        made = await view.act("manage-spaces", {"operation": "create", "request": request})
        space = made.details["memoryBodyId"]
        receipt = await view.act("remember", {"content": "a", "memoryBodyId": space})
        assert receipt.completion == "committed"
        assert await view.refused("remember", {"content": "b"}) == "space-required"

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"content": "x" * 8_193}, "text-too-long"),
            ({"content": " "}, "text-required"),
            ({"importance": 6}, "number-range"),
            ({"importance": True}, "integer-range"),
            ({"category": "gossip"}, "category-unsupported"),
            ({"source": "nobody"}, "source-unsupported"),
            ({"tags": ["a,b"]}, "value-invalid"),
            ({"tags": ["a"] * 21}, "array-too-long"),
            ({"entities": ["a"] * 51}, "array-too-long"),
            ({"note": "x"}, "key-unknown"),
        ],
    )
    async def test_what_does_not_fit_is_refused(
        self, room: Any, view_of: Make, team: str, change: dict[str, Any], code: str
    ) -> None:
        view = await view_of(room)
        assert await view.refused("remember", {"content": "nox", **change}) == code
        assert room.native.namespaces[team].insights == {}

    async def test_a_provider_that_cannot_is_refused(self, make_room: Make, view_of: Make) -> None:
        room = make_room(native={"capabilities": {"search": True}})
        await room.create("team")
        view = await view_of(room)
        with pytest.raises(AuthorityError, match="'team', cannot take memories") as caught:
            await view.act("remember", {"content": "nox"})
        assert caught.value.code == "capability-missing"


@pytest.mark.requirement("memory-spaces:admitted")
class TestAdmitted:
    @pytest.fixture
    async def view(self, room: Any, view_of: Make, team: str) -> Any:
        await room.keep(team, "nox one", "nox two", "other")
        made = await view_of(room)
        await made.recall("nox")
        return made

    async def test_two_returned_memories_are_linked(self, view: Any, room: Any, team: str) -> None:
        link = {"sourceId": "memory-1", "targetId": "memory-2", "reason": "same tool"}
        receipt = await view.act("link", link)
        assert receipt.completion == "committed"
        assert room.native.namespaces[team].edges == [("memory-1", "memory-2", "semantic", 0.5)]

    @pytest.mark.parametrize(
        ("change", "code"),
        [
            ({"targetId": "memory-3"}, "evidence-not-admitted"),
            ({"sourceId": "memory-9"}, "evidence-not-admitted"),
            ({"memoryBodyId": "elsewhere"}, "evidence-not-admitted"),
            ({"weight": 1.5}, "number-range"),
            ({"type": "friendly"}, "type-unsupported"),
        ],
    )
    async def test_anything_else_is_not(self, view: Any, change: dict[str, Any], code: str) -> None:
        link = {"sourceId": "memory-1", "targetId": "memory-2", **change}
        assert await view.refused("link", link) == code

    async def test_a_returned_memory_is_forgotten(self, view: Any, room: Any, team: str) -> None:
        receipt = await view.act("forget", {"id": "memory-1"})
        assert receipt.completion == "committed"
        assert "memory-1" not in room.native.namespaces[team].insights
        assert await view.refused("forget", {"id": "memory-3"}) == "evidence-not-admitted"

    async def test_another_view_admits_nothing(self, view: Any, room: Any, view_of: Make) -> None:
        other = await view_of(room, "view:other")
        assert await other.refused("forget", {"id": "memory-1"}) == "evidence-not-admitted"

    async def test_the_space_must_still_be_granted(self, view: Any, room: Any) -> None:
        other = await room.create("other")
        room.source._memory.views.returned(view.id, [(other, "memory-7")])
        assert await view.refused("forget", {"id": "memory-7"}) == "space-outside-grant"

    async def test_only_the_last_128_views_are_remembered(
        self, view: Any, room: Any, view_of: Make
    ) -> None:
        for number in range(128):
            room.source._memory.views.created(f"view:{number}", "x")
        assert await view.refused("forget", {"id": "memory-1"}) == "evidence-not-admitted"


@pytest.mark.requirement("memory-spaces:manage-spaces")
class TestManageSpaces:
    async def test_a_space_is_created_where_the_configuration_says(
        self, room: Any, view_of: Make
    ) -> None:
        view = await view_of(room)
        request = {"name": "Team", "description": "What we agreed on.", "active": True}
        receipt = await view.act("manage-spaces", {"operation": "create", "request": request})
        assert receipt.completion == "committed"
        assert receipt.details["operation"] == "create"
        assert receipt.details["body"]["providerId"] == "mnemon-native"
        assert receipt.details["body"]["active"] is True

    async def test_a_named_provider_holds_it(self, room: Any, view_of: Make) -> None:
        await room.connect("beta")
        view = await view_of(room)
        request = {"name": "Team", "description": "x", "providerId": "beta"}
        receipt = await view.act("manage-spaces", {"operation": "create", "request": request})
        assert receipt.details["body"]["providerId"] == "beta"

    async def test_automatic_placement_needs_a_selection_among_several(
        self, make_room: Make, view_of: Make
    ) -> None:
        rules = {"allowedProviderIds": ["mnemon-native", "beta"]}
        room = make_room({"persistenceStrategy": {"mode": "automatic", "rules": rules}})
        request = {"name": "Team", "description": "x", "providerId": "alpha"}
        alone = await (await view_of(room)).act(
            "manage-spaces", {"operation": "create", "request": request}
        )
        # The rules left one Provider; what the model named does not count.
        assert alone.details["body"]["placement"]["decidedBy"] == "rules"
        await room.connect("beta")
        view = await view_of(room)
        create = {"operation": "create", "request": request}
        assert await view.refused("manage-spaces", create) == "placement-required"
        selection = {"providerId": "beta", "reason": "A log.", "confidence": "high"}
        receipt = await view.act("manage-spaces", {**create, "selection": selection})
        assert receipt.details["body"]["placement"]["decidedBy"] == "llm"
        assert receipt.details["body"]["providerId"] == "beta"

    async def test_title_description_and_activation_are_changed(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        view = await view_of(room)
        change = {"operation": "update", "memoryBodyId": team, "name": "Crew", "active": False}
        receipt = await view.act("manage-spaces", change)
        assert receipt.details["body"]["name"] == "Crew"
        assert receipt.details["body"]["active"] is False

    async def test_native_spaces_are_merged(self, room: Any, view_of: Make, team: str) -> None:
        other = await room.create("other")
        await room.keep(other, "nox")
        view = await view_of(room)
        merge = {
            "operation": "merge",
            "targetMemoryBodyId": team,
            "sourceMemoryBodyIds": [other],
        }
        receipt = await view.act("manage-spaces", merge)
        assert receipt.completion == "committed"
        assert receipt.details["imported"] == 1
        assert len(room.native.namespaces[team].insights) == 1

    @pytest.mark.parametrize(
        ("value", "code"),
        [
            ({"operation": "delete"}, "operation-unsupported"),
            ({"operation": "create"}, "field-required"),
            ({"operation": "update", "name": "x"}, "field-required"),
            ({"operation": "update", "memoryBodyId": "default"}, "change-empty"),
            ({"operation": "update", "memoryBodyId": "else", "name": "x"}, "space-outside-grant"),
            ({"operation": "merge"}, "field-required"),
            ({"operation": "merge", "targetMemoryBodyId": "default"}, "field-required"),
            (
                {
                    "operation": "merge",
                    "targetMemoryBodyId": "default",
                    "sourceMemoryBodyIds": ["else"],
                },
                "space-outside-grant",
            ),
        ],
    )
    async def test_what_is_missing_or_outside_is_refused(
        self, room: Any, view_of: Make, team: str, value: dict[str, Any], code: str
    ) -> None:
        assert await (await view_of(room)).refused("manage-spaces", value) == code


@pytest.mark.requirement("memory-spaces:read-only")
class TestGates:
    async def test_read_only_refuses_actions_that_were_offered_earlier(
        self, room: Any, make_room: Make, view_of: Make, team: str
    ) -> None:
        still = await view_of(make_room({"writeEnabled": False}))
        assert await still.refused("remember", {"content": "x"}) == "read-only"

    async def test_without_a_grant_nothing_is_written(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        view = await view_of(room)
        view.grant = None
        assert await view.refused("remember", {"content": "x"}) == "grant-missing"

    async def test_a_grant_that_knows_nothing_allows_nothing(
        self, room: Any, view_of: Make, team: str
    ) -> None:
        view = await view_of(room)
        view.grant = attrs.evolve(view.grant, value={})
        with pytest.raises(AuthorityError):
            await view.act("remember", {"content": "x", "memoryBodyId": team})

    async def test_an_unknown_action_is_refused(self, room: Any, view_of: Make) -> None:
        assert await (await view_of(room)).refused("erase", {}) == "action-unsupported"

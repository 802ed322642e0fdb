"""Facts, cover, grant and presentation (spec/sources.md §4.1, D25, D26)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import ConflictError, MnemonError
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import ProjectRequest, thaw
from dsh_mnemon_source_memory_spaces._memory import open_memory
from dsh_mnemon_source_memory_spaces.actions import MANIFEST

SEARCH_ONLY = {"capabilities": {"search": True}}


async def project(room: Any, **more: Any) -> Any:
    request = {
        "source_instance_key": room.key,
        "scope": room.scope,
        "expected_revision": more.pop("revision", None) or (await room.facts()).revision,
        "include_projection": True,
        "mode": "routed",
        "max_characters": 1_000,
        **more,
    }
    return await room.source.project(ProjectRequest(**request))


@pytest.mark.requirement("memory-spaces:manifest")
def test_the_manifest() -> None:
    assert (MANIFEST.type_id, MANIFEST.role) == ("memory-spaces", "durable-evidence")
    assert MANIFEST.consistency == "namespace-pinned-live-read"
    assert MANIFEST.capabilities == (
        "status", "project", "recall", "related", "write", "link", "forget",
    )  # fmt: skip
    ceilings = [(r.id, r.max_calls, r.max_results, r.max_characters) for r in MANIFEST.routes]
    assert ceilings == [
        ("inspect", 4, 1, 12_000),
        ("recall", 4, 20, 16_000),
        ("related", 4, 20, 16_000),
    ]
    assert [action.id for action in MANIFEST.actions] == [
        "manage-spaces", "remember", "link", "forget",
    ]  # fmt: skip


@pytest.mark.requirement("memory-spaces:facts")
class TestFacts:
    async def test_without_an_active_space_it_is_degraded(self, room: Any) -> None:
        facts = await room.facts()
        assert facts.availability == "degraded"
        assert facts.route_ids == ("inspect",)
        assert facts.action_ids == ("manage-spaces", "remember")
        assert facts.capabilities == ("status", "project", "write")
        assert thaw(facts.hints) == {"activeCount": 0, "providerCount": 3}

    async def test_an_active_space_brings_what_its_provider_can(self, room: Any) -> None:
        await room.create("team")
        facts = await room.facts()
        assert facts.availability == "ready"
        assert facts.route_ids == ("inspect", "recall", "related")
        assert facts.action_ids == ("manage-spaces", "remember", "link", "forget")
        assert facts.capabilities == MANIFEST.capabilities
        assert thaw(facts.hints) == {"activeCount": 1, "providerCount": 3}

    async def test_what_no_provider_can_is_not_offered(self, make_room: Callable[..., Any]) -> None:
        room = make_room(native=SEARCH_ONLY, alpha=SEARCH_ONLY, beta=SEARCH_ONLY)
        await room.create("team")
        facts = await room.facts()
        assert facts.route_ids == ("inspect", "recall")
        assert facts.action_ids == ("manage-spaces",)
        assert facts.capabilities == ("status", "project", "recall", "write")

    async def test_read_only_it_offers_no_action(
        self, make_room: Callable[..., Any], room: Any
    ) -> None:
        await room.create("team")
        facts = await make_room({"writeEnabled": False}).facts()
        assert facts.action_ids == ()
        assert facts.capabilities == ("status", "project", "recall", "related")

    async def test_no_provider_is_asked(self, room: Any) -> None:
        await room.connect("alpha", apiKey="alpha-secret")
        room.alpha.calls.clear()
        await room.facts()
        await project(room)
        assert room.alpha.calls == []

    async def test_a_damaged_registry_is_unavailable_and_can_still_be_read(
        self, room: Any, tmp_path: Path, make_room: Callable[..., Any]
    ) -> None:
        await room.create("team")
        file = tmp_path / "data" / ".dsh-memory-bodies.json"
        file.write_text("{", encoding="utf-8")
        broken = make_room()
        facts = await broken.facts()
        assert (facts.availability, facts.route_ids, facts.action_ids) == ("unavailable", (), ())
        assert thaw(facts.hints) == {"reason": "not-json", "file": str(file)}
        status = await broken.read("status")
        assert status["healthy"] is False
        assert str(file) in status["error"]
        with pytest.raises(MnemonError):
            await broken.change("body-create", {"request": {"name": "a", "description": "b"}})
        assert file.read_text(encoding="utf-8") == "{"

    async def test_a_damaged_external_file_takes_only_its_own_spaces(
        self, room: Any, tmp_path: Path, make_room: Callable[..., Any]
    ) -> None:
        await room.create("team")
        (tmp_path / "state").mkdir(exist_ok=True)
        file = tmp_path / "state" / "memory-providers.json"
        file.write_text("[]", encoding="utf-8")
        facts = await make_room().facts()
        assert facts.availability == "degraded"
        assert facts.hints["file"] == str(file)
        assert "recall" in facts.route_ids


@pytest.mark.requirement("memory-spaces:projection")
class TestProjection:
    async def test_the_cover_counts(self, room: Any) -> None:
        await room.create("team")
        assert (await project(room)).fragments[0].text == (
            "1 active of 1 configured Memory Space available through scoped recall."
        )
        await room.create("old", active=False)
        assert (await project(room)).fragments[0].text == (
            "1 active of 2 configured Memory Spaces available through scoped recall."
        )

    async def test_the_grant_names_active_and_known_spaces(self, room: Any) -> None:
        team = await room.create("team")
        old = await room.create("old", active=False)
        grant = (await project(room, include_projection=False)).read_grant
        assert (grant.schema, grant.consistency) == (
            "dsh-mnemon.memory-spaces/v1",
            "namespace-pinned-live-read",
        )
        assert thaw(grant.value) == {
            "memoryBodyIds": [team],
            "knownMemoryBodyIds": sorted([team, old]),
        }
        assert grant.id == f"{room.key}/grant/{grant.revision}"

    async def test_people_see_at_most_24_of_the_active_spaces(self, room: Any) -> None:
        """What is shown is what is visible; Core refuses more items than visible ones."""
        await room.create("Off", active=False)
        shown = (await project(room)).presentation
        assert (shown.visible_items, shown.total_items, shown.items) == (0, 1, ())
        for number in range(26):
            await room.create(f"Space {number}")
        shown = (await project(room)).presentation
        assert (shown.visible_items, shown.total_items, len(shown.items)) == (26, 27, 24)
        assert (shown.items[0].title, shown.items[0].excerpt) == ("Space 0", "About Space 0.")

    async def test_it_answers_from_the_capture_of_its_facts(self, room: Any) -> None:
        facts = await room.facts()
        await room.create("team")
        captured = await project(room, revision=facts.revision)
        assert captured.fragments[0].text.startswith("0 active of 0")

    async def test_without_a_capture_the_revision_must_be_the_current_one(self, room: Any) -> None:
        before = (await room.facts()).revision
        await room.create("team")
        elsewhere = OperationScope(storage="custom", session_id="another")
        with pytest.raises(ConflictError) as caught:
            await project(room, revision=before, scope=elsewhere)
        assert caught.value.code == "projection-revision-changed"
        now = (await room.facts()).revision
        assert (await project(room, revision=now, scope=elsewhere)).fragments

    async def test_captures_are_bounded(self, room: Any) -> None:
        first = await room.facts()
        space = await room.create("team")
        for number in range(64):
            room.clock.advance(1)
            await room.change("body-update", {"memoryBodyId": space, "name": f"Team {number}"})
            await room.facts()
        with pytest.raises(ConflictError):
            await project(room, revision=first.revision)


@pytest.mark.requirement("memory-spaces:revision")
async def test_the_revision_follows_what_is_registered_and_no_secret(
    room: Any, make_room: Callable[..., Any], tmp_path: Path
) -> None:
    seen = [(await room.facts()).revision]
    await room.connect("alpha", apiKey="alpha-secret")
    seen.append((await room.facts()).revision)
    file = tmp_path / "state" / "memory-providers.json"
    stored = json.loads(file.read_text(encoding="utf-8"))
    stored["services"]["alpha"]["apiKey"] = "another-secret"
    file.write_text(json.dumps(stored), encoding="utf-8")
    assert (await make_room().facts()).revision == seen[-1]
    room.clock.advance(timedelta(seconds=1).total_seconds())
    space = await room.create("team")
    seen.append((await room.facts()).revision)
    await room.change("remember", {"content": "x", "memoryBodyId": space})
    seen.append((await room.facts()).revision)
    assert len(set(seen)) == len(seen)


async def test_a_source_that_is_not_asked_makes_none_of_its_parts(
    make_room: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    def counted(*given: Any, **named: Any) -> Any:
        made.append(open_memory(*given, **named))
        return made[-1]

    monkeypatch.setattr("dsh_mnemon_source_memory_spaces._memory.open_memory", counted)
    await make_room().source.dispose()
    assert made == []
    room = make_room()
    for _ in range(2):
        assert (await room.facts()).source_type_id == "memory-spaces"
    await room.source.dispose()
    assert len(made) == 1

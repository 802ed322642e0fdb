"""Nothing that cannot be known is shown as nothing there (spec/sources.md §4.10, D25)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Insight,
    Page,
    ProviderUnavailable,
    SpaceStatus,
)
from dsh_mnemon_source_memory_spaces.testing.reference import EVERYTHING

Damage = Callable[[Path], None]

READS = {
    "body-directory": {},
    "bodies": {},
    "list": {},
    "search": {"query": "nox"},
    "related": {"id": "memory-1"},
    "graph": {},
    "entities": {},
}
WRITES = {
    "remember": {"content": "nox"},
    "remember-many": {"requests": [{"content": "nox"}]},
    "body-create": {"request": {"name": "New", "description": "New."}},
}
ROW = {
    "id": "second",
    "name": "Second",
    "description": "About second",
    "active": True,
    "createdAt": "2026-01-01T00:00:00.000Z",
    "updatedAt": "2026-01-02T00:00:00.000Z",
}


def registry(root: Path) -> Path:
    return root / "data" / ".dsh-memory-bodies.json"


def _rubbish(data: bytes) -> Damage:
    return lambda file: file.write_bytes(data)


def _truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


DAMAGES: dict[str, Damage] = {
    "truncated": _truncated,
    "empty": _rubbish(b""),
    "null": _rubbish(b"null"),
    "list": _rubbish(b"[]"),
    "deep": _rubbish(b'{"version": 1, "bodies": ' + b"[" * 100_000),
    "folder": _folder,
}


@pytest.mark.requirement("memory-spaces:gaps:unknown")
class TestNothingIsKnown:
    @pytest.mark.parametrize("how", DAMAGES)
    async def test_reads_and_writes_raise_the_fault(
        self, make_room: Any, tmp_path: Path, how: str
    ) -> None:
        room = make_room()
        await room.keep(await room.create("team"), "nox")
        DAMAGES[how](registry(tmp_path))
        for operation, value in READS.items():
            with pytest.raises(StorageError) as caught:
                await room.read(operation, value)
            assert caught.value.code == "store-damaged"
            assert caught.value.details["file"] == str(registry(tmp_path))
        for operation, value in WRITES.items():
            assert await room.refused(operation, value) == "store-damaged"
        shown = await room.read("status")
        assert not shown["healthy"]
        assert [fault["file"] for fault in shown["faults"]] == [str(registry(tmp_path))]

    async def test_a_file_that_may_not_be_read_is_no_empty_one(
        self, room: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await room.create("team")
        real = os.open

        def refused(path: Any, *more: Any, **named: Any) -> int:
            if str(path) == str(registry(tmp_path)):
                raise PermissionError(13, "Permission denied")
            return real(path, *more, **named)

        monkeypatch.setattr(os, "open", refused)
        for operation, value in READS.items():
            assert await room.refused(operation, value, mode="read") == "store-unreadable"

    async def test_a_later_release_is_not_damage_and_stays(self, room: Any, tmp_path: Path) -> None:
        data = json.dumps({"version": 3, "bodies": [], "more": 1}).encode()
        registry(tmp_path).parent.mkdir()
        registry(tmp_path).write_bytes(data)
        assert await room.refused("bodies", mode="read") == "registry-too-new"
        assert await room.refused("body-create", WRITES["body-create"]) == "registry-too-new"
        assert registry(tmp_path).read_bytes() == data
        assert [name for name in os.listdir(tmp_path / "data") if "corrupt" in name] == []

    async def test_an_empty_root_is_empty_and_complete(self, room: Any) -> None:
        listed = await room.read("bodies")
        assert (listed["bodies"], listed["complete"], "faults" in listed) == ([], True, False)
        assert (await room.read("search", {"query": "nox"}))["complete"]


@pytest.mark.requirement("memory-spaces:gaps:part")
class TestAPartIsKnown:
    @pytest.fixture
    async def part(self, room: Any, tmp_path: Path) -> Any:
        """One Space of a native Provider; the other registry file is damaged."""
        await room.keep(await room.create("team"), "nox runs", entities=["nox"])
        file = tmp_path / "state" / "memory-providers.json"
        file.parent.mkdir()
        file.write_bytes(b"?")
        return room

    @pytest.mark.parametrize("operation", [name for name in READS if name != "related"])
    async def test_the_rest_answers_and_names_the_file(
        self, part: Any, tmp_path: Path, operation: str
    ) -> None:
        answer = await part.read(operation, READS[operation])
        file = str(tmp_path / "state" / "memory-providers.json")
        assert answer["complete"] is False
        assert [(f["code"], f["file"]) for f in answer["faults"]] == [("store-damaged", file)]
        assert file in answer["hint"]
        held = next(answer[key] for key in ("bodies", "items", "results", "nodes", "entities")
                    if key in answer)  # fmt: skip
        assert len(held) == 1

    @pytest.mark.parametrize("operation", ["list", "search", "graph", "entities"])
    async def test_a_named_space_is_all_that_was_asked_for(self, part: Any, operation: str) -> None:
        answer = await part.read(operation, {**READS[operation], "memoryBodyIds": ["default"]})
        assert answer["complete"] is True
        assert "faults" not in answer

    async def test_a_model_is_told_without_the_folder(
        self, part: Any, view_of: Any, tmp_path: Path
    ) -> None:
        view = await view_of(part)
        found = await view.query("recall", {"query": "nox"})
        assert len(found.items) == 1
        assert "state/memory-providers.json is damaged" in found.metadata["hint"]
        nothing = await view.query("recall", {"query": "zebra"})
        assert "state/memory-providers.json is damaged" in nothing.unavailable
        assert str(tmp_path) not in f"{found.metadata}{nothing.unavailable}"

    @pytest.mark.parametrize(
        ("bad", "index", "space_id"),
        [
            ({**ROW, "active": "yes"}, 1, "second"),
            (7, 1, None),
            ({**ROW, "id": "default"}, 1, "default"),
        ],
    )
    async def test_a_bad_entry_takes_nothing_from_the_good_ones(
        self, make_room: Any, tmp_path: Path, bad: Any, index: int, space_id: str | None
    ) -> None:
        room = make_room()
        await room.keep(await room.create("team"), "nox")
        file = registry(tmp_path)
        stored = json.loads(file.read_bytes())
        data = json.dumps({**stored, "bodies": [*stored["bodies"], bad]}).encode()
        file.write_bytes(data)
        listed = await room.read("body-directory")
        assert [body["name"] for body in listed["bodies"]] == ["team"]
        (fault,) = listed["faults"]
        assert (fault["firstBadIndex"], fault.get("firstBadId")) == (index, space_id)
        assert len((await room.read("search", {"query": "nox"}))["results"]) == 1
        # The memory is kept although the file is not written.
        assert (await room.change("remember", {"content": "more"}))["completion"] == "committed"
        change = {"memoryBodyId": "default", "name": "Other"}
        assert await room.refused("body-update", change) == "store-damaged"
        assert await room.refused("body-create", WRITES["body-create"]) == "store-damaged"
        assert file.read_bytes() == data
        # The other file is not harmed.
        assert await room.connect("beta")


@pytest.mark.requirement("memory-spaces:gaps:complete")
class TestASpaceThatFails:
    @pytest.fixture
    async def two(self, room: Any) -> Any:
        await room.keep(await room.create("team"), "nox runs", entities=["nox"])
        (log,) = await room.connect("beta")
        await room.keep(log, "nox logs", entities=["nox"])
        return room

    @pytest.mark.parametrize("operation", ["list", "search", "graph", "entities"])
    async def test_every_read_shows_it_in_the_same_way(self, two: Any, operation: str) -> None:
        assert (await two.read(operation, READS[operation]))["complete"] is True
        two.beta.fail(operation, ProviderUnavailable("down"))
        answer = await two.read(operation, READS[operation])
        states = [(s["memoryBodyName"], s["status"], "hint" in s) for s in answer["sources"]]
        assert states == [("team", "ready", False), ("Log", "unavailable", True)]
        assert "Log: unavailable: down" in answer["hint"]
        assert answer["complete"] is False

    async def test_entities_of_an_unhealthy_space_are_missing(self, two: Any) -> None:
        two.beta.answer("status", SpaceStatus(healthy=False, error="locked"))
        answer = await two.read("entities")
        assert answer["hint"] == "Log: unavailable: locked"
        assert answer["complete"] is False

    async def test_what_cannot_be_shown_or_reached_is_not_complete(self, two: Any) -> None:
        rubbish: Any = (Insight(id="", content="x"),)
        two.native.answer("list", Page(items=rubbish))
        assert (await two.read("list"))["complete"] is False
        two.native.answer("list", Page(items=(Insight(id="a", content="x"),)))
        cut = await two.read("list", {"limit": 1, "memoryBodyIds": ["default"]})
        assert (cut["truncated"], cut["complete"]) == (True, False)

    async def test_a_page_with_more_to_come_is_complete(self, two: Any) -> None:
        await two.keep("default", "more")
        page = await two.read("list", {"limit": 1})
        assert "nextCursor" in page
        assert page["complete"] is True

    async def test_a_provider_without_entities_is_named(self, make_room: Any) -> None:
        room = make_room(beta={"capabilities": {**EVERYTHING, "entities": False}})
        await room.connect("beta")
        answer = await room.read("entities")
        assert [(s["status"], s["hint"]) for s in answer["sources"]] == [
            ("unsupported", "Beta knows no entities")
        ]
        assert answer["complete"] is False


@pytest.mark.requirement("memory-spaces:link:self")
async def test_a_memory_is_not_joined_to_itself(room: Any, view_of: Any) -> None:
    await room.keep(await room.create("team"), "nox")
    itself = {"sourceId": "memory-1", "targetId": "memory-1"}
    room.native.calls.clear()
    assert await room.refused("link", itself) == "link-self"
    view = await view_of(room)
    await view.recall("nox")
    assert await view.refused("link", itself) == "link-self"
    assert "link" not in [name for name, _ in room.native.calls]


@pytest.mark.requirement("memory-spaces:writes:exact")
class TestWhiteSpace:
    async def test_an_exact_write_keeps_every_character(self, room: Any) -> None:
        space = await room.create("team")
        contents = ["  code\n\tindented\n", "\n", "plain"]
        await room.keep(space, contents[0], contents[2])
        kept = [item.content for item in room.native.namespaces[space]]
        assert kept == [contents[0], contents[2]]
        blank = {"requests": [{"content": contents[1], "memoryBodyId": space}]}
        assert await room.refused("remember-many", blank) == "text-required"
        long = {"requests": [{"content": " " * 8_192 + "x"}]}
        assert await room.refused("remember-many", long) == "text-too-long"

    async def test_any_other_write_keeps_the_statement(self, room: Any) -> None:
        space = await room.create("team")
        await room.change("remember", {"content": " one \n"})
        await room.change("remember-many", {"requests": [{"content": " two "}], "exact": False})
        assert [item.content for item in room.native.namespaces[space]] == ["one", "two"]


@pytest.mark.requirement("memory-spaces:create:unwritable")
@pytest.mark.parametrize("closed", ["data", "."])
async def test_a_root_that_cannot_be_written_is_named(
    room: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    (tmp_path / "data").mkdir()
    folder, real = tmp_path / closed, os.access
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != folder and real(path, mode))
    adapter = room.source._memory.children.get("mnemon-native").adapter
    monkeypatch.setattr(adapter, "ready", lambda: False)
    with pytest.raises(StorageError) as caught:
        await room.change("body-create", WRITES["body-create"])
    assert caught.value.code == "store-unwritable"
    assert caught.value.details["file"] == str(folder)


@pytest.mark.requirement("memory-spaces:merge:crash")
async def test_a_merge_that_was_cut_off_is_shown_where_spaces_are(room: Any) -> None:
    for name in ("team", "crew"):
        await room.keep(await room.create(name), f"{name} notes")
    target, source = (body["id"] for body in (await room.read("bodies"))["bodies"])
    asked = {"targetMemoryBodyId": target, "sourceMemoryBodyIds": [source]}
    room.native.answer("import_draft", {"action": "imported", "imported": 0})
    assert (await room.change("body-merge", asked))["completion"] == "partial"
    began = [{"targetMemoryBodyId": target, "sourceMemoryBodyId": source}]
    for operation in ("status", "status-summary", "bodies", "body-directory"):
        shown = await room.read(operation)
        assert [
            {k: v for k, v in m.items() if k != "startedAt"} for m in shown["pendingMerges"]
        ] == (began)
        assert "a merge of 'crew' into 'team' that began at" in shown["hint"]
        assert shown["complete"] is True
    assert "a merge of 'crew'" in (await room.read("status"))["error"]
    room.native.heal()
    assert (await room.change("body-merge", asked))["completion"] == "committed"
    assert "pendingMerges" not in await room.read("status")

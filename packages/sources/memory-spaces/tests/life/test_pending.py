"""What was begun: said before, forgotten after, and shown in between (spec/sources.md §4.3)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_memory_spaces._registry.faults import Damage
from dsh_mnemon_source_memory_spaces._registry.journal import encode_pending, read_pending
from dsh_mnemon_source_memory_spaces._registry.migrations import DISCOVERED
from dsh_mnemon_source_memory_spaces._registry.pending import Pending
from dsh_mnemon_source_memory_spaces._registry.records import PendingMerge, SpaceRecord
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderBusy,
    ProviderRejected,
    ProviderTimeout,
    RememberRequest,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
CLAIM = SpaceRecord(
    id="one",
    name="One",
    description="About",
    active=True,
    provider_id="mnemon-native",
    created_at="2026-03-01T00:00:00.000Z",
    updated_at="2026-03-01T00:00:00.000Z",
)
MERGE = PendingMerge(target_id="t", source_id="s", started_at="2026-03-01T00:00:00.000Z")


def pending_file(life: Any) -> Path:
    path: Path = life.root / "data" / ".dsh-memory-bodies.pending.json"
    return path


@pytest.mark.requirement("memory-spaces:pending")
def test_it_is_read_as_it_was_written() -> None:
    pending = Pending(claims=(CLAIM,), merges=(MERGE,))
    data = encode_pending(pending)
    assert data is not None
    assert read_pending(data, {}).pending == pending
    assert encode_pending(Pending()) is None


@pytest.mark.requirement("memory-spaces:pending")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ([], "wrong-version"),
        ({"version": 2, "creating": [], "merging": []}, "newer-version"),
        ({"version": 1, "merging": []}, "wrong-version"),
        ({"version": 1, "creating": [7], "merging": []}, "invalid-entry"),
        ({"version": 1, "creating": [{"id": "a"}], "merging": []}, "invalid-entry"),
        ({"version": 1, "creating": [], "merging": [{"target": "t"}]}, "invalid-entry"),
    ],
)
def test_what_is_none_is_damage(value: Any, reason: str) -> None:
    with pytest.raises(Damage) as caught:
        read_pending(json.dumps(value).encode(), {})
    assert caught.value.reason == reason


@pytest.mark.requirement("memory-spaces:pending")
def test_it_settles_when_it_came_true_or_cannot_any_more() -> None:
    pending = Pending(claims=(CLAIM,), merges=(MERGE,))
    late = NOW + timedelta(minutes=11)
    assert pending.settled({"t", "s"}, NOW) == pending
    assert pending.settled({"t", "s", "one"}, NOW).claims == ()
    assert pending.settled({"t", "s"}, late).claims == ()
    assert pending.settled({"t"}, NOW).merges == ()
    other = attrs.evolve(CLAIM, name="Other")
    both = attrs.evolve(pending, claims=(CLAIM, other))
    assert both.claim("one") == CLAIM
    assert both.without(CLAIM).claims == (other,)
    again = pending.begun("t", ["s", "x"], late)
    assert [item.source_id for item in again.merges] == ["s", "x"]
    assert again.ended("t", ["s"]).ended("u", ["x"]).merges == again.merges[1:]


@pytest.mark.requirement("memory-spaces:create:crash")
async def test_a_store_that_others_find_first_has_its_name_already(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter, seen = life.adapter("mnemon-native"), []
    real = adapter.create_store

    async def create(store_id: str) -> None:
        await real(store_id)
        seen.extend((await life.spaces.current()).spaces)

    monkeypatch.setattr(adapter, "create_store", create)
    made = await life.spaces.create(NewSpace(name="Mine", description="About mine"))
    assert [(space.id, space.name, space.active) for space in seen] == [("default", "Mine", False)]
    assert made.name == "Mine"
    assert not pending_file(life).exists()


@pytest.mark.requirement("memory-spaces:create:crash")
async def test_an_engine_that_refuses_leaves_nothing(life: Any, stores: Any) -> None:
    stores.fail("create_store", ProviderRejected("no"))
    with pytest.raises(ProviderRejected):
        await life.spaces.create(NewSpace(name="Mine", description="About mine"))
    assert not pending_file(life).exists()
    # A store that is made by hand later is nobody's.
    folder = life.root / "data" / "default"
    folder.mkdir()
    (folder / "mnemon.db").touch()
    (space,) = (await life.spaces.current()).spaces
    assert space.description == DISCOVERED


@pytest.mark.requirement("memory-spaces:create:crash")
async def test_a_store_whose_making_timed_out_keeps_its_name(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    await life.spaces.create(NewSpace(name="First", description="First"))
    adapter = life.adapter("mnemon-native")
    real = adapter.create_store

    async def create(store_id: str) -> None:
        await real(store_id)
        raise ProviderTimeout("too late")

    monkeypatch.setattr(adapter, "create_store", create)
    with pytest.raises(ProviderTimeout):
        await life.spaces.create(NewSpace(name="Late", description="About late"))
    assert [space.name for space in (await life.spaces.current()).spaces] == ["First", "Late"]


@pytest.fixture
async def two(life: Any, stores: Any) -> Any:
    for name in ("Target", "Source"):
        await life.spaces.create(NewSpace(name=name, description=name, active=True))
    stores.namespaces["new-2"].keep("a", RememberRequest(content="nox"))
    return life


@pytest.mark.requirement("memory-spaces:merge:crash")
async def test_a_merge_is_told_until_it_is_complete(two: Any, stores: Any) -> None:
    stores.fail("import_draft", ProviderTimeout("too late"))
    with pytest.raises(ProviderTimeout):
        await two.spaces.merge("default", ["new-2"])
    (left,) = (await two.spaces.current()).pending_merges
    assert (left.target_id, left.source_id) == ("default", "new-2")
    stores.heal()
    await two.spaces.merge("default", ["new-2"])
    assert (await two.spaces.current()).pending_merges == ()
    assert not pending_file(two).exists()


@pytest.mark.requirement("memory-spaces:merge:crash")
async def test_a_merge_that_was_refused_is_not_told(two: Any, stores: Any) -> None:
    stores.fail("import_draft", ProviderBusy("later"))
    with pytest.raises(ProviderBusy):
        await two.spaces.merge("default", ["new-2"])
    assert (await two.spaces.current()).pending_merges == ()


@pytest.mark.requirement("memory-spaces:merge:crash")
async def test_a_merge_of_a_space_that_is_gone_is_forgotten(two: Any, stores: Any) -> None:
    stores.answer("import_draft", {"action": "imported", "imported": 0})
    await two.spaces.merge("default", ["new-2"])
    assert (await two.spaces.current()).pending_merges
    await two.spaces.remove("new-2")
    assert (await two.spaces.current()).pending_merges == ()


@pytest.mark.requirement("memory-spaces:pending")
async def test_a_damaged_file_blocks_only_what_needs_it(two: Any) -> None:
    pending_file(two).write_bytes(b"?")
    catalogue = await two.spaces.current()
    assert [fault.details["file"] for fault in catalogue.faults] == [str(pending_file(two))]
    assert len(catalogue.spaces) == 2
    await two.spaces.set_active("new-2", active=False)
    with pytest.raises(StorageError):
        await two.spaces.create(NewSpace(name="Third", description="Third"))
    with pytest.raises(StorageError):
        await two.spaces.merge("default", ["new-2"])
    assert pending_file(two).read_bytes() == b"?"

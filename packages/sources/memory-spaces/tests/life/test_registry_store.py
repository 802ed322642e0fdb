"""Reading, discovering, opening and changing a root's registry (sources.md §4.2, D25)."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import ConflictError, StorageError
from dsh_mnemon_core.files import LockTiming, StoreLock
from dsh_mnemon_source_memory_spaces._registry.migrations import DISCOVERED
from dsh_mnemon_source_memory_spaces._spaces import NewSpace
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderModule
from dsh_mnemon_source_memory_spaces.testing import (
    ReferenceService,
    reference_manifest,
    reference_provider,
)

Open = Callable[..., Awaitable[Any]]

NEW = NewSpace(name="First", description="About first")
TIMES = {"createdAt": "2026-01-01T00:00:00.000Z", "updatedAt": "2026-01-02T00:00:00.000Z"}
BODY = {"id": "one", "name": "One", "description": "About", "active": True, **TIMES}
SETTINGS = {"endpoint": "http://localhost:9000", "apiKey": "hush-hush"}


def write(path: Path, value: Any) -> bytes:
    data = value if isinstance(value, bytes) else f"{json.dumps(value, indent=2)}\n".encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return data


def store(root: Path, name: str) -> None:
    folder = root / "data" / name
    folder.mkdir(parents=True)
    (folder / "mnemon.db").touch()


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


# -- reading --------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:registry:refresh")
async def test_a_root_that_does_not_exist_stays_so(life: Any) -> None:
    catalogue = await life.spaces.current()
    assert catalogue.spaces == ()
    assert [service.provider_id for service in catalogue.services] == ["alpha"]
    assert not life.root.exists()


@pytest.mark.requirement("memory-spaces:registry:refresh")
async def test_every_read_sees_what_another_wrote(life: Any) -> None:
    write(life.native_file, {"version": 1, "bodies": [BODY]})
    before = await life.spaces.current()
    assert [space.name for space in before.spaces] == ["One"]
    write(life.native_file, {"version": 1, "bodies": [{**BODY, "name": "Two"}]})
    after = await life.spaces.current()
    assert [space.name for space in after.spaces] == ["Two"]
    assert after.revision != before.revision
    life.native_file.unlink()
    assert (await life.spaces.current()).spaces == ()


@pytest.mark.requirement("memory-spaces:registry:refresh")
async def test_an_unchanged_file_is_not_read_again(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(life.native_file, {"version": 1, "bodies": [BODY]})
    old = life.native_file.stat().st_mtime - 60
    os.utime(life.native_file, (old, old))
    first = await life.spaces.current()
    opened: list[object] = []
    real = open
    monkeypatch.setattr("builtins.open", lambda *a, **k: opened.append(a[0]) or real(*a, **k))
    assert (await life.spaces.current()).spaces == first.spaces
    assert life.native_file not in opened


@pytest.mark.requirement("memory-spaces:registry:order")
async def test_order_is_the_native_file_then_the_external_one(life: Any) -> None:
    write(life.native_file, {"version": 1, "bodies": [{**BODY, "id": "z"}, {**BODY, "id": "a"}]})
    rows = [
        {**BODY, "id": name, "providerId": "alpha", "connection": {}} for name in ("m", "b", "a")
    ]
    write(
        life.external_file,
        {"version": 4, "services": {"alpha": SETTINGS}, "enabled": {"alpha": True}, "bodies": rows},
    )
    catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.spaces] == ["z", "a", "m", "b"]
    assert catalogue.active == catalogue.spaces


@pytest.mark.requirement("memory-spaces:registry:unmounted")
async def test_what_belongs_to_nobody_mounted_is_kept_and_not_listed(life: Any) -> None:
    beta = {**BODY, "id": "beta-1", "providerId": "beta", "connection": {"x": 1}}
    off = {**BODY, "id": "alpha-1", "providerId": "alpha", "connection": {}}
    write(
        life.external_file,
        {
            "version": 4,
            "services": {"beta": {"key": "k"}},
            "enabled": {"beta": False},
            "bodies": [beta, off],
        },
    )
    catalogue = await life.spaces.current()
    assert catalogue.spaces == ()
    await life.spaces.create(NEW)
    kept = json.loads(life.external_file.read_bytes())
    assert kept["services"] == {"beta": {"key": "k"}}
    assert kept["enabled"] == {"beta": False}
    assert [body["id"] for body in kept["bodies"]] == ["beta-1"]


@pytest.mark.requirement("memory-spaces:registry:unmounted")
async def test_native_spaces_are_not_listed_without_their_provider(
    open_life: Open, alpha: ProviderModule
) -> None:
    life = await open_life(alpha)
    data = write(life.native_file, {"version": 1, "bodies": [BODY]})
    store(life.root, "other")
    catalogue = await life.spaces.current()
    assert catalogue.spaces == ()
    assert catalogue.native_id is None
    await life.spaces.service_update("alpha", SETTINGS)
    assert life.native_file.read_bytes() == data


# -- discovery of stores --------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:registry:stores")
async def test_stores_on_the_disk_are_registered_at_opening(life: Any) -> None:
    for name in ("two", "one", "-bad"):
        store(life.root, name)
    (life.root / "data" / "empty").mkdir()
    (life.root / "active").write_text("two\n", encoding="utf-8")
    catalogue = await life.spaces.current()
    shown = [(s.id, s.name, s.description, s.active, s.provider_id) for s in catalogue.spaces]
    assert shown == [
        ("one", "one", DISCOVERED, True, "mnemon-native"),
        ("two", "two", DISCOVERED, True, "mnemon-native"),
    ]
    assert catalogue.default_store == "two"
    assert [row["id"] for row in json.loads(life.native_file.read_bytes())["bodies"]] == [
        "one",
        "two",
    ]


@pytest.mark.requirement("memory-spaces:registry:opening")
async def test_once_open_reading_writes_nothing(life: Any) -> None:
    await life.spaces.create(NEW)
    await life.spaces.current()
    before = {name: (life.root / name).stat().st_mtime_ns for name in files(life.root)}
    store(life.root, "late")
    first = await life.spaces.current()
    life.clock.tick()
    second = await life.spaces.current()
    assert [space.id for space in second.spaces] == ["default", "late"]
    assert second.revision == first.revision
    assert {name: (life.root / name).stat().st_mtime_ns for name in before} == before
    await life.spaces.committed("default")
    rows = json.loads(life.native_file.read_bytes())["bodies"]
    assert [row["id"] for row in rows] == ["default", "late"]


@pytest.mark.requirement("memory-spaces:registry:opening")
async def test_opening_does_not_wait_for_a_lock(open_life: Open, native: ProviderModule) -> None:
    life = await open_life(native)
    store(life.root, "one")
    with StoreLock(life.root / "data" / ".dsh-memory-bodies.lock").held():
        catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.spaces] == ["one"]
    assert not life.native_file.exists()


@pytest.mark.requirement("memory-spaces:registry:stores")
@pytest.mark.parametrize("named", [b"../evil", b"\xff\xfe", b"", None])
async def test_a_default_that_is_no_name_is_default(life: Any, named: bytes | None) -> None:
    store(life.root, "default")
    store(life.root, "zzz")
    if named is not None:
        (life.root / "active").write_bytes(named)
    assert (await life.spaces.current()).default_store == "default"


@pytest.mark.requirement("memory-spaces:registry:stores")
async def test_the_configured_store_is_the_default(open_life: Open, native: ProviderModule) -> None:
    life = await open_life(native, config={"store": "main"})
    for name in ("aaa", "main"):
        store(life.root, name)
    catalogue = await life.spaces.current()
    assert catalogue.default_store == "main"
    assert [space.active for space in catalogue.spaces] == [True, True]


@pytest.mark.requirement("memory-spaces:registry:refresh")
async def test_while_nothing_changes_the_catalogue_is_the_same_value(life: Any) -> None:
    await life.spaces.create(NEW)
    old = life.native_file.stat().st_mtime - 60
    os.utime(life.native_file, (old, old))
    first = await life.spaces.current()
    assert await life.spaces.current() is first
    (life.root / "active").write_text("other", encoding="utf-8")
    assert await life.spaces.current() is not first


@pytest.mark.requirement("memory-spaces:registry:refresh")
async def test_a_native_provider_may_have_another_id(
    open_life: Open, stores: ReferenceService
) -> None:
    manifest = reference_manifest("local-engine", origin="native", fields=[], secrets=[])
    life = await open_life(reference_provider(stores, manifest=manifest))
    space = await life.spaces.create(NEW)
    assert space.provider_id == "local-engine"
    assert (await life.spaces.current()).spaces == (space,)
    renamed = await life.spaces.update(space.id, name="Other")
    assert (await life.spaces.current()).spaces == (renamed,)


# -- changing -------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:registry:migration")
async def test_a_legacy_file_is_split_over_both_files(life: Any) -> None:
    rows = [
        BODY,
        {**BODY, "id": "a", "providerId": "alpha", "connection": {**SETTINGS, "project": "one"}},
    ]
    write(life.native_file, {"version": 2, "bodies": rows})
    await life.spaces.current()
    native = json.loads(life.native_file.read_bytes())
    external = json.loads(life.external_file.read_bytes())
    assert (native["version"], [row["id"] for row in native["bodies"]]) == (1, ["one"])
    assert external["services"] == {"alpha": SETTINGS}
    assert [row["connection"] for row in external["bodies"]] == [{"project": "one"}]


@pytest.mark.requirement("memory-spaces:registry:migration")
async def test_a_split_that_was_cut_off_is_finished(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    moving = {**BODY, "id": "a", "providerId": "alpha", "connection": {**SETTINGS, "project": "p"}}
    write(life.native_file, {"version": 2, "bodies": [BODY, moving]})
    real = os.replace

    def replace(source: Any, target: Any) -> None:
        if Path(target) == life.native_file:
            raise OSError(5, "the power went")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    first = await life.spaces.current()
    assert life.external_file.exists()
    assert json.loads(life.native_file.read_bytes())["version"] == 2
    monkeypatch.undo()
    await life.spaces.committed("one")
    assert json.loads(life.native_file.read_bytes())["version"] == 1
    spaces = (await life.spaces.current()).spaces
    assert [space.id for space in spaces] == [space.id for space in first.spaces] == ["one", "a"]


@pytest.mark.requirement("memory-spaces:registry:migration")
async def test_a_legacy_space_stays_where_it_is_until_the_other_file_can_take_it(life: Any) -> None:
    legacy = {**BODY, "id": "a", "providerId": "alpha", "connection": {"project": "one"}}
    data = write(life.native_file, {"version": 2, "bodies": [BODY, legacy]})
    write(life.external_file, b"?")
    assert [space.id for space in (await life.spaces.current()).spaces] == ["one", "a"]
    assert await life.spaces.committed("one") is None
    assert life.native_file.read_bytes() == data


@pytest.mark.requirement("memory-spaces:registry:fence")
async def test_a_stale_revision_is_refused_under_the_lock(life: Any) -> None:
    first = await life.spaces.create(NEW)
    stale = (await life.spaces.current()).revision
    assert life.spaces.revision(await life.spaces.current()) == stale
    life.clock.tick()
    await life.spaces.update(first.id, name="Other", expected_revision=stale)
    data = life.native_file.read_bytes()
    calls: list[Callable[[], Awaitable[Any]]] = [
        lambda: life.spaces.update(first.id, name="No", expected_revision=stale),
        lambda: life.spaces.create(NEW, expected_revision=stale),
        lambda: life.spaces.remove(first.id, expected_revision=stale),
        lambda: life.spaces.set_active(first.id, active=True, expected_revision=stale),
        lambda: life.spaces.service_update("alpha", SETTINGS, expected_revision=stale),
        lambda: life.spaces.merge(first.id, ["x"], expected_revision=stale),
        lambda: life.spaces.update_metadata(
            [{"memoryBodyId": first.id, "title": "No", "description": "No"}],
            expected_revision=stale,
        ),
    ]
    for call in calls:
        with pytest.raises(ConflictError) as caught:
            await call()
        assert caught.value.code == "revision-conflict"
    assert life.native_file.read_bytes() == data
    assert not life.external_file.exists()
    assert life.adapter("mnemon-native").service.calls == [("create_store", "default")]


@pytest.mark.requirement("memory-spaces:registry:revision")
async def test_the_revision_moves_with_what_is_listed_and_with_nothing_else(life: Any) -> None:
    await life.spaces.create(NEW)
    await life.spaces.service_update("alpha", SETTINGS)
    first = await life.spaces.current()
    content = life.external_file.read_text(encoding="utf-8")
    life.external_file.write_text(content.replace("hush-hush", "other-key"), encoding="utf-8")
    assert (await life.spaces.current()).revision == first.revision
    life.clock.tick()
    await life.spaces.committed("default")
    assert (await life.spaces.current()).revision != first.revision
    empty = attrs.evolve(first, spaces=(), services=())
    wanted = hashlib.sha256(b'{"bodies":[],"services":[]}').hexdigest()
    assert empty.revision == wanted


@pytest.mark.requirement("memory-spaces:registry:locked")
async def test_a_lock_that_is_not_freed_is_an_error(
    open_life: Open, native: ProviderModule
) -> None:
    life = await open_life(native, timing=LockTiming(guard=0.0, file=0.0))
    await life.spaces.create(NEW)
    with StoreLock(life.root / "data" / ".dsh-memory-bodies.lock").held():
        with pytest.raises(StorageError) as caught:
            await life.spaces.update("default", name="Other")
        assert caught.value.code == "lock-timeout"
        assert await life.spaces.committed("default") is None


@pytest.mark.requirement("memory-spaces:registry:bytes")
async def test_an_unwritable_root_is_told(life: Any) -> None:
    life.root.write_text("a file", encoding="utf-8")
    assert (await life.spaces.current()).spaces == ()
    with pytest.raises(StorageError) as caught:
        await life.spaces.create(NEW)
    assert caught.value.code == "store-unwritable"


@pytest.mark.requirement("memory-spaces:registry:bytes")
async def test_an_external_file_that_cannot_be_removed_is_told(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(life.external_file, {"version": 4, "services": {}, "enabled": {}, "bodies": []})

    def refuse(path: Path, missing_ok: bool = False) -> None:
        if path == life.external_file:
            raise PermissionError(13, "no")
        real(path, missing_ok)

    real = Path.unlink
    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(StorageError) as caught:
        await life.spaces.create(NEW)
    assert caught.value.code == "store-unwritable"
    monkeypatch.undo()
    await life.spaces.create(NEW)
    assert not life.external_file.exists()


# -- a folder that is closed, a later release, keys of somebody else -------------------------------

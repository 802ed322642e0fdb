"""Reading, discovering, opening, damaging and changing a root's registry (sources.md §4.2, D25)."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import ConflictError, StorageError
from dsh_mnemon_core.files import LockTiming, StoreLock
from dsh_mnemon_source_memory_spaces._registry.faults import DamagedRegistry
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


def assert_copy(name: str, data: bytes) -> None:
    copy = Path(name)
    assert copy.name.startswith(".dsh-memory-bodies.json.corrupt-2026")
    assert copy.read_bytes() == data
    if os.name == "posix":
        assert copy.stat().st_mode & 0o777 == 0o600


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_a_damaged_native_file_is_told_kept_and_copied(life: Any) -> None:
    data = write(life.native_file, b'{"version": 1, "bodies": [')
    store(life.root, "one")
    catalogue = await life.spaces.current()
    (fault,) = catalogue.faults
    assert isinstance(fault, DamagedRegistry)
    assert fault.code == "store-damaged"
    assert fault.details["file"] == str(life.native_file)
    assert_copy(fault.details["copy"], data)
    assert catalogue.spaces == ()
    with pytest.raises(DamagedRegistry):
        catalogue.get("one")
    with pytest.raises(DamagedRegistry):
        await life.spaces.create(NEW)
    with pytest.raises(DamagedRegistry):
        await life.spaces.set_active("one", active=True)
    assert await life.spaces.committed("one") is None
    assert life.native_file.read_bytes() == data
    assert len(list(life.native_file.parent.glob("*.corrupt-*"))) == 1
    assert [name for name, _ in life.adapter("mnemon-native").service.calls] == []


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_a_damaged_external_file_does_not_hide_native_spaces(life: Any) -> None:
    write(life.native_file, {"version": 1, "bodies": [BODY]})
    data = write(life.external_file, {"version": 5, "bodies": []})
    catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.spaces] == ["one"]
    assert [fault.details["reason"] for fault in catalogue.faults] == ["newer-version"]
    assert (await life.spaces.committed("one")).active
    await life.spaces.create(NEW)
    with pytest.raises(DamagedRegistry):
        await life.spaces.service_update("alpha", SETTINGS)
    with pytest.raises(DamagedRegistry):
        await life.spaces.service_update("alpha", {}, enabled=False)
    assert life.external_file.read_bytes() == data


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_a_damaged_native_file_does_not_hide_external_spaces(life: Any) -> None:
    data = write(life.native_file, b"[]")
    await life.spaces.service_update("alpha", SETTINGS)
    catalogue = await life.spaces.current()
    assert [space.name for space in catalogue.spaces] == ["Proj/one", "Proj/two"]
    assert len(catalogue.faults) == 1
    assert life.native_file.read_bytes() == data


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_the_first_bad_entry_is_named(life: Any) -> None:
    write(life.native_file, {"version": 1, "bodies": [BODY, {**BODY, "id": "two", "active": 1}]})
    (fault,) = (await life.spaces.current()).faults
    assert fault.details["reason"] == "invalid-entry"
    assert fault.details["firstBadIndex"] == 1
    assert "entry 1" in fault.message


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_a_repaired_file_is_read_at_once(life: Any) -> None:
    write(life.native_file, b"")
    assert (await life.spaces.current()).faults
    write(life.native_file, {"version": 1, "bodies": [BODY]})
    catalogue = await life.spaces.current()
    assert catalogue.faults == ()
    assert catalogue.get("one").name == "One"


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_damage_found_later_is_copied_by_the_next_change(life: Any) -> None:
    await life.spaces.create(NEW)
    await life.spaces.current()
    write(life.external_file, b"garbage")
    assert (await life.spaces.current()).faults
    assert not list(life.external_file.parent.glob("*.corrupt-*"))
    await life.spaces.committed("default")
    life.clock.tick()
    await life.spaces.committed("default")
    (copy,) = life.external_file.parent.glob("*.corrupt-*")
    assert copy.read_bytes() == b"garbage"
    write(life.external_file, b"rubbish")
    await life.spaces.committed("default")
    assert len(list(life.external_file.parent.glob("*.corrupt-*"))) == 2


@pytest.mark.requirement("memory-spaces:registry:damaged")
@pytest.mark.skipif(os.name != "posix", reason="needs links and permissions of POSIX")
async def test_what_is_no_file_or_cannot_be_read_is_a_fault(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    life.native_file.mkdir(parents=True)
    (fault,) = (await life.spaces.current()).faults
    assert fault.details["reason"] == "not-a-regular-file"
    shutil.rmtree(life.native_file)
    life.native_file.symlink_to(life.native_file)
    (fault,) = (await life.spaces.current()).faults
    assert (fault.code, fault.details["reason"]) == ("store-unreadable", "ELOOP")
    life.native_file.unlink()
    module = "dsh_mnemon_source_memory_spaces._registry.reading"
    monkeypatch.setattr(f"{module}._MAX_BYTES", 3)
    write(life.native_file, {"version": 1, "bodies": []})
    (fault,) = (await life.spaces.current()).faults
    assert fault.details["reason"] == "too-large"
    with pytest.raises(DamagedRegistry):
        await life.spaces.create(NEW)


@pytest.mark.requirement("memory-spaces:registry:links")
@pytest.mark.skipif(os.name != "posix", reason="needs links")
async def test_a_linked_file_is_written_through_its_link(life: Any, tmp_path: Path) -> None:
    for path in (life.native_file, life.external_file):
        path.parent.mkdir(parents=True)
        path.symlink_to(tmp_path / f"real-{path.name}")
    write(tmp_path / f"real-{life.native_file.name}", {"version": 1, "bodies": [BODY]})
    empty = {"version": 4, "services": {}, "enabled": {}, "bodies": []}
    write(tmp_path / f"real-{life.external_file.name}", empty)
    await life.spaces.current()
    assert not life.external_file.is_symlink()
    assert not (tmp_path / f"real-{life.external_file.name}").exists()
    await life.spaces.update("one", name="Linked")
    assert life.native_file.is_symlink()
    assert b"Linked" in (tmp_path / f"real-{life.native_file.name}").read_bytes()


@pytest.mark.requirement("memory-spaces:registry:links")
@pytest.mark.skipif(os.name != "posix", reason="needs links")
async def test_a_link_that_leads_nowhere_is_damage(life: Any, tmp_path: Path) -> None:
    store(life.root, "one")
    life.native_file.symlink_to(tmp_path / "unplugged" / "bodies.json")
    catalogue = await life.spaces.current()
    assert [fault.details["reason"] for fault in catalogue.faults] == ["dangling-link"]
    assert catalogue.spaces == ()
    with pytest.raises(DamagedRegistry):
        await life.spaces.create(NEW)


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


@pytest.mark.requirement("memory-spaces:registry:closed")
async def test_a_closed_folder_takes_only_its_own_space(
    life: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("one", "two", "three"):
        store(life.root, name)
    await life.spaces.current()
    real = os.stat

    def closed(path: Any, **named: Any) -> Any:
        if str(path).startswith((f"{life.root}/data/two/", f"{life.root}/data/late/")):
            raise PermissionError(13, "Permission denied")
        return real(path, **named)

    store(life.root, "late")
    monkeypatch.setattr(os, "stat", closed)
    assert [space.id for space in (await life.spaces.current()).spaces] == ["one", "three", "two"]
    await life.spaces.create(NEW)
    # What cannot be looked at is not taken for gone.
    with pytest.raises(StorageError) as caught:
        await life.spaces.remove("two")
    assert caught.value.code == "store-unreadable"
    assert (await life.spaces.current()).find("two")


@pytest.mark.requirement("memory-spaces:registry:newer")
@pytest.mark.parametrize(("file", "version"), [("native_file", 3), ("external_file", 5)])
async def test_a_file_of_a_later_release_is_refused_and_not_touched(
    life: Any, file: str, version: int
) -> None:
    data = write(getattr(life, file), {"version": version, "bodies": [BODY], "unknown": True})
    (fault,) = (await life.spaces.current()).faults
    assert (fault.code, fault.details["reason"]) == ("registry-too-new", "newer-version")
    call = (
        life.spaces.create(NEW)
        if file == "native_file"
        else life.spaces.service_update("alpha", SETTINGS)
    )
    with pytest.raises(DamagedRegistry) as caught:
        await call
    assert caught.value.code == "registry-too-new"
    assert getattr(life, file).read_bytes() == data
    assert [name for name in files(life.root) if "corrupt" in name] == []


@pytest.mark.requirement("memory-spaces:registry:newer")
@pytest.mark.parametrize("version", [1, 2])
async def test_keys_that_are_not_known_are_kept(life: Any, version: int) -> None:
    more = {"pinned": {"by": ["me"]}, "rank": 7}
    write(life.native_file, {"version": version, "bodies": [{**BODY, **more}], "since": "2027"})
    row = {**BODY, "id": "alpha-1", "providerId": "alpha", "connection": {}, **more}
    known = {"services": {"alpha": SETTINGS}, "enabled": {"alpha": True}, "bodies": [row]}
    write(life.external_file, {"version": 4, **known, "since": "2027"})
    for space_id in ("one", "alpha-1"):
        await life.spaces.update(space_id, name="Renamed")
    for file in (life.native_file, life.external_file):
        stored = json.loads(file.read_bytes())
        (kept,) = stored["bodies"]
        assert (kept["name"], kept["pinned"], kept["rank"]) == ("Renamed", more["pinned"], 7)
        assert stored["since"] == "2027"


@pytest.mark.requirement("memory-spaces:registry:newer")
async def test_a_key_that_could_not_be_written_back_makes_its_entry_bad(life: Any) -> None:
    data = write(
        life.native_file, {"version": 1, "bodies": [BODY, {**BODY, "id": "b", "x": 2**60}]}
    )
    catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.spaces] == ["one"]
    assert catalogue.faults[0].details["firstBadId"] == "b"
    assert life.native_file.read_bytes() == data


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_one_bad_entry_of_a_legacy_file_leaves_it_whole(life: Any) -> None:
    legacy = {**BODY, "id": "a", "providerId": "alpha", "connection": {"project": "one"}}
    data = write(life.native_file, {"version": 2, "bodies": [BODY, legacy, 7]})
    catalogue = await life.spaces.current()
    assert catalogue.spaces == ()
    assert life.native_file.read_bytes() == data


@pytest.mark.requirement("memory-spaces:registry:damaged")
async def test_one_bad_external_entry_leaves_the_others(life: Any) -> None:
    row = {**BODY, "id": "alpha-1", "providerId": "alpha", "connection": {}}
    known = {"services": {"alpha": SETTINGS}, "enabled": {"alpha": True}}
    data = write(life.external_file, {"version": 4, **known, "bodies": [row, {**row, "name": 7}]})
    catalogue = await life.spaces.current()
    assert [space.id for space in catalogue.spaces] == ["alpha-1"]
    assert catalogue.unknown is None
    await life.spaces.create(NEW)
    with pytest.raises(DamagedRegistry):
        await life.spaces.set_active("alpha-1", active=False)
    assert life.external_file.read_bytes() == data


@pytest.mark.requirement("memory-spaces:registry:opening")
async def test_another_order_of_keys_is_no_reason_to_write(life: Any) -> None:
    row = {"active": True, "providerId": "alpha", "metadataSource": "manual", "connection": {}}
    known = {"services": {"alpha": SETTINGS}, "enabled": {"alpha": True}}
    data = write(life.external_file, {"version": 4, **known, "bodies": [{**BODY, **row}]})
    assert [space.id for space in (await life.spaces.current()).spaces] == ["one"]
    assert life.external_file.read_bytes() == data

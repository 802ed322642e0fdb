"""A registry that is damaged, foreign or of another release (sources.md §4.2, D25)."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_memory_spaces._registry.faults import DamagedRegistry
from dsh_mnemon_source_memory_spaces._spaces import NewSpace

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
@pytest.mark.parametrize("tail", [b', "bodies": []}', b', "extra": 1e400}', b', "x": NaN}'])
@pytest.mark.parametrize("which", ["native_file", "external_file"])
async def test_what_the_next_write_would_drop_or_change_is_damage(
    life: Any, which: str, tail: bytes
) -> None:
    await life.spaces.create(NEW)
    await life.spaces.service_update("alpha", SETTINGS)
    file = getattr(life, which)
    data = write(file, file.read_bytes().rstrip().removesuffix(b"}") + tail)
    (fault,) = (await life.spaces.current()).faults
    assert (fault.code, fault.details["reason"]) == ("store-damaged", "not-json")
    is_native = which == "native_file"
    change = life.spaces.create(NEW) if is_native else life.spaces.service_update("alpha", SETTINGS)
    with pytest.raises(DamagedRegistry):
        await change
    assert file.read_bytes() == data


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

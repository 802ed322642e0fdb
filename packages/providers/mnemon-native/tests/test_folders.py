"""Where stores lie (spec/mnemon-native.md §1)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native._store.folders import Folders
from dsh_mnemon_provider_mnemon_native.errors import (
    InvalidInput,
    StoreExists,
    StoreMissing,
    StoreReadOnly,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderConflict

pytestmark = pytest.mark.requirement("native:folders")


def test_stores_are_listed_in_byte_order_and_a_folder_counts(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    assert folders.stores() == []
    for name in ("b", "B", "a-1"):
        folders.create(name)
    (tmp_path / "data" / ".hidden").mkdir()
    (tmp_path / "data" / "file").write_text("no folder", encoding="utf-8")
    assert folders.stores() == ["B", "a-1", "b"]
    assert folders.exists("b")
    assert not folders.exists("c")


def test_the_folder_of_stores_is_readable_and_a_store_is_private(tmp_path: Path) -> None:
    path = Folders(tmp_path).create("one")
    assert path == tmp_path / "data" / "one" / "mnemon.db"
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o755


@pytest.mark.parametrize("name", ["", "-x", "bad name", "../up", ".", "a/b", "ä"])
def test_other_names_are_no_stores(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        Folders(tmp_path).create(name)


@pytest.mark.parametrize("content", [None, b"", b"  \n", b"bad name", b"\xff"])
def test_without_a_named_one_the_default_store_is_default(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / "active").write_bytes(content)
    assert Folders(tmp_path).default() == "default"


def test_the_default_store_is_named_in_a_file(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    folders.create("work")
    folders.set_default("work")
    assert (tmp_path / "active").read_text(encoding="utf-8") == "work\n"
    assert folders.default() == "work"
    with pytest.raises(StoreMissing):
        folders.set_default("never")


def test_a_store_is_made_once_and_the_default_one_stays(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    folders.create("work")
    with pytest.raises(StoreExists):
        folders.create("work")
    folders.set_default("work")
    with pytest.raises(ProviderConflict):
        folders.remove("work")
    folders.create("default")
    folders.set_default("default")
    folders.remove("work")
    assert folders.stores() == ["default"]
    with pytest.raises(StoreMissing):
        folders.remove("work")


def test_what_the_system_refuses_names_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = Folders(tmp_path)
    folders.create("one")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(StoreReadOnly, match="one") as removing:
        folders.remove("one")
    assert removing.value.details["file"].endswith("one")
    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(StoreReadOnly, match="two"):
        folders.create("two")
    (tmp_path / "mnemon.db").write_bytes(b"old")
    with pytest.raises(StoreReadOnly, match="moved"):
        folders.adopt_old_file()


def test_the_file_of_the_first_versions_becomes_the_default_store(tmp_path: Path) -> None:
    folders = Folders(tmp_path)
    for name in ("mnemon.db", "mnemon.db-wal"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    folders.adopt_old_file()
    folder = tmp_path / "data" / "default"
    assert sorted(file.name for file in folder.iterdir()) == ["mnemon.db", "mnemon.db-wal"]
    (tmp_path / "mnemon.db").write_text("another", encoding="utf-8")
    folders.adopt_old_file()
    assert (folder / "mnemon.db").read_text(encoding="utf-8") == "mnemon.db"
    assert os.listdir(tmp_path / "data") == ["default"]


def test_a_refusal_names_the_folder_and_not_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = Folders(tmp_path)
    folders.create("one")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("shutil.rmtree", refuse)
    with pytest.raises(StoreReadOnly) as raised:
        folders.remove("one")
    assert raised.value.message == "data/one cannot be removed: Permission denied"
    assert raised.value.details["file"] == str(tmp_path / "data" / "one")

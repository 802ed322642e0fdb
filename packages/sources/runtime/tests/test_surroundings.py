"""What may stand in place of a store's files, and around them (spec/sources.md §2.7, D25)."""

from __future__ import annotations

import errno
import json
import os
import socket
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_runtime import _files
from dsh_mnemon_source_runtime._changes import Steps
from dsh_mnemon_source_runtime._format import decode
from dsh_mnemon_source_runtime._store import RuntimeStore
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Limits

STEPS = Steps(limits=Limits(), now="2026-03-01T12:00:00.000Z")


ROW = {
    "content": " a  b ",
    "created_at": "x",
    "updated_at": "y",
    "target": "memory",
    "importance": "low",
}
MESSY = json.dumps({"version": 1, "entries": [ROW]})


def add(content: str, target: str = "memory") -> Any:
    return STEPS.mutate(read_mutation({"action": "add", "target": target, "content": content}))


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def put(folder: Path, **content: str) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in content.items():
        known = {"store": "memories.json", "user": "USER.md", "memory": "MEMORY.md"}
        (folder / known[name]).write_text(text, encoding="utf-8", newline="")


def text_of(path: Path) -> str:
    return path.read_bytes().decode()


def make_folder(path: Path) -> None:
    path.mkdir()


def leave(path: Path) -> None:
    path.write_bytes(b"")
    os.utime(path, (1, 1))


def refusing(error: int) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(error, os.strerror(error))

    return refuse


def stand_in(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        here = os.getcwd()
        os.chdir(path.parent)  # a socket's path is short
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
        os.chdir(here)
    else:
        path.symlink_to(os.devnull)


@pytest.mark.requirement("runtime:files:damaged")
class TestStandIns:
    @pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link to a device"])
    async def test_what_is_no_file_is_neither_waited_for_nor_replaced(
        self, store: RuntimeStore, folder: Path, kind: str
    ) -> None:
        put(folder)
        path = folder / "memories.json"
        stand_in(path, kind)
        assert store.diagnose()["reason"] == "not-a-regular-file"
        with pytest.raises(StorageError) as caught:
            await store.change(add("one"))
        assert caught.value.code == "store-damaged"
        assert names(folder) == [".memories.lock.guard", "memories.json"]

    async def test_an_enormous_file_is_not_read(self, store: RuntimeStore, folder: Path) -> None:
        put(folder, store="")
        os.truncate(folder / "memories.json", _files.MAX_BYTES + 1)
        with pytest.raises(StorageError) as caught:
            await store.open()
        assert caught.value.details["reason"] == "too-large"


@pytest.mark.requirement("runtime:files:link")
class TestLinks:
    async def test_writes_go_through_a_link(
        self, store: RuntimeStore, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder)
        kept = tmp_path / "kept"
        kept.mkdir()
        (kept / "store.json").write_text(MESSY, encoding="utf-8")
        leave(kept / ".store.json.12.1700000000000.0f.tmp")
        (folder / "memories.json").symlink_to(Path("..") / "kept" / "store.json")
        staged: list[str] = []
        real = os.replace

        def watch(source: Path, target: Path) -> None:
            staged.append(source.parent.name)
            real(source, target)

        monkeypatch.setattr(os, "replace", watch)
        await store.open()
        await store.change(add("more"))
        assert (folder / "memories.json").is_symlink()
        stored = decode((kept / "store.json").read_bytes())
        assert [entry.content for entry in stored] == ["a b", "more"]
        assert names(kept) == ["store.json"]
        assert staged[3::4] == ["kept", "kept"]

    async def test_a_link_that_leads_nowhere_is_no_empty_store(
        self, store: RuntimeStore, folder: Path, tmp_path: Path
    ) -> None:
        put(folder, memory="mine\n")
        (folder / "memories.json").symlink_to(tmp_path / "unmounted" / "store.json")
        for call in (store.open, lambda: store.change(add("one"))):
            with pytest.raises(StorageError) as caught:
                await call()
            assert caught.value.code == "store-damaged"
            assert caught.value.details["reason"] == "dangling-link"
        assert text_of(folder / "MEMORY.md") == "mine\n"
        assert not (tmp_path / "unmounted").exists()


@pytest.mark.requirement("runtime:management:surroundings")
class TestSurroundings:
    def around(self, store: RuntimeStore) -> dict[str, Any]:
        report = store.diagnose()
        assert report["readable"] is True
        return {key: report[key] for key in report if key not in ("file", "readable")}

    async def test_a_healthy_store_has_none(self, store: RuntimeStore, folder: Path) -> None:
        await store.change(add("one"))
        put(folder, memory="mine\n")
        await store.change(add("two"))
        assert self.around(store) == {}

    @pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link to a device"])
    @pytest.mark.parametrize("name", ["USER.md", "MEMORY.md"])
    async def test_markdown_that_is_no_file_refuses_the_write_and_is_named(
        self, store: RuntimeStore, folder: Path, kind: str, name: str
    ) -> None:
        await store.change(add("one"))
        (folder / name).unlink()
        stand_in(folder / name, kind)
        with pytest.raises(StorageError) as caught:
            await store.change(add("two"))
        where = {"file": str(folder / name), "reason": "not-a-regular-file"}
        assert (caught.value.code, caught.value.details) == ("store-unreadable", where)
        assert self.around(store) == {"blocked": [where]}
        assert [entry.content for entry in store.read().entries] == ["one"]

    async def test_markdown_links_are_replaced(
        self, store: RuntimeStore, folder: Path, tmp_path: Path
    ) -> None:
        put(folder)
        (folder / "MEMORY.md").symlink_to(tmp_path / "nowhere.md")
        assert self.around(store) == {}
        await store.change(add("one"))
        assert not (folder / "MEMORY.md").is_symlink()
        assert text_of(folder / "MEMORY.md") == "one\n"

    def test_whatever_a_write_needs_is_looked_at(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder)
        leave(folder / "edited")
        make_folder(folder / "archived")
        make_folder(folder / "archived" / "MEMORY.jsonl")
        make_folder(folder / ".rendered.json")
        leave(folder / "USER.md")
        os.truncate(folder / "USER.md", _files.MAX_BYTES + 1)
        assert [(Path(x["file"]).name, x["reason"]) for x in self.around(store)["blocked"]] == [
            ("edited", "not-a-directory"),
            ("USER.md", "too-large"),
            (".rendered.json", "not-a-regular-file"),
            ("MEMORY.jsonl", "not-a-regular-file"),
        ]
        (folder / "USER.md").unlink()
        leave(folder / "USER.md")
        monkeypatch.setattr(os, "open", refusing(errno.EACCES))
        reasons = {x["file"]: x["reason"] for x in self.around(store)["blocked"]}
        assert reasons[str(folder / "USER.md")] == "EACCES"

    @pytest.mark.parametrize(
        ("content", "age", "state"),
        [
            (b"", 5, "held"),
            (b"", -3600, "future"),
            (b"", 31, None),
            (b"dsh-mnemon 1", 5, None),
            (None, 5, "not-a-regular-file"),
        ],
    )
    def test_a_lock_of_somebody_else_is_told_with_its_time(
        self, store: RuntimeStore, folder: Path, content: bytes | None, age: int, state: str | None
    ) -> None:
        put(folder)
        lock = folder / ".memories.lock"
        if content is None:
            lock.mkdir()
        else:
            lock.write_bytes(content)
        modified = int(time.time()) - age
        os.utime(lock, (modified, modified))
        told = self.around(store).get("lock")
        assert (told and told["state"]) == state
        if told:
            assert told["file"] == str(lock)
            stamp = datetime.fromisoformat(told["modifiedAt"])
            assert int(stamp.timestamp()) == modified

    def test_a_lock_that_cannot_be_read_is_no_news(self, store: RuntimeStore, folder: Path) -> None:
        put(folder)
        leave(folder / ".memories.lock")
        os.truncate(folder / ".memories.lock", _files.MAX_BYTES + 1)
        assert self.around(store) == {}

    def test_odd_lines_of_the_archive_are_counted(self, store: RuntimeStore, folder: Path) -> None:
        put(folder)
        make_folder(folder / "archived")
        (folder / "archived" / "MEMORY.jsonl").write_bytes(b'{"x":1}\n')
        assert self.around(store) == {"archiveUnreadableLines": 1}

    def test_text_beside_a_damaged_store_is_named(self, store: RuntimeStore, folder: Path) -> None:
        put(folder, store="{", user=" \n", memory="mine\n")
        assert store.diagnose()["texts"] == [str(folder / "MEMORY.md")]
        (folder / "USER.md").unlink()
        (folder / "MEMORY.md").unlink()
        make_folder(folder / "MEMORY.md")
        assert "texts" not in store.diagnose()

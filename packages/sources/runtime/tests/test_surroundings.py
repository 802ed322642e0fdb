"""What may stand in place of a store's files, and around them (spec/sources.md §2.7, D25)."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import socket
import time
from collections import namedtuple
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
    elif kind == "file":
        path.write_bytes(b"")
    elif kind == "link to itself":
        path.symlink_to(path.name)
    elif kind == "link to nothing":
        path.symlink_to("nowhere")
    elif kind == "link to a file":
        path.with_name("theirs").write_bytes(b"")
        path.symlink_to("theirs")
    else:
        path.symlink_to(os.devnull)


LOCK_KINDS = ["pipe", "socket", "folder", "link to a device", "link to nothing", "link to a file"]
USAGE = namedtuple("USAGE", "total used free")


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
            if target.name == "store.json":
                staged.append(source.parent.name)
            real(source, target)

        monkeypatch.setattr(os, "replace", watch)
        await store.open()
        await store.change(add("more"))
        assert (folder / "memories.json").is_symlink()
        stored = decode((kept / "store.json").read_bytes())
        assert [entry.content for entry in stored] == ["a b", "more"]
        assert names(kept) == ["store.json"]
        assert staged == ["kept", "kept"]

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

    @pytest.mark.parametrize(("age", "state"), [(5, "held"), (31, None)])
    def test_a_lock_that_is_not_ours_to_read_is_somebody_elses(
        self,
        store: RuntimeStore,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        age: int,
        state: str | None,
    ) -> None:
        put(folder)
        lock = folder / ".memories.lock"
        lock.write_bytes(b"theirs")
        modified = int(time.time()) - age
        os.utime(lock, (modified, modified))
        monkeypatch.setattr(os, "open", refusing(errno.EACCES))
        told = self.around(store).get("lock")
        assert (told and told["state"]) == state

    def test_a_lock_from_after_the_year_9999_has_a_time(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder)
        (folder / ".memories.lock").write_bytes(b"")
        status = list((folder / ".memories.lock").lstat())
        status[8] = 10**13
        monkeypatch.setattr(Path, "lstat", lambda _: os.stat_result(status))
        told = self.around(store)["lock"]
        assert (told["state"], told["modifiedAt"][:5]) == ("future", "9999-")

    @pytest.mark.parametrize("kind", LOCK_KINDS)
    async def test_writer_and_diagnosis_agree_on_what_stands_in_place_of_the_lock(
        self, store: RuntimeStore, folder: Path, kind: str
    ) -> None:
        await store.change(add("one"))
        lock = folder / ".memories.lock"
        stand_in(lock, kind)
        assert (self.around(store)["lock"]["state"]) == "not-a-regular-file"
        with pytest.raises(StorageError) as caught:
            await store.change(add("two"))
        where = {"file": str(lock), "reason": "not-a-regular-file"}
        assert (caught.value.code, caught.value.details) == ("store-unwritable", where)
        assert lock.name in names(folder)
        assert not [name for name in names(folder) if name.endswith(".tmp")]

    @pytest.mark.parametrize("kind", LOCK_KINDS)
    async def test_writer_and_diagnosis_agree_on_what_stands_in_place_of_the_guard(
        self, store: RuntimeStore, folder: Path, kind: str
    ) -> None:
        await store.change(add("one"))
        guard = folder / ".memories.lock.guard"
        guard.unlink()
        stand_in(guard, kind)
        with pytest.raises(StorageError) as caught:
            await store.change(add("two"))
        where = {"file": str(guard), "reason": "not-a-regular-file"}
        assert (caught.value.code, caught.value.details) == ("store-unwritable", where)
        assert self.around(store) == {"blocked": [where]}
        assert guard.name in names(folder)

    @pytest.mark.parametrize("folder_too", [False, True])
    async def test_a_guard_that_cannot_be_written_is_named_unless_nothing_can(
        self,
        store: RuntimeStore,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        folder_too: bool,
    ) -> None:
        await store.change(add("one"))
        guard = folder / ".memories.lock.guard"
        refused = (guard, folder) if folder_too else (guard,)
        monkeypatch.setattr(os, "access", lambda path, _: path not in refused)
        where = {"file": str(guard), "reason": "EACCES"}
        assert self.around(store) == ({} if folder_too else {"blocked": [where]})

    @pytest.mark.parametrize(
        ("part", "inside"), [("edited", "MEMORY-1.md"), ("archived", "MEMORY.jsonl")]
    )
    def test_a_folder_that_cannot_be_entered_stands_for_all_that_lies_in_it(
        self,
        store: RuntimeStore,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        part: str,
        inside: str,
    ) -> None:
        put(folder)
        make_folder(folder / part)
        leave(folder / part / inside)
        real = os.stat

        def stat(path: Any, *args: Any, **options: Any) -> os.stat_result:
            if os.fspath(path).startswith(f"{folder / part}/"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            return real(path, *args, **options)

        monkeypatch.setattr(os, "stat", stat)
        where = {"file": str(folder / part), "reason": "EACCES"}
        assert self.around(store) == {"blocked": [where]}

    @pytest.mark.parametrize(("free", "told"), [(0, 0), (2**20 - 1, 2**20 - 1), (2**20, None)])
    def test_a_disk_that_is_almost_full_is_told(
        self,
        store: RuntimeStore,
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        free: int,
        told: int | None,
    ) -> None:
        asked: list[Path] = []

        def usage(path: Path) -> Any:
            asked.append(path)
            return USAGE(total=2**30, used=0, free=free)

        monkeypatch.setattr(shutil, "disk_usage", usage)
        assert self.around(store) == ({} if told is None else {"freeBytes": told})
        put(folder)
        self.around(store)
        assert asked == [folder.parent, folder]
        assert names(folder) == []

    def test_a_disk_that_does_not_tell_is_no_news(
        self, store: RuntimeStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(shutil, "disk_usage", refusing(errno.ENOSYS))
        assert self.around(store) == {}

    async def test_a_full_disk_refuses_the_write_and_leaves_nothing_behind(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        before = {name: (folder / name).read_bytes() for name in names(folder)}
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        for room in (0, 64):
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
            try:
                with pytest.raises(StorageError) as caught:
                    await store.change(add("two " * 50))
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            assert caught.value.code == "store-unwritable"
            assert {name: (folder / name).read_bytes() for name in names(folder)} == before

    def test_odd_lines_of_the_archive_are_counted(self, store: RuntimeStore, folder: Path) -> None:
        put(folder)
        make_folder(folder / "archived")
        (folder / "archived" / "MEMORY.jsonl").write_bytes(b'{"x":1}\n')
        assert self.around(store) == {"archiveUnreadableLines": 1}

    @pytest.mark.parametrize("kind", ["file", "link to itself", "link to nothing"])
    async def test_one_cause_is_told_once(
        self, store: RuntimeStore, folder: Path, kind: str
    ) -> None:
        stand_in(folder, kind)
        report = store.diagnose()
        if kind == "link to nothing":
            where = {"file": str(folder), "reason": "not-a-directory"}
            assert (report["readable"], report["blocked"]) == (True, [where])
        else:
            reason = "ENOTDIR" if kind == "file" else "ELOOP"
            expected = {"file": str(store.path), "readable": False, "reason": reason}
            assert report == expected
        with pytest.raises(StorageError) as caught:
            await store.change(add("one"))
        assert caught.value.code == "store-unwritable"

    @pytest.mark.parametrize("error", [errno.EACCES, errno.EIO, errno.ELOOP])
    def test_it_answers_whatever_fails(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch, error: int
    ) -> None:
        put(folder, store="{", memory="mine\n")
        make_folder(folder / "edited")
        make_folder(folder / "archived")
        leave(folder / ".memories.lock")
        for name in ("stat", "lstat", "open", "scandir", "listdir", "statvfs"):
            monkeypatch.setattr(os, name, refusing(error))
        report = store.diagnose()
        assert (report["readable"], report["reason"]) == (False, errno.errorcode[error])
        assert "blocked" not in report

    def test_text_beside_a_damaged_store_is_named(self, store: RuntimeStore, folder: Path) -> None:
        put(folder, store="{", user=" \n", memory="mine\n")
        assert store.diagnose()["texts"] == [str(folder / "MEMORY.md")]
        (folder / "USER.md").unlink()
        (folder / "MEMORY.md").unlink()
        make_folder(folder / "MEMORY.md")
        assert "texts" not in store.diagnose()

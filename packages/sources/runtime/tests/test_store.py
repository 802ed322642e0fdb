"""Loading, opening, committing and diagnosing one root (spec/sources.md §2.3, D25)."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import filelock
import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_runtime import _store
from dsh_mnemon_source_runtime._changes import Steps
from dsh_mnemon_source_runtime._format import decode
from dsh_mnemon_source_runtime._store import RuntimeStore
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Limits

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEPS = Steps(limits=Limits(), now="2026-03-01T12:00:00.000Z")


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


ROW = {
    "content": " a  b ",
    "created_at": "x",
    "updated_at": "y",
    "target": "memory",
    "importance": "low",
}
MESSY = json.dumps({"version": 1, "entries": [ROW]})


@pytest.mark.requirement("runtime:files:open")
class TestOpening:
    async def test_without_a_store_nothing_is_created(
        self, store: RuntimeStore, tmp_path: Path
    ) -> None:
        assert (await store.open()).entries == ()
        assert names(tmp_path) == []

    async def test_an_odd_store_is_put_into_normal_form_once(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder, store=MESSY)
        assert [entry.content for entry in (await store.open()).entries] == ["a b"]
        assert text_of(folder / "MEMORY.md") == "a b\n"
        assert text_of(folder / "USER.md") == ""
        put(folder, memory="a b\n§\nlater edit\n")
        await store.open()
        assert text_of(folder / "MEMORY.md") == "a b\n§\nlater edit\n"

    async def test_a_store_in_normal_form_is_left_alone(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        await make_store().change(add("a"))
        (folder / ".rendered.json").unlink()
        before = names(folder)
        await make_store().open()
        assert names(folder) == before

    async def test_it_only_reads_while_somebody_holds_the_lock(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder, store=MESSY)
        (folder / ".memories.lock").write_bytes(b"")
        assert [entry.content for entry in (await store.open()).entries] == ["a b"]
        assert text_of(folder / "memories.json") == MESSY

    async def test_it_only_reads_in_a_read_only_folder(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder, store=MESSY)
        monkeypatch.setattr(filelock.FileLock, "acquire", refusing(errno.EROFS))
        assert [entry.content for entry in (await store.open()).entries] == ["a b"]
        assert names(folder) == ["memories.json"]

    async def test_a_markdown_file_that_cannot_be_read_is_no_obstacle(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder, store=MESSY)
        make_folder(folder / "MEMORY.md")
        assert [entry.content for entry in (await store.open()).entries] == ["a b"]

    async def test_leftovers_of_killed_writers_go(self, store: RuntimeStore, folder: Path) -> None:
        put(folder, store=MESSY)
        for name in ("memories.json", "USER.md", ".memories.lock"):
            leave(folder / f".{name}.12.1700000000000.0f.tmp")
        await store.open()
        assert not [name for name in names(folder) if name.endswith(".tmp")]


def make_folder(path: Path) -> None:
    path.mkdir()


def leave(path: Path) -> None:
    path.write_bytes(b"")
    os.utime(path, (1, 1))


def refusing(error: int) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(error, os.strerror(error))

    return refuse


@pytest.mark.requirement("runtime:files:commit")
class TestCommitting:
    async def test_files_and_folders_are_private(self, store: RuntimeStore, folder: Path) -> None:
        await store.change(add("a"))
        assert mode(folder) == 0o700
        for name in names(folder):
            assert mode(folder / name) == 0o600

    async def test_markdown_goes_first_and_the_json_last(
        self, store: RuntimeStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        order: list[str] = []
        real = os.replace

        def watch(source: Path, target: Path) -> None:
            order.append(target.name)
            real(source, target)

        monkeypatch.setattr(os, "replace", watch)
        await store.change(add("a"))
        assert order == [".rendered.json", "USER.md", "MEMORY.md", "memories.json"]

    async def test_a_change_starts_from_what_is_on_disk(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        first, second = make_store(), make_store()
        await first.change(add("one"))
        await second.change(add("two", "user"))
        await first.change(add("three"))
        stored = decode((folder / "memories.json").read_bytes())
        assert [entry.content for entry in stored] == ["one", "two", "three"]
        assert text_of(folder / "MEMORY.md") == "one\n§\nthree\n"

    async def test_an_unchanged_store_is_not_written(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        before = stamps(folder)
        change = await store.change(add(" one "))
        assert change.answer["message"] == "Entry already exists (no duplicate added)."
        assert stamps(folder) == before

    async def test_a_refused_step_writes_nothing(self, store: RuntimeStore, folder: Path) -> None:
        await store.change(add("one"))
        before = stamps(folder)

        def refuse(_state: Any) -> Any:
            raise KeyError("no")

        with pytest.raises(KeyError):
            await store.change(refuse)
        assert stamps(folder) == before

    @pytest.mark.parametrize(
        ("broken", "target"),
        [
            (".rendered.json", "memory"),
            ("USER.md", "user"),
            ("MEMORY.md", "memory"),
            ("memories.json", "memory"),
        ],
    )
    @pytest.mark.parametrize("error", [errno.ENOSPC, errno.EACCES])
    async def test_a_failure_at_any_rename_keeps_the_old_state_and_is_repaired(
        self,
        make_store: Callable[..., RuntimeStore],
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
        broken: str,
        target: str,
        error: int,
    ) -> None:
        await make_store().change(add("one"))
        before = text_of(folder / "memories.json")
        real = os.replace

        def replace(source: Path, target: Path) -> None:
            if target.name == broken:
                raise OSError(error, os.strerror(error))
            real(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            with pytest.raises(StorageError) as caught:
                await make_store().change(add("two", target))
        assert caught.value.code == "store-unwritable"
        assert caught.value.details["file"] == str(folder / broken)
        assert text_of(folder / "memories.json") == before
        assert not [name for name in names(folder) if name.endswith(".tmp")]
        assert [entry.content for entry in (await make_store().open()).entries] == ["one"]
        assert text_of(folder / "MEMORY.md") == "one\n"
        assert text_of(folder / "USER.md") == ""
        # What the failed commit had rendered is ours, not a hand edit.
        assert not (folder / "edited").exists()

    async def test_what_two_failures_in_a_row_leave_is_no_hand_edit(
        self,
        make_store: Callable[..., RuntimeStore],
        folder: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        await make_store().change(add("one"))
        real = os.replace
        for broken, content in (("memories.json", "two"), ("MEMORY.md", "three")):

            def replace(source: Path, target: Path, broken: str = broken) -> None:
                if target.name == broken:
                    raise OSError(errno.EIO, os.strerror(errno.EIO))
                real(source, target)

            with monkeypatch.context() as patch:
                patch.setattr(os, "replace", replace)
                with pytest.raises(StorageError):
                    await make_store().change(add(content))
        assert text_of(folder / "MEMORY.md") == "one\n§\ntwo\n"
        await make_store().open()
        assert text_of(folder / "MEMORY.md") == "one\n"
        assert not (folder / "edited").exists()

    async def test_a_failing_archive_stops_the_commit(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        make_folder(folder / "archived")
        make_folder(folder / "archived" / "MEMORY.jsonl")
        revision = store.read().revision
        step = STEPS.archive(
            read_mutation({"action": "add", "target": "memory", "content": "two"}),
            revision=revision,
            run_id="r",
            max_bytes=0,
        )
        with pytest.raises(StorageError):
            await store.change(step)
        assert store.read().revision == revision

    async def test_archived_entries_are_on_disk_before_the_first_rename(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.change(add("one"))
        monkeypatch.setattr(os, "replace", refusing(errno.EIO))
        step = STEPS.archive(
            read_mutation({"action": "add", "target": "memory", "content": "two"}),
            revision=store.read().revision,
            run_id="r",
            max_bytes=0,
        )
        with pytest.raises(StorageError):
            await store.change(step)
        assert store.archived(limit=5, offset=0)["entries"][0]["content"] == "one"

    async def test_a_lost_lock_writes_nothing(self, store: RuntimeStore, folder: Path) -> None:
        await store.change(add("one"))
        before = stamps(folder)

        def steal(state: Any) -> Any:
            (folder / ".memories.lock").unlink()
            (folder / ".memories.lock").write_bytes(b"")
            return add("two")(state)

        with pytest.raises(StorageError) as caught:
            await store.change(steal)
        assert caught.value.code == "lock-lost"
        (folder / ".memories.lock").unlink()
        assert stamps(folder) == before

    async def test_a_read_only_folder_is_named(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(filelock.FileLock, "acquire", refusing(errno.EROFS))
        with pytest.raises(StorageError) as caught:
            await store.change(add("one"))
        assert caught.value.code == "store-unwritable"
        assert caught.value.details["reason"] == "EROFS"

    async def test_a_root_that_is_a_file_is_named(
        self, make_store: Callable[..., RuntimeStore], tmp_path: Path
    ) -> None:
        leave(tmp_path / "root")
        with pytest.raises(StorageError) as caught:
            await make_store(tmp_path / "root").change(add("one"))
        assert caught.value.code == "store-unwritable"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def stamps(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        path.name: (path.stat().st_mtime_ns, path.stat().st_ino)
        for path in folder.iterdir()
        # Taking the guard touches it with some releases of filelock; it holds nothing.
        if path.is_file() and path.suffix != ".guard"
    }


@pytest.mark.requirement("runtime:lock:shared")
class TestLocking:
    async def test_a_lock_of_the_original_is_respected(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder)
        (folder / ".memories.lock").write_bytes(b"")
        with pytest.raises(StorageError) as caught:
            await store.change(add("one"))
        assert caught.value.code == "lock-timeout"
        assert caught.value.retryable

    @pytest.mark.parametrize("mark", [b"", b"dsh-mnemon 1"])
    async def test_a_leftover_lock_is_no_obstacle(
        self, store: RuntimeStore, folder: Path, mark: bytes
    ) -> None:
        put(folder)
        path = folder / ".memories.lock"
        path.write_bytes(mark)
        os.utime(path, (1, 1))
        await store.change(add("one"))
        assert ".memories.lock" not in names(folder)

    async def test_our_own_guard_orders_our_processes(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder)
        with (
            filelock.FileLock(folder / ".memories.lock.guard"),
            pytest.raises(StorageError) as caught,
        ):
            await store.change(add("one"))
        assert caught.value.code == "lock-timeout"


@pytest.mark.requirement("runtime:files:read")
class TestReading:
    def test_a_file_that_did_not_change_is_not_parsed_again(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder, store=MESSY)
        os.utime(folder / "memories.json", (1, 1))
        first = store.read()
        monkeypatch.setattr(_store, "decode", refusing(errno.EIO))
        assert store.read() is first

    def test_a_changed_file_is(self, store: RuntimeStore, folder: Path) -> None:
        put(folder, store=MESSY)
        os.utime(folder / "memories.json", (1, 1))
        store.read()
        put(folder, store=MESSY.replace("a  b", "other"))
        assert store.read().entries[0].content == "other"

    def test_a_file_of_this_very_moment_is_not_trusted_to_stay(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder, store=MESSY)
        path = folder / "memories.json"
        moment = NOW.timestamp() + 1e9
        os.utime(path, (moment, moment))
        inode = path.stat().st_ino
        store.read()
        put(folder, store=MESSY.replace("a  b", "c  d"))
        os.utime(path, (moment, moment))
        assert (path.stat().st_ino, path.stat().st_size) == (inode, len(MESSY))
        assert store.read().entries[0].content == "c d"

    async def test_what_was_written_here_is_not_parsed_again(
        self,
        store: RuntimeStore,
        make_store: Callable[..., RuntimeStore],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        step = STEPS.mutate(
            read_mutation(
                {"action": "add", "target": "memory", "content": " a\u3000b ", "branches": ["x"]}
            )
        )
        await store.change(step)
        fresh = make_store().read()
        monkeypatch.setattr(_store, "decode", refusing(errno.EIO))
        assert store.read() == fresh
        assert store.read().revision == fresh.revision

    async def test_what_another_one_wrote_since_is(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        one, other = make_store(), make_store()
        await one.change(add("one"))
        await other.change(add("two"))
        assert [entry.content for entry in one.read().entries] == ["one", "two"]

    async def test_what_could_not_be_written_is_not_remembered(
        self, store: RuntimeStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.change(add("one"))
        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", refusing(errno.EIO))
            with pytest.raises(StorageError):
                await store.change(add("two"))
        assert [entry.content for entry in store.read().entries] == ["one"]

    def test_an_unreadable_file_is_named(self, store: RuntimeStore, folder: Path) -> None:
        (folder / "memories.json").mkdir(parents=True)
        with pytest.raises(StorageError) as caught:
            store.read()
        assert caught.value.code == "store-damaged"
        assert caught.value.details["reason"] == "not-a-regular-file"

    def test_a_failing_disk_is_named(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        put(folder, store=MESSY)
        monkeypatch.setattr(os, "open", refusing(errno.EIO))
        with pytest.raises(StorageError) as caught:
            store.read()
        assert (caught.value.code, caught.value.details["reason"]) == ("store-unreadable", "EIO")


@pytest.mark.requirement("runtime:files:damaged")
class TestDamage:
    async def test_no_change_touches_a_damaged_file(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder, store='{"version":1,"entries":[5]}', memory="mine\n")
        with pytest.raises(StorageError) as caught:
            await store.change(add("one"))
        assert caught.value.code == "store-damaged"
        assert caught.value.details == {
            "file": str(folder / "memories.json"),
            "reason": "invalid-entry",
            "firstBadIndex": 0,
        }
        assert text_of(folder / "memories.json") == '{"version":1,"entries":[5]}'
        assert text_of(folder / "MEMORY.md") == "mine\n"

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("\n}\n", ', "entries": []}'),
            ('"version": 1,', '"version": 1, "version": 1,'),
            ('"content": ', '"content": "other", "content": '),
            ("\n}\n", ', "x": {"a": 1, "a": 2}}'),
            ("\n}\n", ', "x": 1e400}'),
        ],
    )
    async def test_what_says_more_than_is_read_is_left_alone(
        self, make_store: Callable[..., RuntimeStore], folder: Path, old: str, new: str
    ) -> None:
        await make_store().change(add("one"))
        await make_store().change(add("me", "user"))
        put(folder, store=text_of(folder / "memories.json").replace(old, new, 1))
        before = {name: (folder / name).read_bytes() for name in names(folder)}
        for call in (make_store().open, lambda: make_store().change(add("two"))):
            with pytest.raises(StorageError) as caught:
                await call()
            assert (caught.value.code, caught.value.details["reason"]) == (
                "store-damaged",
                "not-json",
            )
        assert {name: (folder / name).read_bytes() for name in names(folder)} == before

    async def test_a_mended_file_is_served_again(self, store: RuntimeStore, folder: Path) -> None:
        put(folder, store="{")
        with pytest.raises(StorageError):
            await store.open()
        put(folder, store=MESSY)
        assert (await store.open()).entries[0].content == "a b"
        assert text_of(folder / "MEMORY.md") == "a b\n"

    @pytest.mark.parametrize(
        ("content", "found"),
        [
            (MESSY, {"readable": True}),
            ("{", {"readable": False, "reason": "not-json", "problem": ANY}),
            ('{"version":2}', {"readable": False, "reason": "newer-version"}),
            (
                '{"version":1,"entries":[5]}',
                {"readable": False, "reason": "invalid-entry", "firstBadIndex": 0},
            ),
        ],
    )
    def test_a_diagnosis_names_reason_and_place(
        self, store: RuntimeStore, folder: Path, content: str, found: dict[str, Any]
    ) -> None:
        put(folder, store=content)
        assert store.diagnose() == {"file": str(folder / "memories.json"), **found}

    def test_a_missing_store_is_readable(self, store: RuntimeStore, folder: Path) -> None:
        assert store.diagnose() == {"file": str(folder / "memories.json"), "readable": True}

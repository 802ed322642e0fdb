"""Markdown files that people edited, or whose store is gone (D57)."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_runtime._changes import Steps
from dsh_mnemon_source_runtime._store import RuntimeStore
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Limits

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STEPS = Steps(limits=Limits(), now="2026-03-01T12:00:00.000Z")
REMOVE = {"action": "remove", "target": "memory", "oldText": "one"}


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


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def inodes(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


def leave(path: Path) -> None:
    path.write_bytes(b"")
    os.utime(path, (1, 1))


def refusing(error: int) -> Callable[..., Any]:
    def refuse(*_: Any, **__: Any) -> Any:
        raise OSError(error, os.strerror(error))

    return refuse


@pytest.mark.requirement("runtime:edits:kept")
class TestHandEdits:
    async def test_an_edit_is_copied_before_it_is_rewritten(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        put(folder, memory="one\n§\nmine\n")
        os.utime(folder / "MEMORY.md", (1_000_000_000, 1_000_000_000))
        await store.change(add("two"))
        copy = folder / "edited" / "MEMORY-20260301T120000Z.md"
        assert text_of(copy) == "one\n§\nmine\n"
        assert (mode(copy), mode(copy.parent)) == (0o600, 0o700)
        assert text_of(folder / "MEMORY.md") == "one\n§\ntwo\n"

    async def test_opening_copies_too(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        await make_store().change(add("one"))
        put(folder, memory="mine\n")
        await make_store().open()
        assert names(folder / "edited") == ["MEMORY-20260301T120000Z.md"]
        assert text_of(folder / "MEMORY.md") == "one\n"

    async def test_a_file_from_before_the_store_is_copied(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        put(folder, user="I like tea\n")
        await store.open()
        assert text_of(folder / "edited" / "USER-20260301T120000Z.md") == "I like tea\n"
        assert json.loads(text_of(folder / "memories.json")) == {"version": 1, "entries": []}

    async def test_both_places_are_listed(self, store: RuntimeStore, folder: Path) -> None:
        await store.change(add("one"))
        put(folder, memory="mine\n")
        await store.change(add("two"))
        put(folder, user="profile\n")
        found = [edit.to_json() for edit in store.hand_edits()]
        assert [(item["target"], item["copied"], Path(item["file"]).name) for item in found] == [
            ("user", False, "USER.md"),
            ("memory", True, "MEMORY-20260301T120000Z.md"),
        ]
        assert all(len(item["digest"]) == 64 and item["editedAt"] for item in found)

    async def test_a_change_of_layout_only_is_no_edit(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        put(folder, memory="  one\r\n\r\n")
        assert store.hand_edits() == []
        await store.change(add("two"))
        assert not (folder / "edited").exists()

    async def test_a_copy_goes_once_the_store_has_caught_up(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        put(folder, memory="one\n§\nmine\n")
        saved = NOW.timestamp() - 60
        os.utime(folder / "MEMORY.md", (saved, saved))
        await store.change(add("two"))
        assert [edit.edited_at.timestamp() for edit in store.hand_edits()] == [saved]
        await store.change(add("mine"))
        assert store.hand_edits() == []
        await store.change(add("three"))
        assert names(folder / "edited") == []

    async def test_the_same_edit_is_kept_once_and_another_beside_it(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        for text in ("mine\n", "mine\n", "other\n"):
            await store.change(add(f"before {text}{len(store.read().entries)}"))
            put(folder, memory=text)
            await store.change(add(f"after {text}{len(store.read().entries)}"))
        assert [text_of(path) for path in sorted((folder / "edited").iterdir(), reverse=True)] == [
            "mine\n",
            "other\n",
        ]

    async def test_bytes_that_are_no_text_are_kept_as_they_are(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        (folder / "MEMORY.md").write_bytes(b"\xff\xfe mine")
        await store.change(add("two"))
        assert (folder / "edited" / "MEMORY-20260301T120000Z.md").read_bytes() == b"\xff\xfe mine"

    @pytest.mark.parametrize("record", ["", "[]", '{"files":{"MEMORY.md":5}}', "{"])
    async def test_a_broken_record_only_means_a_copy_more(
        self, store: RuntimeStore, folder: Path, record: str
    ) -> None:
        await store.change(add("one"))
        (folder / ".rendered.json").write_text(record, encoding="utf-8")
        put(folder, memory="mine\n")
        await store.change(add("two"))
        assert names(folder / "edited") == ["MEMORY-20260301T120000Z.md"]

    async def test_an_edit_that_cannot_be_copied_is_not_rewritten(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("one"))
        put(folder, memory="mine\n")
        leave(folder / "edited")
        with pytest.raises(StorageError):
            await store.change(add("two"))
        assert text_of(folder / "MEMORY.md") == "mine\n"
        assert [entry.content for entry in store.read().entries] == ["one"]

    async def test_a_copy_that_cannot_be_removed_or_dated_stays(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "utime", refusing(errno.EPERM))
        await store.change(add("one"))
        put(folder, memory="one\n§\nmine\n")
        await store.change(add("mine"))
        real = Path.unlink

        def unlink(path: Path, *args: Any, **kwargs: Any) -> None:
            if path.parent.name == "edited":
                raise PermissionError
            real(path, *args, **kwargs)

        monkeypatch.setattr(Path, "unlink", unlink)
        await store.change(add("two"))
        assert names(folder / "edited") == ["MEMORY-20260301T120000Z.md"]


@pytest.mark.requirement("runtime:files:untouched")
class TestUntouchedFiles:
    @pytest.mark.parametrize(("target", "other"), [("memory", "USER.md"), ("user", "MEMORY.md")])
    async def test_the_file_of_the_other_target_stays_as_it_is(
        self, store: RuntimeStore, folder: Path, target: str, other: str
    ) -> None:
        await store.change(add("one"))
        await store.change(add("me", "user"))
        before = inodes(folder)
        await store.change(add("two", target))
        after = inodes(folder)
        left = {".memories.lock.guard", other}
        assert {name for name in after if after[name] == before[name]} == left

    async def test_one_that_somebody_else_wrote_is_written_even_so(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("me", "user"))
        (folder / ".rendered.json").unlink()
        before = inodes(folder)
        await store.change(add("one"))
        assert inodes(folder)["USER.md"] != before["USER.md"]

    async def test_one_that_others_may_read_becomes_private(
        self, store: RuntimeStore, folder: Path
    ) -> None:
        await store.change(add("me", "user"))
        (folder / "USER.md").chmod(0o644)
        await store.change(add("one"))
        assert mode(folder / "USER.md") == 0o600

    async def test_a_link_becomes_a_file(
        self, store: RuntimeStore, folder: Path, tmp_path: Path
    ) -> None:
        await store.change(add("me", "user"))
        (folder / "USER.md").rename(tmp_path / "mine")
        (folder / "USER.md").symlink_to(tmp_path / "mine")
        await store.change(add("one"))
        assert not (folder / "USER.md").is_symlink()
        assert text_of(folder / "USER.md") == "me\n"

    async def test_an_edit_during_the_commit_of_the_other_target_is_not_lost(
        self, store: RuntimeStore, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        await store.change(add("one"))
        real = os.replace

        def replace(source: Path, target: Path) -> None:
            put(folder, user="I like tea\n")
            real(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", replace)
            await store.change(add("two"))
        assert [edit.path.name for edit in store.hand_edits()] == ["USER.md"]
        await store.change(add("three"))
        assert text_of(folder / "edited" / "USER-20260301T120000Z.md") == "I like tea\n"
        assert text_of(folder / "USER.md") == ""


@pytest.mark.requirement("runtime:edits:lost")
class TestLostStore:
    async def test_text_whose_store_is_gone_is_an_edit(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        await make_store().change(add("one"))
        (folder / "memories.json").unlink()
        assert [edit.path.name for edit in make_store().hand_edits()] == ["MEMORY.md"]
        store = make_store()
        assert (await store.open()).entries == ()
        copy = folder / "edited" / "MEMORY-20260301T120000Z.md"
        assert text_of(copy) == "one\n"
        assert text_of(folder / "MEMORY.md") == ""
        (edit,) = store.hand_edits()
        assert (edit.path, edit.copied) == (copy, True)
        await store.change(add("one"))
        await store.change(add("two"))
        assert names(folder / "edited") == []

    async def test_a_change_keeps_it_as_well(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        await make_store().change(add("one", "user"))
        (folder / "memories.json").unlink()
        await make_store().change(add("two"))
        assert text_of(folder / "edited" / "USER-20260301T120000Z.md") == "one\n"
        assert text_of(folder / "USER.md") == ""

    async def test_empty_files_are_nobodys_text(
        self, make_store: Callable[..., RuntimeStore], folder: Path
    ) -> None:
        store = make_store()
        await store.change(add("one"))
        await store.change(STEPS.mutate(read_mutation(REMOVE)))
        (folder / "memories.json").unlink()
        await make_store().open()
        assert not (folder / "edited").exists()

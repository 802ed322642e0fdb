"""Atomic replacement, folders, leftovers and queues (spec/sources.md §1.4, §2.3, D30)."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_core import files
from dsh_mnemon_core._lockfile import write_new
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import (
    Replacement,
    atomic_write,
    ensure_directory,
    in_turn,
    read_json,
    remove_leftovers,
    replace_files,
    storage_error,
)


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def failing(error: int, when: Callable[..., bool], real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    return call


class TestStrictJson:
    @pytest.mark.parametrize(
        "text", ['{"a": [1, 1.5, -0.0, null, "b"], "c": {"a": {}}}', "[]", "1"]
    )
    def test_what_is_json_reads_as_ever(self, text: str) -> None:
        assert read_json(text) == read_json(text.encode()) == json.loads(text)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"a": 1, "b": 2, "b": 2}', "'b'"),
            ('[{"x": {"a": 1, "\\u0061": 1}}]', "'a'"),
            ('{"x": 1e400}', "1e400"),
            ('{"x": -1E+999}', "-1E+999"),
            ("[NaN]", "NaN"),
            ("[-Infinity]", "-Infinity"),
            ("{", "line 1 column 2"),
            ("", "line 1 column 1"),
        ],
    )
    def test_what_would_be_dropped_or_changed_is_refused(self, text: str, said: str) -> None:
        with pytest.raises(ValueError, match=re.escape(said)):
            read_json(text)


class TestEnsureDirectory:
    def test_creates_every_missing_parent_private(self, tmp_path: Path) -> None:
        ensure_directory(tmp_path / "a" / "b")
        for folder in (tmp_path / "a", tmp_path / "a" / "b"):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700

    def test_keeps_what_exists(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir(0o755)
        ensure_directory(tmp_path / "a")
        assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o755

    @pytest.mark.parametrize("below", ["", "b"])
    def test_refuses_a_file_in_the_way(self, tmp_path: Path, below: str) -> None:
        (tmp_path / "a").write_bytes(b"")
        with pytest.raises(StorageError) as caught:
            ensure_directory(tmp_path / "a" / below)
        assert caught.value.code == "store-unwritable"
        assert caught.value.details["reason"] == "ENOTDIR"

    def test_accepts_a_folder_that_appears_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = Path.mkdir

        def late(path: Path, mode: int) -> None:
            real(path, mode)
            real(path, mode)

        monkeypatch.setattr(Path, "mkdir", late)
        ensure_directory(tmp_path / "a")
        assert (tmp_path / "a").is_dir()


class TestReplacing:
    def test_atomic_write_replaces_content_and_sets_the_mode(self, tmp_path: Path) -> None:
        target = tmp_path / "data.json"
        atomic_write(target, b"old")
        atomic_write(target, b"new \xf0\x9f\xa7\xa0", mode=0o640)
        assert target.read_bytes() == b"new \xf0\x9f\xa7\xa0"
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
        assert names(tmp_path) == ["data.json"]

    def test_new_files_are_private(self, tmp_path: Path) -> None:
        atomic_write(tmp_path / "data.json", b"x")
        assert stat.S_IMODE((tmp_path / "data.json").stat().st_mode) == 0o600

    def test_temporary_names_follow_the_shared_pattern(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[str] = []
        real = os.replace

        def watch(source: Path, target: Path) -> None:
            seen.append(source.name)
            assert source.parent == tmp_path
            real(source, target)

        monkeypatch.setattr(os, "replace", watch)
        atomic_write(tmp_path / "data.json", b"x")
        head, name, kind, pid, stamp, random, tail = seen[0].split(".")
        assert (head, name, kind, tail) == ("", "data", "json", "tmp")
        assert int(pid) == os.getpid()
        assert len(stamp) == 13
        int(random, 16)

    def test_renames_in_order_after_everything_is_synced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log: list[str] = []
        replace, sync = os.replace, os.fsync

        def renaming(source: Path, target: Path) -> None:
            log.append(target.name)
            replace(source, target)

        def syncing(descriptor: int) -> None:
            folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            log.append("sync folder" if folder else "sync file")
            sync(descriptor)

        monkeypatch.setattr(os, "replace", renaming)
        monkeypatch.setattr(os, "fsync", syncing)
        replace_files(
            [Replacement(path=tmp_path / name, data=b"x") for name in ("b", "a", "marker")],
            before_first=lambda: log.append("check"),
        )
        assert log == ["sync file"] * 3 + ["check", "b", "a", "marker", "sync folder"]

    def test_a_failing_check_writes_nothing(self, tmp_path: Path) -> None:
        def refuse() -> None:
            raise KeyError("stop")

        with pytest.raises(KeyError):
            replace_files([Replacement(path=tmp_path / "a", data=b"x")], before_first=refuse)
        assert names(tmp_path) == []

    @pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
    def test_a_failing_write_names_the_file_and_leaves_no_leftover(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
    ) -> None:
        monkeypatch.setattr(os, "fsync", failing(error, lambda *_: True, os.fsync))
        with pytest.raises(StorageError) as caught:
            atomic_write(tmp_path / "data.json", b"x")
        assert caught.value.code == "store-unwritable"
        assert caught.value.details == {
            "file": str(tmp_path / "data.json"),
            "reason": errno.errorcode[error],
        }
        assert names(tmp_path) == []

    def test_a_temporary_file_that_could_not_be_filled_is_removed(self, tmp_path: Path) -> None:
        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, limits[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                write_new(tmp_path / "new", b"more", 0o600, durable=True)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert names(tmp_path) == []

    @pytest.mark.parametrize("broken", ["a", "b", "c"])
    def test_a_failing_rename_keeps_the_ones_before(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
    ) -> None:
        at = failing(errno.EACCES, lambda _, target: target.name == broken, os.replace)
        monkeypatch.setattr(os, "replace", at)
        with pytest.raises(StorageError):
            replace_files([Replacement(path=tmp_path / name, data=b"x") for name in "abc"])
        assert names(tmp_path) == [name for name in "abc" if name < broken]

    def test_a_missing_folder_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(StorageError) as caught:
            atomic_write(tmp_path / "none" / "data.json", b"x")
        assert caught.value.details["reason"] == "ENOENT"

    def test_a_folder_that_cannot_be_synced_does_not_undo_the_commit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def is_folder(descriptor: int) -> bool:
            return stat.S_ISDIR(os.fstat(descriptor).st_mode)

        monkeypatch.setattr(os, "fsync", failing(errno.EINVAL, is_folder, os.fsync))
        atomic_write(tmp_path / "data.json", b"x")
        assert (tmp_path / "data.json").read_bytes() == b"x"

    def test_platforms_without_folder_descriptors_skip_that_sync(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "_O_DIRECTORY", None)
        atomic_write(tmp_path / "data.json", b"x")
        assert names(tmp_path) == ["data.json"]

    @pytest.mark.parametrize(("refusals", "written"), [(2, True), (4, False)])
    def test_a_reader_that_shares_nothing_is_waited_for_where_there_are_such(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusals: int, written: bool
    ) -> None:
        left = [refusals]
        real = os.replace

        def shared(source: Path, target: Path) -> None:
            if left[0]:
                left[0] -= 1
                raise PermissionError(errno.EACCES, "in use")
            real(source, target)

        monkeypatch.setattr(os, "replace", shared)
        monkeypatch.setattr(files, "_SHARING_RETRIES", 3)
        monkeypatch.setattr(files, "_SHARING_PAUSE", 0.0)
        if written:
            atomic_write(tmp_path / "data.json", b"x")
        else:
            with pytest.raises(StorageError):
                atomic_write(tmp_path / "data.json", b"x")
        assert names(tmp_path) == (["data.json"] if written else [])


class TestStorageError:
    def test_reading_has_its_own_code(self) -> None:
        error = storage_error(OSError(errno.EIO, "broken"), Path("f"), code="store-unreadable")
        assert (error.code, error.details["reason"]) == ("store-unreadable", "EIO")

    def test_an_error_without_number_is_named_by_its_class(self) -> None:
        error = storage_error(TimeoutError(), Path("f"))
        assert error.details["reason"] == "TimeoutError"
        assert "TimeoutError" in error.message


class TestLeftovers:
    def test_only_old_temporary_files_of_the_named_targets_go(self, tmp_path: Path) -> None:
        old = [".a.json.12.1700000000000.0f.tmp", ".a.json.12.x.tmp", ".b.json.12.17.0f.tmp"]
        for name in (*old, ".a.json.12.1700000000000.ff.tmp"):
            (tmp_path / name).write_bytes(b"")
        for name in old:
            os.utime(tmp_path / name, (1, 1))
        remove_leftovers([tmp_path / "a.json"])
        assert names(tmp_path) == sorted([*old[1:], ".a.json.12.1700000000000.ff.tmp"])

    def test_one_that_cannot_be_removed_is_left(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / ".a.1.2.f.tmp").write_bytes(b"")
        monkeypatch.setattr(Path, "unlink", failing(errno.EACCES, lambda *_: True, Path.unlink))
        remove_leftovers([tmp_path / "a"], older_than=-60)
        assert names(tmp_path) == [".a.1.2.f.tmp"]


class TestInTurn:
    async def test_one_directory_has_one_queue_whatever_its_spelling(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "alias").symlink_to(tmp_path / "real")
        order: list[str] = []

        async def visit(name: str, folder: Path) -> None:
            async with in_turn(folder):
                order.append(f"{name} in")
                await anyio.sleep(0.01)
                order.append(f"{name} out")

        async with anyio.create_task_group() as group:
            for name, folder in (("a", "real"), ("b", "alias"), ("c", "alias/../real")):
                group.start_soon(visit, name, tmp_path / folder)
                await anyio.sleep(0.002)
        # Who comes first may differ, as finding the real folder takes its own time; nobody meets.
        visits = [(order[i], order[i + 1]) for i in range(0, len(order), 2)]
        assert sorted(visits) == [(f"{name} in", f"{name} out") for name in "abc"]

    async def test_a_failure_does_not_block_the_next(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError):
            async with in_turn(tmp_path):
                raise KeyError
        async with in_turn(tmp_path, at_once=True):
            pass

    async def test_at_once_refuses_to_queue(self, tmp_path: Path) -> None:
        codes: list[str] = []

        async def hurry() -> None:
            with pytest.raises(StorageError) as caught:
                async with in_turn(tmp_path, at_once=True):
                    pass
            codes.append(caught.value.code)

        async with in_turn(tmp_path), anyio.create_task_group() as group:
            group.start_soon(hurry)
        assert codes == ["lock-timeout"]

    async def test_other_directories_do_not_wait(self, tmp_path: Path) -> None:
        async with in_turn(tmp_path / "a"), in_turn(tmp_path / "b", at_once=True):
            pass

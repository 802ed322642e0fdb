"""Atomic replacement and the lock shared with the original (spec/sources.md §1.4, D30, D31)."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread
from dsh_mnemon_core import _lockfile, files
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import (
    HeldLock,
    LockTiming,
    Replacement,
    StoreLock,
    atomic_write,
    ensure_directory,
    in_turn,
    remove_leftovers,
    replace_files,
    storage_error,
)

NO_WAIT = LockTiming(guard=0.0, file=0.0, stale=30.0, poll=0.001)
MINE = f"dsh-mnemon {os.getpid()}".encode()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def lock_path(tmp_path: Path) -> Path:
    return tmp_path / ".store.lock"


@pytest.fixture
def foreign_lock(lock_path: Path) -> Path:
    lock_path.write_bytes(b"")
    return lock_path


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def failing(error: int, when: Callable[..., bool], real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    return call


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


class TestLockFile:
    def test_holds_our_mark_while_taken_and_goes_afterwards(self, lock_path: Path) -> None:
        with StoreLock(lock_path).held() as lock:
            assert lock_path.read_bytes() == MINE
            assert stat.S_IMODE(lock_path.stat().st_mode) == 0o600
            assert lock.still_held()
        assert not lock.still_held()
        assert ".store.lock.guard" in names(lock_path.parent)
        assert ".store.lock" not in names(lock_path.parent)

    def test_is_freed_when_the_work_fails(self, lock_path: Path) -> None:
        with pytest.raises(KeyError), StoreLock(lock_path).held():
            raise KeyError
        with StoreLock(lock_path, timing=NO_WAIT).held():
            assert lock_path.exists()

    def test_our_own_leftover_is_removed_at_once(self, lock_path: Path) -> None:
        lock_path.write_bytes(b"dsh-mnemon 999999")
        with StoreLock(lock_path, timing=NO_WAIT).held():
            assert lock_path.read_bytes() == MINE
        assert names(lock_path.parent) == [".store.lock.guard"]

    def test_a_foreign_lock_is_waited_for(self, lock_path: Path) -> None:
        lock_path.write_bytes(b"")
        pauses: list[float] = []

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 3:
                lock_path.unlink()

        with StoreLock(lock_path, sleep=sleep).held():
            assert pauses == [0.02, 0.02, 0.02]

    def test_a_foreign_lock_that_stays_times_out(self, lock_path: Path) -> None:
        lock_path.write_bytes(b"")
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        with (
            pytest.raises(StorageError) as caught,
            StoreLock(lock_path, monotonic=lambda: now[0], sleep=sleep).held(),
        ):
            pass
        assert (caught.value.code, caught.value.retryable) == ("lock-timeout", True)
        assert 5.0 <= now[0] < 5.1
        assert lock_path.read_bytes() == b""
        assert names(lock_path.parent) == [".store.lock", ".store.lock.guard"]

    @pytest.mark.parametrize(("age", "taken"), [(29.0, False), (31.0, True)])
    def test_a_foreign_lock_is_a_leftover_after_thirty_seconds(
        self, lock_path: Path, age: float, taken: bool
    ) -> None:
        lock_path.write_bytes(b"")
        os.utime(lock_path, (1000.0, 1000.0))
        lock = StoreLock(lock_path, timing=NO_WAIT, clock=lambda: 1000.0 + age)
        if taken:
            with lock.held():
                assert lock_path.read_bytes() == MINE
        else:
            with pytest.raises(StorageError), lock.held():
                pass

    def test_a_leftover_that_vanishes_meanwhile_is_no_obstacle(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock_path.write_bytes(b"")
        os.utime(lock_path, (1, 1))
        real = Path.rename

        def race(path: Path, target: Path) -> Path:
            path.unlink()
            return real(path, target)

        monkeypatch.setattr(Path, "rename", race)
        with StoreLock(lock_path, timing=NO_WAIT).held():
            assert lock_path.read_bytes() == MINE

    @pytest.mark.parametrize("links", [True, False])
    def test_a_fresh_lock_moved_by_mistake_is_put_back(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
    ) -> None:
        lock_path.write_bytes(b"")
        os.utime(lock_path, (1, 1))
        real = Path.rename

        def race(path: Path, target: Path) -> Path:
            # The original removed the leftover and took the lock between our look and our rename.
            if path == lock_path:
                path.unlink()
                path.write_bytes(b"fresh")
            return real(path, target)

        monkeypatch.setattr(Path, "rename", race)
        if not links:
            monkeypatch.setattr(os, "link", failing(errno.EPERM, lambda *_: True, os.link))
        # `_create` is not reached: the lock file exists whenever it tries.
        with pytest.raises(StorageError), StoreLock(lock_path, timing=NO_WAIT).held():
            pass
        assert lock_path.read_bytes() == b"fresh"
        assert names(lock_path.parent) == [".store.lock", ".store.lock.guard"]

    def test_a_newer_lock_wins_over_putting_back(self, lock_path: Path) -> None:
        aside = lock_path.with_name("aside")
        aside.write_bytes(b"moved")
        lock_path.write_bytes(b"newer")
        _lockfile._put_back(aside, lock_path)
        assert (lock_path.read_bytes(), aside.exists()) == (b"newer", False)

    def test_file_systems_without_links_use_exclusive_creation(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "link", failing(errno.EPERM, lambda *_: True, os.link))
        with StoreLock(lock_path, timing=NO_WAIT).held() as lock:
            assert lock_path.read_bytes() == MINE
            assert lock.still_held()
        assert names(lock_path.parent) == [".store.lock.guard"]

    def test_a_lock_file_that_cannot_be_removed_stays_as_leftover(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        refuse = failing(errno.EACCES, lambda path, *_: path == lock_path, Path.unlink)
        with monkeypatch.context() as patch, StoreLock(lock_path).held():
            patch.setattr(Path, "unlink", refuse)
        assert lock_path.read_bytes() == MINE
        with StoreLock(lock_path, timing=NO_WAIT).held():
            pass
        assert not lock_path.exists()

    def test_an_unwritable_folder_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"")
        with (
            pytest.raises(StorageError) as caught,
            StoreLock(tmp_path / "file" / ".store.lock").held(),
        ):
            pass
        assert caught.value.code == "store-unwritable"


class TestLosingTheLock:
    def test_a_commit_writes_nothing_once_the_lock_is_foreign(self, lock_path: Path) -> None:
        target = lock_path.with_name("data.json")
        with StoreLock(lock_path).held() as lock:
            lock_path.unlink()
            lock_path.write_bytes(b"")
            with pytest.raises(StorageError) as caught:
                lock.commit([Replacement(path=target, data=b"x")])
        assert (caught.value.code, caught.value.retryable) == ("lock-lost", True)
        assert not target.exists()
        # The lock of its new owner is left alone.
        assert lock_path.read_bytes() == b""

    def test_the_same_content_in_another_file_is_not_ours(self, lock_path: Path) -> None:
        with StoreLock(lock_path).held() as lock:
            keep = lock_path.with_name("keep")
            lock_path.rename(keep)
            lock_path.write_bytes(MINE)
            assert not lock.still_held()

    def test_a_commit_in_hand_replaces_files(self, lock_path: Path) -> None:
        target = lock_path.with_name("data.json")
        with StoreLock(lock_path).held() as lock:
            lock.commit([Replacement(path=target, data=b"x")])
        assert target.read_bytes() == b"x"


GUARD_HOLDER = """
import sys, time
from filelock import FileLock
guard = FileLock(sys.argv[1])
guard.acquire()
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def guarding_process(lock_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", GUARD_HOLDER, f"{lock_path}.guard"], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    with process:
        yield process
        process.kill()


class TestGuard:
    def test_another_process_of_ours_is_waited_for_up_to_thirty_seconds(
        self, lock_path: Path, guarding_process: subprocess.Popen[bytes]
    ) -> None:
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        lock = StoreLock(lock_path, monotonic=lambda: now[0], sleep=sleep)
        with pytest.raises(StorageError) as caught, lock.held():
            pass
        assert caught.value.code == "lock-timeout"
        assert 30.0 <= now[0] < 30.1

    def test_the_kernel_frees_it_when_its_owner_dies(
        self, lock_path: Path, guarding_process: subprocess.Popen[bytes]
    ) -> None:
        lock_path.write_bytes(b"dsh-mnemon %d" % guarding_process.pid)
        guarding_process.kill()
        guarding_process.wait()
        with StoreLock(lock_path, timing=NO_WAIT).held():
            assert lock_path.read_bytes() == MINE

    def test_threads_exclude_each_other(self, lock_path: Path) -> None:
        inside: list[int] = []
        most: list[int] = []

        def work() -> None:
            for _ in range(5):
                with StoreLock(lock_path, timing=LockTiming(poll=0.0005)).held():
                    inside.append(1)
                    most.append(len(inside))
                    inside.pop()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1] * 20


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
        assert order == ["a in", "a out", "b in", "b out", "c in", "c out"]

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


class TestRun:
    async def test_work_runs_in_a_thread_with_the_lock(self, lock_path: Path) -> None:
        def work(lock: HeldLock) -> tuple[bool, bool]:
            return lock.still_held(), threading.current_thread() is threading.main_thread()

        assert await StoreLock(lock_path).run(work) == (True, False)

    async def test_at_once_gives_up_on_a_foreign_lock(self, foreign_lock: Path) -> None:
        with pytest.raises(StorageError) as caught:
            await StoreLock(foreign_lock).run(HeldLock.still_held, at_once=True)
        assert caught.value.code == "lock-timeout"

    async def test_cancelling_ends_the_wait(self, foreign_lock: Path) -> None:
        with anyio.move_on_after(0.05) as scope, anyio.fail_after(4):
            await StoreLock(foreign_lock).run(HeldLock.still_held)
        assert scope.cancelled_caught
        assert names(foreign_lock.parent) == [".store.lock", ".store.lock.guard"]

    async def test_cancelling_before_the_first_rename_stops_the_commit(
        self, lock_path: Path
    ) -> None:
        target = lock_path.with_name("data.json")
        started, go = threading.Event(), threading.Event()

        def work(lock: HeldLock) -> None:
            started.set()
            go.wait(5)
            lock.commit([Replacement(path=target, data=b"x")])

        async with anyio.create_task_group() as group:
            group.start_soon(StoreLock(lock_path).run, work)
            await to_thread.run_sync(started.wait, 5)
            group.cancel_scope.cancel()
            go.set()
        assert names(lock_path.parent) == [".store.lock.guard"]

    async def test_cancelling_after_the_first_rename_lets_it_finish(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        paths = [lock_path.with_name(name) for name in ("a", "marker")]
        started, go = threading.Event(), threading.Event()
        real = os.replace

        def slow(source: Path, target: Path) -> None:
            real(source, target)
            started.set()
            go.wait(5)

        monkeypatch.setattr(os, "replace", slow)
        results: list[str] = []

        def work(lock: HeldLock) -> str:
            lock.commit([Replacement(path=path, data=b"x") for path in paths])
            return "committed"

        async def call() -> None:
            results.append(await StoreLock(lock_path).run(work))

        async with anyio.create_task_group() as group:
            group.start_soon(call)
            await to_thread.run_sync(started.wait, 5)
            group.cancel_scope.cancel()
            go.set()
        assert [path.read_bytes() for path in paths] == [b"x", b"x"]
        assert results == ["committed"]

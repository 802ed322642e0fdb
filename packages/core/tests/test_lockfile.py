"""The lock shared with the original, and work under it (spec/sources.md §1.4, D21, D31)."""

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
from dsh_mnemon_core import _lockfile
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import (
    HeldLock,
    LockTiming,
    Replacement,
    StoreLock,
)

NO_WAIT = LockTiming(guard=0.0, file=0.0, stale=30.0, poll=0.001)
MINE = f"dsh-mnemon {os.getpid()}".encode()


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


class TestRun:
    async def test_work_runs_in_a_thread_with_the_lock(self, lock_path: Path) -> None:
        def work(lock: HeldLock) -> tuple[bool, bool]:
            return lock.still_held(), threading.current_thread() is threading.main_thread()

        assert await StoreLock(lock_path).run(work) == (True, False)

    async def test_it_can_create_the_folder(self, tmp_path: Path) -> None:
        path = tmp_path / "a" / "b" / ".store.lock"
        assert await StoreLock(path).run(HeldLock.still_held, create=True)
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700

    async def test_a_folder_that_cannot_be_created_is_named(self, tmp_path: Path) -> None:
        (tmp_path / "a").write_bytes(b"")
        with pytest.raises(StorageError) as caught:
            await StoreLock(tmp_path / "a" / ".store.lock").run(HeldLock.still_held, create=True)
        assert (caught.value.code, caught.value.details["reason"]) == (
            "store-unwritable",
            "ENOTDIR",
        )

    async def test_at_once_gives_up_on_a_foreign_lock(self, foreign_lock: Path) -> None:
        with pytest.raises(StorageError) as caught:
            await StoreLock(foreign_lock).run(HeldLock.still_held, at_once=True)
        assert caught.value.code == "lock-timeout"

    async def test_cancelling_ends_the_wait(self, foreign_lock: Path) -> None:
        waiting = threading.Event()
        lock = StoreLock(foreign_lock, sleep=lambda _: waiting.set())
        with anyio.fail_after(4):
            async with anyio.create_task_group() as group:
                group.start_soon(lock.run, HeldLock.still_held)
                await to_thread.run_sync(waiting.wait, 4)
                group.cancel_scope.cancel()
        assert waiting.is_set()
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

"""What may stand in a lock's place, and what may go wrong with it (spec/sources.md §1.4, D31)."""

from __future__ import annotations

import errno
import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core import _lockfile
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import LockTiming, StoreLock

NO_WAIT = LockTiming(guard=0.0, file=0.0, stale=30.0, poll=0.001)
MINE = f"dsh-mnemon {os.getpid()}".encode()


@pytest.fixture
def lock_path(tmp_path: Path) -> Path:
    return tmp_path / ".store.lock"


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def failing(error: int, when: Callable[..., bool], real: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if when(*args):
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    return call


def stand_in(path: Path, kind: str) -> None:
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    elif kind == "link to a file":
        path.with_name("theirs").write_bytes(b"dsh-mnemon 1")
        path.symlink_to("theirs")
    elif kind == "link to nothing":
        path.symlink_to("nowhere")
    else:
        path.symlink_to(path.name)


KINDS = ["pipe", "folder", "socket", "link to a file", "link to nothing", "link to itself"]


@pytest.mark.parametrize("kind", KINDS)
class TestObstacles:
    @pytest.fixture(autouse=True)
    def here(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)  # a socket's path is short

    def test_in_place_of_the_lock_file_are_waited_for_and_never_removed(
        self, lock_path: Path, kind: str
    ) -> None:
        stand_in(lock_path, kind)
        before = lock_path.lstat()
        now = [0.0]

        def sleep(seconds: float) -> None:
            now[0] += seconds

        lock = StoreLock(
            lock_path,
            clock=lambda: before.st_mtime + 1e6,
            monotonic=lambda: now[0],
            sleep=sleep,
        )
        with pytest.raises(StorageError) as caught, lock.held():
            pass
        assert 5.0 <= now[0] < 5.1
        assert (caught.value.code, caught.value.retryable) == ("store-unwritable", False)
        assert caught.value.details == {"file": str(lock_path), "reason": "not-a-regular-file"}
        assert os.path.samestat(lock_path.lstat(), before)
        assert not [name for name in names(lock_path.parent) if name.endswith(".tmp")]

    def test_that_go_away_are_none(self, lock_path: Path, kind: str) -> None:
        stand_in(lock_path, kind)
        aside = lock_path.with_name("aside")
        with StoreLock(lock_path, sleep=lambda _: lock_path.rename(aside) and None).held():
            assert lock_path.read_bytes() == MINE
        assert os.path.lexists(aside)

    def test_in_place_of_the_guard_are_refused_at_once(self, lock_path: Path, kind: str) -> None:
        guard = lock_path.with_name(".store.lock.guard")
        stand_in(guard, kind)
        before = guard.lstat()
        lock = StoreLock(lock_path, sleep=lambda _: pytest.fail("it waits"))
        with pytest.raises(StorageError) as caught, lock.held():
            pass
        assert caught.value.code == "store-unwritable"
        assert caught.value.details == {"file": str(guard), "reason": "not-a-regular-file"}
        assert f"a {kind.split()[0]}" in caught.value.message
        assert os.path.samestat(guard.lstat(), before)
        assert not os.path.lexists(lock_path)

    def test_that_come_between_two_looks_are_put_back(
        self, lock_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lock_path.write_bytes(b"")
        os.utime(lock_path, (1, 1))
        real = Path.rename

        def race(path: Path, target: Path) -> Path:
            if path == lock_path:
                path.unlink()
                stand_in(path, kind)
            return real(path, target)

        monkeypatch.setattr(Path, "rename", race)
        with pytest.raises(StorageError) as caught, StoreLock(lock_path, timing=NO_WAIT).held():
            pass
        assert caught.value.details["reason"] == "not-a-regular-file"
        assert os.path.lexists(lock_path)
        assert not [name for name in names(lock_path.parent) if name.endswith(".tmp")]


class TestFaults:
    def test_a_device_is_named_as_such(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        device = Path(os.devnull).lstat()
        monkeypatch.setattr(Path, "lstat", lambda _: device)
        with pytest.raises(StorageError) as caught, StoreLock(lock_path).held():
            pass
        assert "a device" in caught.value.message

    def test_a_guard_that_cannot_be_created_is_named(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "open", failing(errno.EROFS, lambda *_: True, os.open))
        with pytest.raises(StorageError) as caught, StoreLock(lock_path, timing=NO_WAIT).held():
            pass
        assert caught.value.details == {"file": f"{lock_path}.guard", "reason": "EROFS"}

    def test_a_place_that_is_never_free_is_given_up_and_can_be_interrupted(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # The file is gone whenever one looks, and there whenever one creates it.
        monkeypatch.setattr(os, "link", failing(errno.EEXIST, lambda *_: True, os.link))
        with pytest.raises(StorageError) as caught, StoreLock(lock_path, timing=NO_WAIT).held():
            pass
        assert caught.value.code == "lock-timeout"

        def interrupt() -> None:
            raise KeyError

        lock = StoreLock(lock_path)
        with pytest.raises(KeyError), lock.held(interrupt=interrupt):
            pass
        assert names(lock_path.parent) == [".store.lock.guard"]

    @pytest.mark.parametrize(("age", "taken"), [(29.0, False), (31.0, True)])
    def test_a_foreign_lock_that_is_not_ours_to_read_ages_like_any_other(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch, age: float, taken: bool
    ) -> None:
        lock_path.write_bytes(b"theirs")
        os.utime(lock_path, (1000.0, 1000.0))
        theirs = lock_path.stat().st_ino

        def is_theirs(path: Path | str, *_: Any) -> bool:
            return Path(path) == lock_path and lock_path.stat().st_ino == theirs

        monkeypatch.setattr(os, "open", failing(errno.EACCES, is_theirs, os.open))
        lock = StoreLock(lock_path, timing=NO_WAIT, clock=lambda: 1000.0 + age)
        if taken:
            with lock.held():
                assert lock_path.read_bytes() == MINE
        else:
            with pytest.raises(StorageError) as caught, lock.held():
                pass
            assert caught.value.code == "lock-timeout"
            assert lock_path.read_bytes() == b"theirs"

    @pytest.mark.parametrize("links", [True, False])
    def test_a_full_disk_leaves_nothing_behind(
        self, lock_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
    ) -> None:
        write = _lockfile.write_new

        def full(path: Path, *args: Any, **options: Any) -> os.stat_result:
            if links or path == lock_path:
                resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
            return write(path, *args, **options)

        limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        monkeypatch.setattr(_lockfile, "write_new", full)
        monkeypatch.setattr(os, "link", failing(errno.EPERM, lambda *_: True, os.link))
        try:
            with pytest.raises(StorageError) as caught, StoreLock(lock_path).held():
                pass
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert caught.value.details == {"file": str(lock_path), "reason": "EFBIG"}
        assert names(lock_path.parent) == [".store.lock.guard"]

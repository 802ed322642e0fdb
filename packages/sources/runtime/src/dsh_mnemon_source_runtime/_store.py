"""One root's ``runtime`` folder: load, repair, and change it under its lock (spec/sources.md §2.3).

`read`, `diagnose` and `hand_edits` block; the asynchronous calls do their file work in a thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import (
    HeldLock,
    LockTiming,
    Replacement,
    StoreLock,
    remove_leftovers,
    storage_error,
)

from dsh_mnemon_source_runtime import _archive, _files, _surroundings
from dsh_mnemon_source_runtime._changes import Change, State, Step
from dsh_mnemon_source_runtime._format import Damage, decode, encode
from dsh_mnemon_source_runtime._rendered import HandEdit, Renderings
from dsh_mnemon_source_runtime.contracts import FILE_NAMES, Entry
from dsh_mnemon_source_runtime.errors import DamagedStore

FILE: Final = "memories.json"
DANGLING: Final = "dangling-link"

# A file changed again within one tick of its clock may keep its signature.
_TICK: Final = 50_000_000


@attrs.frozen(kw_only=True)
class _Loaded:
    """A state and the bytes that hold it; ``None`` without a store.

    A signature stands for the bytes of the file that has it, and is there only when it can.
    """

    state: State
    data: bytes | None
    signature: tuple[int, int, int] | None = None

    @property
    def stored(self) -> tuple[Entry, ...] | None:
        """The entries of the store, ``None`` when there is no store."""
        return None if self.data is None else self.state.entries


_ABSENT: Final = _Loaded(state=State(()), data=None)


class RuntimeStore:
    """The store of one root.

    Args:
        root: Directory whose ``runtime`` folder holds the store; need not exist.
        clock: The time, aware.
        timing: Waiting times of the lock.
    """

    def __init__(
        self, root: Path, *, clock: Callable[[], datetime], timing: LockTiming | None = None
    ) -> None:
        self.folder = root / "runtime"
        self.path = self.folder / FILE
        self._clock = clock
        self._lock = StoreLock(self.folder / ".memories.lock", timing=timing)
        self._renderings = Renderings(self.folder)
        self._cache: _Loaded | None = None
        self._opened = False

    def read(self) -> State:
        """Read the store; free of parsing while the file has not changed.

        Raises:
            DamagedStore: memories.json is not understood.
            StorageError: ``store-unreadable``.
        """
        return self._load().state

    async def open(self) -> State:
        """Read the store; the first time, put into normal form what is not, if that is free.

        Nothing is written when there is no store yet, when somebody holds the lock, or when the
        folder is read-only (D25).

        Raises:
            StorageError: As `read`.
        """
        loaded = await to_thread.run_sync(self._load)
        if not self._opened:
            # Busy, read-only or broken beside memories.json: the next mutation repairs, or says so.
            with suppress(StorageError):
                if not await to_thread.run_sync(self._is_normal, loaded):
                    await self._lock.run(self._repair, at_once=True)
            self._opened = True
        return loaded.state

    async def change(self, step: Step) -> Change:
        """Reload under the lock, let a pure step decide, then archive and commit.

        The commit renames the Markdown files first and memories.json last. From the first rename
        on it is not interrupted (D21).

        Raises:
            StorageError: The lock, the archive or a file fails; the old state stays.
            MnemonError: What ``step`` raises; nothing is written.
        """

        def work(lock: HeldLock) -> Change:
            before = self._load()
            change = step(before.state)
            if change.entries is not None:
                now = self._clock()
                archived = self.folder / _archive.FOLDER
                _archive.append(archived, _archive.ENTRIES, change.archived, now=now)
                _archive.append(archived, _archive.LINEAGE, change.lineage, now=now)
                self._write(lock, before.stored, change.entries, now)
            return change

        return await self._lock.run(work, create=True)

    def diagnose(self) -> dict[str, Any]:
        """Look at everything a write needs; never fails.

        Returns:
            ``{file, readable, reason?, firstBadIndex?, problem?, texts?, blocked?, lock?,
            freeBytes?, archiveUnreadableLines?}``: ``texts`` are the Markdown files that still hold
            text when memories.json is not readable; for the rest see `_surroundings.survey`.
        """
        report: dict[str, Any] = {"file": str(self.path), "readable": True}
        try:
            self._load()
        except StorageError as error:
            details = {key: value for key, value in error.details.items() if key != "file"}
            report.update(readable=False, **details)
            if texts := _surroundings.texts(self.folder):
                report["texts"] = texts
        stale = self._lock.timing.stale
        around = _surroundings.survey(
            self.folder,
            self._lock.path,
            readable=report["readable"],
            now=time.time(),
            stale=stale,
        )
        return {**report, **around}

    def hand_edits(self) -> list[HandEdit]:
        """List Markdown files and kept copies that say something the store does not hold.

        Raises:
            StorageError: As `read`.
        """
        return self._renderings.hand_edits(self._load().stored)

    def archived(self, *, limit: int, offset: int) -> dict[str, Any]:
        """Return one page of the local archive, newest first; see `_archive.read`."""
        return _archive.read(self.folder / _archive.FOLDER, limit=limit, offset=offset)

    def _load(self) -> _Loaded:
        cached = self._cache
        try:
            with _files.open_regular(self.path) as file:
                status = os.fstat(file.fileno())
                signature = (status.st_mtime_ns, status.st_size, status.st_ino)
                if cached is not None and cached.signature == signature:
                    return cached
                data = file.read()
        except FileNotFoundError:
            if self.path.is_symlink():
                raise DamagedStore(str(self.path), DANGLING) from None
            return _ABSENT
        except _files.Unfit as unfit:
            raise DamagedStore(str(self.path), unfit.reason) from None
        except OSError as error:
            raise storage_error(error, self.path, code="store-unreadable") from error
        loaded = _Loaded(
            state=cached.state
            if cached is not None and cached.data == data
            else self._decoded(data),
            data=data,
            signature=signature if time.time_ns() - status.st_mtime_ns > _TICK else None,
        )
        self._cache = loaded
        return loaded

    def _decoded(self, data: bytes) -> State:
        try:
            return State(decode(data))
        except Damage as damage:
            raise DamagedStore(
                str(self.path), damage.reason, damage.index, damage.problem
            ) from None

    def _is_normal(self, loaded: _Loaded) -> bool:
        if loaded.data is None:
            return not self._renderings.exist()
        entries = loaded.state.entries
        return loaded.data == encode(entries) and self._renderings.are_current(entries)

    def _repair(self, lock: HeldLock) -> None:
        loaded = self._load()
        names = (FILE, *FILE_NAMES.values(), self._lock.path.name)
        remove_leftovers([self._target(), *(self.folder / name for name in names)])
        self._write(lock, loaded.stored, loaded.state.entries, self._clock())

    def _target(self) -> Path:
        """Return the file that memories.json stands for: writes go through a link."""
        return Path(os.path.realpath(self.path)) if self.path.is_symlink() else self.path

    def _write(
        self, lock: HeldLock, before: Sequence[Entry] | None, after: Sequence[Entry], now: datetime
    ) -> None:
        files, data = self._renderings.rewrite(before, after, now), encode(after)
        lock.commit([*files, Replacement(path=self._target(), data=data)])
        self._cache = _Loaded(state=State(tuple(after)), data=data)

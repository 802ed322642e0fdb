"""One root's ``documents`` folder: load, repair, and change it under its lock (§3.5, §3.7).

Everything blocks but the asynchronous calls, which do their file work in a thread.
"""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import (
    HeldLock,
    LockTiming,
    Replacement,
    StoreLock,
    ensure_directory,
)

from dsh_mnemon_source_documents import _intake, _repair
from dsh_mnemon_source_documents._access import AccessLog, folded
from dsh_mnemon_source_documents._adoption import Adoption, Judge
from dsh_mnemon_source_documents._changes import Change, Step
from dsh_mnemon_source_documents._files import (
    MAX_INDEX_BYTES,
    MISSING,
    NOT_REGULAR,
    Signature,
    Unfit,
    read_regular,
    signature,
)
from dsh_mnemon_source_documents._folder import BodyFolder, Found, shown
from dsh_mnemon_source_documents._history import History, Kept
from dsh_mnemon_source_documents._index import (
    FILE,
    Damage,
    State,
    decode,
    encode,
    place,
    state_of,
)
from dsh_mnemon_source_documents._intake import Intake
from dsh_mnemon_source_documents._journal import Journal, Written
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_source_documents.errors import DamagedIndex, DocumentConflictError

# A file changed again within one tick of its clock may keep its signature.
_TICK = 50_000_000

_EMPTY = state_of(())


@contextmanager
def _named_within(folder: Path) -> Generator[None]:
    """Let messages, which models read, name files as in the folder; details keep whole paths."""
    try:
        yield
    except StorageError as error:
        message = error.message.replace(f"{folder}{os.sep}", "").replace(str(folder), folder.name)
        if message == error.message:
            raise
        raise StorageError(
            error.code, message, details=error.details, retryable=error.retryable
        ) from error


class DocumentStore:
    """The store of one root.

    Args:
        root: Directory whose ``documents`` folder it is; need not exist.
        timing: Waiting times of the lock.
    """

    def __init__(self, root: Path, *, timing: LockTiming | None = None) -> None:
        self.root = root
        self.bodies = BodyFolder(root)
        self.folder = self.bodies.path
        self.path = self.folder / FILE
        self.access = AccessLog(self.folder)
        self.history = History(self.folder)
        self.lock = StoreLock(self.folder / ".index.lock", timing=timing)
        self._journal = Journal(self.folder, self.history)
        self._cache: tuple[Signature, State] | None = None
        self._opened = False

    def read(self) -> State:
        """Read the index; free of parsing while the file has not changed.

        Raises:
            DamagedIndex: ``index-damaged``.
            StorageError: ``store-unreadable``.
        """
        if self._cache is not None:
            with suppress(OSError):
                if signature(os.lstat(self.path)) == self._cache[0]:
                    return self._cache[1]
        try:
            data, signed = read_regular(self.path, MAX_INDEX_BYTES)
        except Unfit as unfit:
            if unfit.reason == MISSING:
                return _EMPTY
            raise self._unreadable(unfit) from None
        try:
            state = state_of(decode(data))
        except Damage as damage:
            raise DamagedIndex(
                str(self.path), damage.reason, damage.index, damage.problem, **damage.named
            ) from None
        settled = time.time_ns() - signed[0] > _TICK
        self._cache = (signed, state) if settled else None
        return state

    def _unreadable(self, unfit: Unfit) -> StorageError:
        if unfit.error is None or unfit.reason == NOT_REGULAR:
            return DamagedIndex(str(self.path), unfit.reason)
        return StorageError(
            "store-unreadable",
            f"{self.path.name} cannot be read: {unfit.error.strerror or unfit.reason}",
            details={"file": str(self.path), "reason": unfit.reason},
        )

    def current(self) -> State:
        """Read the index with the noted access times folded in; raises like `read`."""
        state = self.read()
        latest = self.access.read()
        return attrs.evolve(state, records=folded(state.records, latest)) if latest else state

    async def open(self) -> None:
        """Until that succeeded once, put right what was left half done, if that is free.

        Nothing is written when somebody holds the lock or the folder is read-only (D25).

        Raises:
            StorageError: As `read`.
        """
        if self._opened:
            return
        half_done = await to_thread.run_sync(self._is_half_done)
        if not half_done:
            self._opened = True
            return
        # Busy or read-only: the next use puts it right, and a mutation says why it cannot be.
        with suppress(StorageError):
            await self.lock.run(self._settle, at_once=True)

    async def change(self, step: Step, *, fence: str | None = None) -> tuple[State, Change]:
        """Reload under the lock, let a pure step decide, then write.

        The former body is kept, the new one renamed into place, and the index last. From the first
        rename on it is not interrupted (D21).

        Args:
            step: What to do.
            fence: Index revision that must still be current under the lock.

        Returns:
            The index after the change, and the change.

        Raises:
            DocumentConflictError: ``revision-conflict``.
            StorageError: The lock or a file fails; the old state stays.
            MnemonError: What ``step`` raises; nothing is written.
        """
        with _named_within(self.folder):
            await to_thread.run_sync(ensure_directory, self.folder)
            return await self.lock.run(partial(self._change, step, fence))

    async def take_in(
        self, judge: _intake.Judge, *, fence: str | None = None
    ) -> tuple[State, Intake]:
        """Reload under the lock, let a pure judge decide on many texts, then write all at once.

        Every new body is synced before the first rename, and the index is renamed last: all of it
        is there afterwards, or nothing.

        Args:
            judge: Says what becomes of each text.
            fence: Index revision that must still be current under the lock.

        Returns:
            The index after it, and what was decided.

        Raises:
            MnemonError: As `change`; ``judge`` raises nothing.
        """
        with _named_within(self.folder):
            await to_thread.run_sync(ensure_directory, self.folder)
            return await self.lock.run(partial(self._take_in, judge, fence))

    async def adopt(self, judge: Judge, *, fence: str | None = None) -> tuple[State, Adoption]:
        """Reload under the lock, let a pure judge take files into the index, then write that.

        The files themselves stay as they are, so that one rename does it all.

        Args:
            judge: Says which files become documents.
            fence: Index revision that must still be current under the lock.

        Returns:
            The index after it, and what was decided.

        Raises:
            MnemonError: As `change`, with ``judge`` for the step.
        """
        with _named_within(self.folder):
            await to_thread.run_sync(ensure_directory, self.folder)
            return await self.lock.run(partial(self._adopt, judge, fence))

    async def close(self) -> None:
        """Fold the access log, if that is free; never fails, and may be repeated."""
        with suppress(StorageError, OSError):
            if await to_thread.run_sync(os.path.exists, self.access.path):
                await self.lock.run(self.fold, at_once=True)

    def fold(self, lock: HeldLock) -> None:
        """Write the noted access times into the index.

        Raises:
            StorageError: The index is damaged or cannot be written.
        """
        before = self.read()
        state = self.current()
        if state.records != before.records:
            lock.commit([Replacement(path=self.path, data=encode(state.records))])
        self.access.clear()

    def look(self, record: DocumentRecord) -> Found:
        """Read a body; see `BodyFolder.look`."""
        return self.bodies.look(record)

    def former(self, record: DocumentRecord) -> dict[int, Kept]:
        """Read former bodies; see `History.former`."""
        return self.history.former(record)

    def unindexed(self, state: State) -> list[str]:
        """Return relative paths of Markdown files that no record names."""
        known = {record.relative_path for record in state.records}
        found = (
            place(status, name)
            for status, names in self.bodies.places().items()
            for name in names
            if name.endswith(".md")
        )
        return sorted(shown(path) for path in found if path not in known)

    def look_at(self, relative_path: str) -> Found:
        """Read a file that no record names; see `BodyFolder.look_at`."""
        return self.bodies.look_at(self.root / relative_path, relative_path)

    def last_kept(self, document_id: str) -> int:
        """Return the last revision in the history; see `History.last`."""
        return self.history.last(document_id)

    def blocked(self, state: State) -> StorageError | None:
        """Return why every change is refused; see `Journal.blocked`."""
        return self._journal.blocked(state.by_id)

    @property
    def pending(self) -> Path:
        """Where a change at work is noted."""
        return self._journal.path

    def _is_half_done(self) -> bool:
        return self._journal.exists() or _repair.is_needed(self.read(), self.bodies)

    def _settle(self, _lock: HeldLock) -> None:
        """Undo or complete what a dead writer began."""
        state = self.read()
        died = self._journal.exists()
        self._journal.undo(state.by_id)
        if died or _repair.is_needed(state, self.bodies):
            _repair.repair(state, self.bodies, self.history)
        self._opened = True

    def _latest(self, fence: str | None, lock: HeldLock) -> State:
        """Return the index that a change starts from."""
        if self._journal.exists() or not self._opened:
            self._settle(lock)
        before = self.current()
        if fence is not None and before.revision != fence:
            raise DocumentConflictError(
                "the documents changed since this operation was prepared; look again",
                expected=fence,
                current=before.revision,
            )
        return before

    def _change(self, step: Step, fence: str | None, lock: HeldLock) -> tuple[State, Change]:
        change = step(self._latest(fence, lock), self)
        self._write(lock, change)
        return self._written(change.records), change

    def _take_in(
        self, judge: _intake.Judge, fence: str | None, lock: HeldLock
    ) -> tuple[State, Intake]:
        before = self._latest(fence, lock)
        intake = judge(before, self)
        if not intake.changes:
            return before, intake
        self._write(lock, *intake.changes)
        return self._written(intake.changes[-1].records), intake

    def _adopt(self, judge: Judge, fence: str | None, lock: HeldLock) -> tuple[State, Adoption]:
        before = self._latest(fence, lock)
        adoption = judge(before, self)
        if not adoption.adopted:
            return before, adoption
        records = (*before.records, *adoption.adopted)
        lock.commit([Replacement(path=self.path, data=encode(records))])
        self.access.clear()
        return self._written(records), adoption

    def _written(self, records: Sequence[DocumentRecord]) -> State:
        after = state_of(records)
        with suppress(OSError):
            # Every writer renames, so the inode tells the next version from this one.
            self._cache = (signature(os.lstat(self.path)), after)
        return after

    def _write(self, lock: HeldLock, *changes: Change) -> None:
        """Write changes, each of which was decided on top of the one before; the index once."""
        replacements: list[Replacement] = []
        for change in changes:
            target = self.folder.parent / change.document.relative_path
            ensure_directory(target.parent)
            if change.former is not None:
                replacements.append(self.history.keep(change.former.record, change.former.data))
            replacements.append(Replacement(path=target, data=change.data))
        replacements.append(Replacement(path=self.path, data=encode(changes[-1].records)))
        lock.check()
        self._journal.begin(
            [
                Written(record=change.document, data=change.data, kept=change.former is not None)
                for change in changes
            ]
        )
        try:
            lock.commit(replacements)
        except BaseException:
            # Whatever was renamed is taken back at once, as after a death.
            with suppress(StorageError):
                self._journal.undo(self.read().by_id)
            raise
        for change in changes:
            self._clear_away(change)
        self.access.clear()
        self._journal.end()

    def _clear_away(self, change: Change) -> None:
        """Remove what the committed index no longer needs; the next opening would do it too."""
        if change.leaving is not None:
            with suppress(OSError):
                (self.folder.parent / change.leaving.relative_path).unlink()
        if change.former is not None:
            self.history.prune(change.document)

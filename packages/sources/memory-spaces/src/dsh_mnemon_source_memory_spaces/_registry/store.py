"""One root's registry: read, put right at opening, changed under its lock (sources.md §4.2)."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import attrs
from anyio import to_thread
from dsh_mnemon_core.errors import ConflictError, StorageError
from dsh_mnemon_core.files import (
    HeldLock,
    LockTiming,
    Replacement,
    StoreLock,
    ensure_directory,
    remove_leftovers,
    storage_error,
    sync_directory,
)
from dsh_mnemon_core.instant import utc_now

from dsh_mnemon_source_memory_spaces._registry.content import Content, catalogue_of, normal
from dsh_mnemon_source_memory_spaces._registry.format import encode_external, encode_native
from dsh_mnemon_source_memory_spaces._registry.journal import encode_pending, read_pending
from dsh_mnemon_source_memory_spaces._registry.migrations import (
    joined,
    read_external,
    read_native,
)
from dsh_mnemon_source_memory_spaces._registry.permissions import exposed
from dsh_mnemon_source_memory_spaces._registry.reading import Manifests, Part, RegistryFile
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue
from dsh_mnemon_source_memory_spaces._registry.stores import Stores

__all__ = ("Registry", "Step")

T = TypeVar("T")

Step: TypeAlias = Callable[[Catalogue, Content], tuple[Content, T]]
"""A pure change: what is listed and stored now; the new content and an answer."""


@attrs.frozen(kw_only=True)
class _Loaded:
    """The files as they were read, what they say, and what is listed of it."""

    native: Part
    external: Part
    pending: Part
    content: Content
    catalogue: Catalogue

    def changes(self, content: Content) -> list[tuple[Path, bytes | None]]:
        """Return the files that differ from a content and what they are to hold, in order.

        The external file comes first: a Space that moves out of a legacy native file must be in
        its new place before it leaves the old one. What was begun is forgotten last.

        Raises:
            StorageError: The content has something else for a file that cannot be read.
        """
        if self.external.fault is not None and self.native.content.external:
            raise self.external.fault  # it must take these Spaces before anything else
        changes: list[tuple[Path, bytes | None]] = []
        now, wanted = self._encoded(self.content), self._encoded(content)
        parts = (self.external, self.native, self.pending)
        for part, known, data in zip(parts, now, wanted, strict=True):
            if part.fault is None and not _says(part.data, data):
                changes.append((part.path, data))
            elif part.fault is not None and data != known:
                raise part.fault
        return changes

    def _encoded(self, content: Content) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Return what the external, the native and the pending file are to hold."""
        native: bytes | None = encode_native(content.native, content.native_extra)
        if not content.native and self.native.data is None:
            native = None
        return encode_external(content), native, encode_pending(content.pending)


@attrs.frozen(kw_only=True)
class _Memo:
    """What was loaded last, and of what; the parts are kept alive, so their ids stay theirs."""

    key: tuple[int, int, int, str, tuple[str, ...]]
    manifests: Manifests
    loaded: _Loaded


class Registry:
    """The registry of one root.

    Args:
        root: Storage root; need not exist.
        store: The native default store, when the configuration names one.
        clock: The time, aware.
        timing: Waiting times of the lock.
    """

    def __init__(
        self,
        root: Path,
        *,
        store: str | None = None,
        clock: Callable[[], datetime] = utc_now,
        timing: LockTiming | None = None,
    ) -> None:
        self.root = root
        self.clock = clock
        self.stores = Stores(root, configured=store, clock=clock)
        self._data = root / "data"
        self._native = RegistryFile(self._data / ".dsh-memory-bodies.json", read_native)
        self._external = RegistryFile(root / "state" / "memory-providers.json", read_external)
        self._pending = RegistryFile(self._data / ".dsh-memory-bodies.pending.json", read_pending)
        self._lock = StoreLock(self._data / ".dsh-memory-bodies.lock", timing=timing)
        self._reading = Lock()
        self._memo: _Memo | None = None
        self._latest: Content | None = None
        self._opened = False

    @property
    def latest(self) -> Content:
        """The content as it was last read; blocks for reading it when it never was."""
        return self._latest or self._load({}).content

    async def read(self, manifests: Manifests) -> Catalogue:
        """Return what is listed; the first time, put right what is not in normal form (D25).

        Nothing is written once it is open, while somebody holds the lock, or where there is
        neither a registry nor a store. What cannot be written now, the next change writes.

        Args:
            manifests: The mounted Providers by instance id.
        """
        loaded = await to_thread.run_sync(self._load, manifests)
        if not self._opened:
            with suppress(StorageError):
                if loaded.catalogue.faults or loaded.changes(loaded.content):
                    await self._locked(manifests, _keep, at_once=True)
                    loaded = await to_thread.run_sync(self._load, manifests)
            self._opened = True
        return loaded.catalogue

    async def change(
        self,
        manifests: Manifests,
        step: Step[T],
        *,
        expected_revision: str | None = None,
        write: bool = True,
    ) -> T:
        """Reload under the lock, let a pure step decide, and write what it changed.

        From the first rename on it is not interrupted (D21).

        Args:
            manifests: The mounted Providers by instance id.
            step: Decides; what it raises leaves everything as it is.
            expected_revision: Revision that the catalogue must still have.
            write: False only makes sure that the change could be made.

        Raises:
            ConflictError: ``revision-conflict``.
            StorageError: The lock or a file fails, or the step changes a file that cannot be
                understood; the old state stays.
        """
        return await self._locked(manifests, step, expected_revision, write=write)

    async def _locked(
        self,
        manifests: Manifests,
        step: Step[T],
        expected: str | None = None,
        *,
        write: bool = True,
        at_once: bool = False,
    ) -> T:
        def work(lock: HeldLock) -> T:
            loaded = self._load(manifests)
            if self._keep_copies(loaded):
                loaded = self._load(manifests)
            _check_revision(loaded.catalogue, expected)
            content, answer = step(loaded.catalogue, loaded.content)
            changes = loaded.changes(content)
            if write and changes:
                self._write(lock, changes)
                self._load(manifests)
            return answer

        await to_thread.run_sync(self._prepare)
        return await self._lock.run(work, at_once=at_once)

    async def exposed(self) -> list[dict[str, Any]]:
        """Return what others may look at of the keys; see `_registry.permissions`."""
        return await to_thread.run_sync(lambda: list(exposed(self._external.path)))

    async def check_writable(self) -> None:
        """Make sure that something can be added to the root; nothing is written.

        Raises:
            StorageError: ``store-unwritable``, naming the folder.
        """
        await to_thread.run_sync(self._check_writable)

    def _check_writable(self) -> None:
        for wanted in (self.root, self._data):
            folders = (wanted, *wanted.parents)
            folder = next(folder for folder in folders if os.path.lexists(folder))
            if not os.access(folder, os.W_OK | os.X_OK):
                refused = PermissionError(errno.EACCES, os.strerror(errno.EACCES))
                raise storage_error(refused, folder)

    def _prepare(self) -> None:
        ensure_directory(self.root)
        # The folder of the stores keeps the permissions that the command line tool gives it.
        ensure_directory(self._data, 0o755)

    def _load(self, manifests: Manifests) -> _Loaded:
        """Read the files and the stores; the same value while nothing changed."""
        with self._reading:
            native, external = self._native.read(manifests), self._external.read(manifests)
            pending = self._pending.read(manifests)
            default = self.stores.default()
            mounted = any(item.origin == "native" for item in manifests.values())
            names = self.stores.names() if mounted and native.fault is None else ()
            key = (id(native), id(external), id(pending), default, names)
            memo = self._memo
            if memo is None or memo.key != key or memo.manifests != manifests:
                parts = (native, external, pending)
                loaded = self._understood(parts, manifests, names, default)
                memo = _Memo(key=key, manifests=dict(manifests), loaded=loaded)
                self._memo = memo
            self._latest = memo.loaded.content
            return memo.loaded

    def _understood(
        self,
        parts: tuple[Part, Part, Part],
        manifests: Manifests,
        names: Sequence[str],
        default: str,
    ) -> _Loaded:
        native, external, pending = parts
        content = normal(joined(native.content, external.content), manifests)
        content = attrs.evolve(content, pending=pending.content.pending)
        content = self.stores.with_discovered(content, names, default)
        if native.fault is None:
            registered = {space.id for space in content.native}
            settled = content.pending.settled(registered, self.clock())
            content = attrs.evolve(content, pending=settled)
        faults = (part.fault for part in parts)
        is_store = any(space.id == default for space in content.native)
        catalogue = attrs.evolve(
            catalogue_of(content, manifests),
            faults=tuple(fault for fault in faults if fault is not None),
            default_store=default if is_store else None,
            pending_merges=content.pending.merges,
        )
        _ = catalogue.revision, catalogue.active  # computed here, in a thread, once
        return _Loaded(
            native=native,
            external=external,
            pending=pending,
            content=content,
            catalogue=catalogue,
        )

    def _write(self, lock: HeldLock, changes: Sequence[tuple[Path, bytes | None]]) -> None:
        files = (self._native, self._external, self._pending)
        targets = {file.path: file.target for file in files}
        remove_leftovers([*targets.values(), self._lock.path])
        for path, _ in changes:
            if path == self._external.path:
                ensure_directory(path.parent)
        lock.commit([Replacement(path=targets[path], data=data) for path, data in changes if data])
        for path, data in changes:
            if data is None:
                _remove(targets[path])
                _remove(path)

    def _keep_copies(self, loaded: _Loaded) -> bool:
        now = self.clock()
        kept = [
            self._native.keep_copy(loaded.native, now),
            self._external.keep_copy(loaded.external, now),
            self._pending.keep_copy(loaded.pending, now),
        ]
        return any(kept)


def _says(stored: bytes | None, wanted: bytes | None) -> bool:
    """Tell whether a file holds the wanted JSON; the original has more than one order of keys."""
    if stored == wanted or stored is None or wanted is None:
        return stored == wanted
    return bool(json.loads(stored) == json.loads(wanted))


def _keep(_catalogue: Catalogue, content: Content) -> tuple[Content, None]:
    """Change nothing: what is not in normal form is written as it is now understood."""
    return content, None


def _check_revision(catalogue: Catalogue, expected: str | None) -> None:
    current = catalogue.revision
    if expected is not None and current != expected:
        raise ConflictError(
            "revision-conflict",
            "the Memory Spaces changed meanwhile; look at them again before you change them",
            details={"expected": expected, "current": current},
        )


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(error, path) from error
    sync_directory(path.parent)

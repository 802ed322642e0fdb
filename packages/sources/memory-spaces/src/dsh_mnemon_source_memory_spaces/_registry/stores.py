"""The native stores of a root: which there are, which is the default (blocking; D25)."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import storage_error
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.migrations import DISCOVERED
from dsh_mnemon_source_memory_spaces._registry.records import NATIVE_PROVIDER_ID, SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import SPACE_ID

__all__ = ("Stores",)


class Stores:
    """The native stores of one root.

    Args:
        root: Storage root; need not exist.
        configured: The default store, when the configuration names one.
        clock: The time, aware.
    """

    def __init__(
        self, root: Path, *, configured: str | None, clock: Callable[[], datetime]
    ) -> None:
        self._root, self._data = root, root / "data"
        self._configured, self._clock = configured, clock
        self._seen: dict[str, str] = {}

    def names(self) -> tuple[str, ...]:
        """Return the names of all stores, sorted."""
        try:
            with os.scandir(self._data) as entries:
                names = [entry.name for entry in entries if SPACE_ID.fullmatch(entry.name)]
        except OSError:
            return ()
        return tuple(name for name in sorted(names) if self.is_found(name))

    def exists(self, name: str) -> bool:
        """Tell whether a store lies on the disk.

        Raises:
            StorageError: ``store-unreadable``; its folder cannot be entered.
        """
        file = self._data / name / "mnemon.db"
        try:
            return stat.S_ISREG(os.stat(file).st_mode)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise storage_error(error, file, code="store-unreadable") from error

    def is_found(self, name: str) -> bool:
        """Tell whether a store is seen on the disk; one whose folder is closed is not."""
        try:
            return self.exists(name)
        except StorageError:
            return False

    def is_taken(self, name: str) -> bool:
        """Tell whether a store of that name lies on the disk, or is being made."""
        return os.path.lexists(self._data / name)

    def default(self) -> str:
        """Return the store in use: the configured one, what ``active`` names, or ``default``."""
        if self._configured is not None:
            return self._configured
        try:
            named = (self._root / "active").read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return "default"
        return named if SPACE_ID.fullmatch(named) else "default"

    def with_discovered(self, content: Content, names: Sequence[str], default: str) -> Content:
        """Add a record for each store that has none: what it was made as, if that is known.

        The time of any other is when it was first seen.

        Args:
            content: What is registered.
            names: The stores on the disk.
            default: The store in use.
        """
        native = list(content.native)
        known = {space.id for space in native}
        for name in names:
            if name in known:
                continue
            claimed = content.pending.claim(name)
            if claimed is not None:
                native.append(claimed)
                continue
            seen = self._seen.setdefault(name, iso_utc(self._clock()))
            native.append(
                SpaceRecord(
                    id=name,
                    name=name,
                    description=DISCOVERED,
                    active=not native or name == default,
                    provider_id=NATIVE_PROVIDER_ID,
                    created_at=seen,
                    updated_at=seen,
                )
            )
        return attrs.evolve(content, native=tuple(native))

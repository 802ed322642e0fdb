"""Where stores lie and which is the default one (spec/mnemon-native.md §1). All functions block."""

from __future__ import annotations

import logging
import os
import shutil
from pathlib import Path
from typing import Final

from dsh_mnemon_core.files import atomic_write
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderConflict, ProviderError
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import SPACE_ID

from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native.errors import (
    InvalidInput,
    StoreExists,
    StoreMissing,
    StoreReadOnly,
    file_error,
)

__all__ = ("DATABASE", "DEFAULT_STORE", "Folders")

DATABASE: Final = "mnemon.db"
DEFAULT_STORE: Final = "default"
_logger = logging.getLogger(__name__)


class Folders:
    """The stores under one base folder: ``<base>/data/<store>/mnemon.db``, ``<base>/active``."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def database(self, store: str) -> Path:
        """Return where a store's file lies, whether or not it exists.

        Raises:
            InvalidInput: It is no store name.
        """
        if SPACE_ID.fullmatch(store) is None:
            raise InvalidInput("store", f"{store!r} is no store name")
        return self.base / "data" / store / DATABASE

    def exists(self, store: str) -> bool:
        """Whether the store's folder is there, with or without its file."""
        return self.database(store).parent.is_dir()

    def stores(self) -> list[str]:
        """Return the names of all stores, in byte order."""
        try:
            found = list((self.base / "data").iterdir())
        except OSError:
            return []
        return sorted(f.name for f in found if SPACE_ID.fullmatch(f.name) and f.is_dir())

    def default(self) -> str:
        """Return the store the command line tool works on when none is named."""
        active = self.base / "active"
        try:
            # To read a pipe may never end.
            name = active.read_text(encoding="utf-8").strip() if active.is_file() else ""
        except (OSError, UnicodeDecodeError):
            return DEFAULT_STORE
        return name if SPACE_ID.fullmatch(name) else DEFAULT_STORE

    def set_default(self, store: str) -> None:
        """Make an existing store the default one."""
        self.require(store)
        atomic_write(self.base / "active", f"{store}\n".encode(), mode=0o644)

    def require(self, store: str) -> Path:
        """Return a store's file; its folder exists.

        Raises:
            StoreMissing: There is no such store.
        """
        path = self.database(store)
        if not path.parent.is_dir():
            raise StoreMissing(f"there is no store {store!r}", details={"store": store})
        return path

    def create(self, store: str) -> Path:
        """Make a store that does not exist yet, whole or not at all, and return its file.

        The command line tool expects ``data`` to be readable; the stores in it are private.

        Raises:
            StoreExists: The name is taken.
            ProviderError: The folder or the file cannot be made.
        """
        path = self.database(store)
        try:
            path.parent.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.parent.mkdir(mode=0o700)
        except FileExistsError as error:
            raise StoreExists(
                f"the store {store!r} exists already", details={"store": store}
            ) from error
        except OSError as error:
            raise _refused(path.parent, "created", error) from error
        try:
            create_file(path)
        except BaseException:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
        return path

    def check_removable(self, store: str) -> Path:
        """Return the file of a store that may be removed.

        Raises:
            StoreMissing: There is no such store.
            ProviderConflict: It is the default store.
        """
        path = self.require(store)
        if store == self.default():
            raise ProviderConflict(
                f"{store!r} is the default store; make another one the default first",
                details={"store": store},
            )
        return path

    def remove(self, store: str) -> None:
        """Delete a store's folder with all it holds.

        Raises:
            ProviderError: As `check_removable`, or it cannot be deleted.
        """
        folder = self.check_removable(store).parent
        try:
            shutil.rmtree(folder)
        except OSError as error:
            raise _refused(folder, "removed", error) from error

    def adopt_old_file(self) -> None:
        """Move ``<base>/mnemon.db`` of the first versions to the default store."""
        old, new = self.base / DATABASE, self.database(DEFAULT_STORE)
        if not old.is_file() or new.exists():
            return
        try:
            new.parent.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            new.parent.mkdir(mode=0o700, exist_ok=True)
            for suffix in ("", "-wal", "-shm"):
                part = old.with_name(old.name + suffix)
                if part.exists():
                    os.rename(part, new.with_name(new.name + suffix))
        except OSError as error:
            raise _refused(old, "moved to the default store", error) from error
        _logger.info("%s is now the default store, %s", old, new)


def _refused(folder: Path, what: str, error: OSError) -> ProviderError:
    return file_error(StoreReadOnly, folder, f"cannot be {what}: {error.strerror}")

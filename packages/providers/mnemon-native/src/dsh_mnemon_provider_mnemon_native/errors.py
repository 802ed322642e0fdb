"""Why a store cannot be used; each names the file, and nothing was written.

::

    ProviderError
      ProviderBusy        StoreLocked
      ProviderForbidden   StoreReadOnly
      ProviderNotFound    StoreMissing
      ProviderRejected    StoreForeign, StoreTooNew, StoreDamaged, StoreNoFile, StoreUnwritable,
                          InvalidInput, TextNotUnicode, SelfLink
      ProviderConflict    StoreExists
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderBusy,
    ProviderConflict,
    ProviderError,
    ProviderForbidden,
    ProviderNotFound,
    ProviderRejected,
)

__all__ = (
    "InvalidInput",
    "SelfLink",
    "StoreDamaged",
    "StoreExists",
    "StoreForeign",
    "StoreLocked",
    "StoreMissing",
    "StoreNoFile",
    "StoreReadOnly",
    "StoreTooNew",
    "StoreUnwritable",
    "TextNotUnicode",
    "file_error",
    "store_error",
    "translating",
)


class StoreLocked(ProviderBusy):
    """Another process held the write lock for longer than the busy timeout."""

    code_of = "store-locked"


class StoreReadOnly(ProviderForbidden):
    """The file or its folder may be read but not written."""

    code_of = "store-read-only"


class StoreMissing(ProviderNotFound):
    """There is no such store, or its file is gone."""

    code_of = "store-missing"


class StoreExists(ProviderConflict):
    """A store of this name is there already."""

    code_of = "store-exists"


class StoreForeign(ProviderRejected):
    """The file is a database of something else."""

    code_of = "store-foreign"


class StoreTooNew(ProviderRejected):
    """A later version of the tool has changed the schema."""

    code_of = "store-too-new"


class StoreDamaged(ProviderRejected):
    """The file is no database, is empty or cut off, or holds broken pages."""

    code_of = "store-damaged"


class StoreNoFile(ProviderRejected):
    """What has the file's name is a folder, a pipe, a socket or a device."""

    code_of = "store-not-a-file"


class StoreUnwritable(ProviderRejected):
    """The disk is full or failed."""

    code_of = "store-unwritable"


class InvalidInput(ProviderRejected):
    """A value breaks a limit of the store; ``details.field`` names it."""

    code_of = "invalid-input"

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message, details={"field": field})


class SelfLink(InvalidInput):
    """An insight was to be linked to itself, which says nothing."""

    code_of = "link-self"


class TextNotUnicode(InvalidInput):
    """A text holds half a character (D52)."""

    code_of = "text-not-unicode"


_BY_NAME: Final[dict[str, tuple[type[ProviderError], str]]] = {
    "SQLITE_BUSY": (StoreLocked, "is locked by another process; try again"),
    "SQLITE_LOCKED": (StoreLocked, "is locked by another process; try again"),
    "SQLITE_READONLY": (StoreReadOnly, "may not be written"),
    "SQLITE_PERM": (StoreReadOnly, "may not be written"),
    "SQLITE_CANTOPEN": (StoreReadOnly, "cannot be opened"),
    "SQLITE_AUTH": (StoreReadOnly, "may not be written"),
    "SQLITE_CORRUPT": (StoreDamaged, "is damaged; restore it from a backup"),
    "SQLITE_NOTADB": (StoreDamaged, "is no SQLite database"),
}


def file_error(
    kind: type[ProviderError], path: Path, what: str, **details: str | int
) -> ProviderError:
    """Return an error that says ``what`` is the matter with a file or folder.

    The message reaches models, who need to know which file it is, but not where on this machine:
    it names the last two parts of the path. ``details.file`` is the whole path.
    """
    message = f"{'/'.join(path.parts[-2:])} {what}"
    return kind(message, details={"file": str(path), **details})


def store_error(error: sqlite3.Error, path: Path) -> ProviderError:
    """Tell which error of ours an error of SQLite's is."""
    name = getattr(error, "sqlite_errorname", None) or ""
    primary = "_".join(name.split("_")[:2])
    kind, what = _BY_NAME.get(primary, (StoreUnwritable, "cannot be used"))
    reason = name or type(error).__name__
    return file_error(kind, path, f"{what} ({reason})", reason=reason)


@contextmanager
def translating(path: Path) -> Generator[None]:
    """Raise what SQLite reports about ``path`` as one of the errors above."""
    try:
        yield
    except sqlite3.Error as error:
        raise store_error(error, path) from error

"""What SQLite and the file system complain of, as errors that name the file (D18)."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderBusy,
    ProviderError,
    ProviderForbidden,
    ProviderProtocol,
    ProviderRejected,
    ProviderServerError,
    ProviderUnavailable,
)

__all__ = ("fault", "foreign", "is_locked", "translated")

_KINDS: Final[dict[int, tuple[type[ProviderError], str, str]]] = {
    sqlite3.SQLITE_BUSY: (ProviderBusy, "locked", "another process holds it"),
    sqlite3.SQLITE_LOCKED: (ProviderBusy, "locked", "another process holds it"),
    sqlite3.SQLITE_READONLY: (ProviderForbidden, "read-only", "it cannot be written"),
    sqlite3.SQLITE_PERM: (ProviderForbidden, "no-permission", "access is denied"),
    sqlite3.SQLITE_AUTH: (ProviderForbidden, "no-permission", "access is denied"),
    sqlite3.SQLITE_CANTOPEN: (ProviderForbidden, "cannot-open", "it cannot be opened"),
    sqlite3.SQLITE_CORRUPT: (ProviderProtocol, "damaged", "it is damaged or cut short"),
    sqlite3.SQLITE_NOTADB: (ProviderProtocol, "no-database", "it is no SQLite database"),
    sqlite3.SQLITE_FULL: (ProviderUnavailable, "full", "there is no room left"),
    sqlite3.SQLITE_IOERR: (ProviderUnavailable, "input-output", "reading or writing failed"),
    sqlite3.SQLITE_CONSTRAINT: (ProviderRejected, "constraint", "a rule of the file forbids it"),
}
_UNEXPECTED: Final = (ProviderServerError, "unexpected", "SQLite reports an error")


def is_locked(error: sqlite3.Error) -> bool:
    """Whether the file is only held by somebody else, so that waiting may help."""
    return _primary(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def fault(error: sqlite3.Error, path: Path) -> ProviderError:
    """Translate an error of SQLite; details are ``{file, reason}``."""
    kind, reason, words = _KINDS.get(_primary(error), _UNEXPECTED)
    return kind(f"the fact store {path}: {words}", details={"file": str(path), "reason": reason})


def foreign(path: Path) -> ProviderProtocol:
    """Return the error for a database that is somebody else's."""
    return ProviderProtocol(
        f"{path} is a database, but no store of facts; it was left as it is",
        details={"file": str(path), "reason": "foreign"},
    )


@contextmanager
def translated(path: Path) -> Generator[None]:
    """Raise errors of SQLite and the file system as errors of a Provider."""
    try:
        yield
    except sqlite3.Error as error:
        raise fault(error, path) from error
    except OSError as error:
        raise ProviderUnavailable(
            f"the fact store {path}: {error.strerror or type(error).__name__}",
            details={"file": str(path), "reason": "input-output"},
        ) from error


def _primary(error: sqlite3.Error) -> int:
    # An error of the sqlite3 module itself has no code of SQLite.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF

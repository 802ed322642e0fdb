"""What a dead writer, or the original, left half done, put right (§3.7; blocking)."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

import attrs
from dsh_mnemon_core.files import atomic_write, ensure_directory

from dsh_mnemon_source_documents._folder import BodyFolder, Found
from dsh_mnemon_source_documents._format import carried, render
from dsh_mnemon_source_documents._history import History
from dsh_mnemon_source_documents._index import State, place
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import STATUSES, DocumentRecord

# Ours are written under the lock alone, so whoever has the lock may remove them. The original's
# carry a UUID and may belong to a writer at work.
_OWN: Final = re.compile(r"\..+\.\d+\.\d+\.[0-9a-f]+\.tmp")
_FOREIGN: Final = re.compile(r".+\.\d+\.[0-9a-f-]{36}\.tmp")
_FOREIGN_AGE: Final = 3600.0


def is_needed(state: State, bodies: BodyFolder) -> bool:
    """Tell whether anything lies in the wrong place, as far as names show."""
    return (
        next(_twice(state, bodies), None) is not None
        or next(_misplaced(state, bodies), None) is not None
        or any(name.endswith(".tmp") for status in STATUSES for name in bodies.names(status))
        or next(bodies.path.glob(".*.tmp"), None) is not None
    )


def repair(state: State, bodies: BodyFolder, history: History) -> None:
    """Put every body where its record says it is, and remove leftovers; hold the lock.

    A file is removed only where another one, that can be read, has its words.

    Raises:
        StorageError: ``store-unwritable``.
    """
    for record in list(_twice(state, bodies)):
        _settle_twice(record, bodies)
    for record in list(_misplaced(state, bodies)):
        _put_back(record, bodies)
    folders = [bodies.path, *(bodies.path / status for status in STATUSES)]
    folders += [path for path in history.path.glob("*") if os.path.isdir(path)]
    for folder in folders:
        _remove_leftovers(folder)


def _twice(state: State, bodies: BodyFolder) -> Iterator[DocumentRecord]:
    """Yield archived documents that have an active file as well."""
    active = bodies.names("active")
    for record in state.records:
        if not record.is_active and record.filename in active and _is_at_home(record):
            yield record


def _misplaced(state: State, bodies: BodyFolder) -> Iterator[DocumentRecord]:
    """Yield active documents without their file, where an archived file has its name."""
    active, archived = bodies.names("active"), bodies.names("archived")
    for record in state.records:
        elsewhere = record.filename in archived and record.filename not in active
        if record.is_active and elsewhere and _is_at_home(record):
            yield record


def _is_at_home(record: DocumentRecord) -> bool:
    """Tell whether a record means the file that its status and name stand for."""
    return record.relative_path == place(record.status, record.filename)


def _at(record: DocumentRecord, bodies: BodyFolder, status: str) -> tuple[Path, Found]:
    path = bodies.path / status / record.filename
    return path, bodies.look_at(path, place(status, record.filename))


def _settle_twice(record: DocumentRecord, bodies: BodyFolder) -> None:
    active, at_active = _at(record, bodies, "active")
    archived, at_archived = _at(record, bodies, "archived")
    if at_active.text is None:
        return
    if at_archived.text is None and sha256(at_active.text) == record.content_hash:
        ensure_directory(archived.parent)
        atomic_write(archived, render(record, at_active.text, carried(at_active.front)))
    elif at_archived.text != at_active.text:
        # Somebody wrote into the active file in between; `diagnose` names it.
        return
    with suppress(OSError):
        active.unlink()


def _put_back(record: DocumentRecord, bodies: BodyFolder) -> None:
    archived, found = _at(record, bodies, "archived")
    if found.text is None or sha256(found.text) != record.content_hash:
        return
    active = bodies.path / "active" / record.filename
    kept = attrs.evolve(record, relative_path=place("active", record.filename))
    ensure_directory(active.parent)
    atomic_write(active, render(kept, found.text, carried(found.front)))
    with suppress(OSError):
        archived.unlink()


def _remove_leftovers(folder: Path) -> None:
    oldest = time.time() - _FOREIGN_AGE
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.endswith(".tmp"):
                continue
            with suppress(OSError):
                old = entry.stat(follow_symlinks=False).st_mtime < oldest
                if _OWN.fullmatch(entry.name) or (old and _FOREIGN.fullmatch(entry.name)):
                    os.unlink(entry.path)

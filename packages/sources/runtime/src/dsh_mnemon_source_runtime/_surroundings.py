"""What lies around memories.json and keeps it from being written (D25; blocking, never fails)."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_runtime import _archive, _files
from dsh_mnemon_source_runtime._rendered import EDITED, RECORD
from dsh_mnemon_source_runtime.contracts import FILE_NAMES

_OUR_MARK: Final = b"dsh-mnemon "
_ROOM: Final = 1024 * 1024
"""Bytes that a disk should have left: some hundred writes of a full store."""

_NO_FOLDER: Final = "not-a-directory"
_LAST_SECOND: Final = 253_402_300_799
"""The last one of the year 9999; a file may be younger."""


def survey(folder: Path, lock: Path, *, readable: bool, now: float, stale: float) -> dict[str, Any]:
    """Return ``{blocked?, lock?, freeBytes?, archiveUnreadableLines?}``; empty when all is well.

    Args:
        folder: The ``runtime`` folder.
        lock: Its lock file.
        readable: Whether memories.json could be read, or just is not there.
        now: Seconds since the epoch.
        stale: Age in seconds after which the next write removes a foreign lock file.

    Returns:
        ``blocked`` lists ``{file, reason}`` of what makes writes fail, a folder instead of all
        that lies in it; ``lock`` is ``{file, state, modifiedAt}`` of a foreign lock file, the state
        ``held``, ``future`` (its time lies ahead, so it never becomes stale) or
        ``not-a-regular-file``; ``freeBytes`` is what the disk has left, when that is next to
        nothing; ``archiveUnreadableLines`` counts the lines of the archive that are no records.
    """
    found: dict[str, Any]
    if fault := _folder_fault(folder):
        # That memories.json cannot be read says the same already.
        found = {"blocked": [{"file": str(folder), "reason": fault}] if readable else []}
    else:
        found = {
            "blocked": list(_blocked(folder, lock)),
            "lock": _lock(lock, now, stale),
            "archiveUnreadableLines": _unreadable_lines(folder / _archive.FOLDER),
        }
    told = {key: value for key, value in found.items() if value}
    free = _free_bytes(folder)
    return told if free is None or free >= _ROOM else {**told, "freeBytes": free}


def texts(folder: Path) -> list[str]:
    """Return the Markdown files that hold any text."""
    found: list[str] = []
    for name in FILE_NAMES.values():
        try:
            file = _files.read_file(folder / name)
        except StorageError:
            continue
        if file is not None and file.data.strip():
            found.append(str(folder / name))
    return found


def _blocked(folder: Path, lock: Path) -> Iterator[dict[str, str]]:
    archive, edited = folder / _archive.FOLDER, folder / EDITED
    guard = lock.with_name(f"{lock.name}.guard")
    faults = {part: _folder_fault(part) for part in (archive, edited)}
    files = [folder / name for name in (*FILE_NAMES.values(), RECORD)]
    if faults[edited] is None:
        files += sorted(edited.glob("*.md"))
    if faults[archive] is None:
        files += [archive / f"{name}.jsonl" for name in (_archive.ENTRIES, _archive.LINEAGE)]
    faults |= {path: _files.fault(path) for path in files}
    faults[guard] = _guard_fault(guard)
    for path, reason in faults.items():
        if reason:
            yield {"file": str(path), "reason": reason}


def _folder_fault(path: Path) -> str | None:
    """Say why nothing in a folder can be reached; a missing one is no fault."""
    try:
        os.stat(os.path.join(path, os.curdir))
    except FileNotFoundError:
        return _NO_FOLDER if os.path.islink(path) else None
    except NotADirectoryError:
        return _NO_FOLDER
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, type(error).__name__)
    return None


def _guard_fault(path: Path) -> str | None:
    """Say why our own processes cannot be ordered; the guard is never written through a link."""
    try:
        status = path.lstat()
    except OSError:
        return None
    if not stat.S_ISREG(status.st_mode):
        return _files.NOT_REGULAR
    # In a folder where nothing can be written anyway, the guard is not what is amiss.
    usable = os.access(path, os.R_OK | os.W_OK) or not os.access(path.parent, os.W_OK)
    return None if usable else "EACCES"


def _free_bytes(folder: Path) -> int | None:
    """Return how much the disk has left for us, ``None`` when it does not tell."""
    with suppress(OSError):
        nearest = next((part for part in (folder, *folder.parents) if part.is_dir()), folder)
        return shutil.disk_usage(nearest).free
    return None


def _lock(path: Path, now: float, stale: float) -> dict[str, str] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    state = _lock_state(path, status, now, stale)
    if state is None:
        return None
    modified = datetime.fromtimestamp(min(status.st_mtime, _LAST_SECOND), UTC)
    return {"file": str(path), "state": state, "modifiedAt": iso_utc(modified)}


def _lock_state(path: Path, status: os.stat_result, now: float, stale: float) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return _files.NOT_REGULAR
    # A lock file of ours goes with its owner's guard; one that is not for us to read is foreign.
    if now - status.st_mtime > stale or _is_ours(path):
        return None
    return "held" if status.st_mtime <= now else "future"


def _is_ours(path: Path) -> bool:
    with suppress(OSError, _files.Unfit), _files.open_regular(path) as file:
        return file.read(len(_OUR_MARK)) == _OUR_MARK
    return False


def _unreadable_lines(folder: Path) -> int:
    with suppress(OSError, StorageError):
        return _archive.unreadable_lines(folder)
    return 0

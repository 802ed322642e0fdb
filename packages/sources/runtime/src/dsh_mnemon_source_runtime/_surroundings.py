"""What lies around memories.json and keeps it from being written (D25; blocking, never fails)."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_runtime import _archive, _files
from dsh_mnemon_source_runtime._rendered import EDITED, RECORD
from dsh_mnemon_source_runtime.contracts import FILE_NAMES

_OUR_MARK: Final = b"dsh-mnemon "


def survey(folder: Path, lock: Path, *, now: float, stale: float) -> dict[str, Any]:
    """Return ``{blocked?, lock?, archiveUnreadableLines?}``; empty when all is well.

    Args:
        folder: The ``runtime`` folder.
        lock: Its lock file.
        now: Seconds since the epoch.
        stale: Age in seconds after which the next write removes a foreign lock file.

    Returns:
        ``blocked`` lists ``{file, reason}`` of what makes writes fail; ``lock`` is ``{file,
        state, modifiedAt}`` of a foreign lock file, the state ``held``, ``future`` (its time
        lies ahead, so it never becomes stale) or ``not-a-regular-file``;
        ``archiveUnreadableLines`` counts the lines of the archive that are no records.
    """
    found: dict[str, Any] = {
        "blocked": list(_blocked(folder, lock)),
        "lock": _lock(lock, now, stale),
        "archiveUnreadableLines": _unreadable_lines(folder / _archive.FOLDER),
    }
    return {key: value for key, value in found.items() if value}


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
    for part in (archive, edited):
        if os.path.lexists(part) and not part.is_dir():
            yield {"file": str(part), "reason": "not-a-directory"}
    files = [folder / name for name in (*FILE_NAMES.values(), RECORD)]
    files += [lock.with_name(f"{lock.name}.guard"), *sorted(edited.glob("*.md"))]
    files += [archive / f"{name}.jsonl" for name in (_archive.ENTRIES, _archive.LINEAGE)]
    for path in files:
        if reason := _files.fault(path):
            yield {"file": str(path), "reason": reason}


def _lock(path: Path, now: float, stale: float) -> dict[str, str] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    state = _lock_state(path, status, now, stale)
    if state is None:
        return None
    modified = datetime.fromtimestamp(status.st_mtime, UTC)
    return {"file": str(path), "state": state, "modifiedAt": iso_utc(modified)}


def _lock_state(path: Path, status: os.stat_result, now: float, stale: float) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return _files.NOT_REGULAR
    try:
        file = _files.read_file(path)
    except StorageError:
        return None
    # A lock file of ours goes with its owner's guard.
    if file is None or file.data.startswith(_OUR_MARK) or now - status.st_mtime > stale:
        return None
    return "held" if status.st_mtime <= now else "future"


def _unreadable_lines(folder: Path) -> int:
    try:
        return _archive.unreadable_lines(folder)
    except StorageError:
        return 0

"""Append-only JSON lines under runtime/archived/ (spec/sources.md §2.9; blocking).

Whoever appends holds the store's lock. A torn last line, left by a crash, is ignored by readers
and closed with LF by the next append, after which it counts as an unreadable line.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from dsh_mnemon_core.files import ensure_directory, storage_error, sync_directory

from dsh_mnemon_source_runtime._files import read_file
from dsh_mnemon_source_runtime._format import compact_json

FOLDER: Final = "archived"
ENTRIES: Final = "MEMORY"
LINEAGE: Final = "lineage"
ROTATE_BYTES: Final = 8 * 1024 * 1024

# What a record has in any case: its identity, and what people are shown.
_TEXTS: Final = ("archived_at", "content", "created_at", "digest")


def file_stamp(moment: datetime) -> str:
    """Return a moment (UTC) as it stands in file names: ``20260301T120000Z``."""
    return f"{moment:%Y%m%dT%H%M%SZ}"


def append(folder: Path, name: str, records: Sequence[Mapping[str, Any]], *, now: datetime) -> None:
    """Append objects to ``<name>.jsonl``, one a line, and sync them to the disk.

    Args:
        folder: The ``archived`` folder; created when missing.
        name: `ENTRIES` or `LINEAGE`.
        records: Objects in key order; none writes nothing.
        now: Time (UTC) that names a rotated file.

    Raises:
        StorageError: ``store-unwritable``.
    """
    if not records:
        return
    ensure_directory(folder)
    path = folder / f"{name}.jsonl"
    data = "".join(f"{compact_json(record)}\n" for record in records).encode("utf-8")
    try:
        _rotate(path, now)
        _append(path, data)
        sync_directory(folder)
    except OSError as error:
        raise storage_error(error, path) from error


def _rotate(path: Path, now: datetime) -> None:
    if path.exists() and path.stat().st_size > ROTATE_BYTES:
        path.rename(unused(path.with_name(f"{path.stem}-{file_stamp(now)}{path.suffix}")))


def unused(path: Path) -> Path:
    """Return ``path``, or the first ``<stem>-<n>`` beside it that does not exist yet."""
    number = 2
    candidate = path
    while candidate.exists():
        candidate = path.with_name(f"{path.stem}-{number}{path.suffix}")
        number += 1
    return candidate


def _append(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    with open(descriptor, "r+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                data = b"\n" + data
        file.write(data)
        file.flush()
        os.fsync(descriptor)


def read(folder: Path, *, limit: int, offset: int) -> dict[str, Any]:
    """Read archived entries, newest first; equal ``digest`` and ``created_at`` count once.

    Lines that are no records are skipped; `unreadable_lines` counts them.

    Returns:
        ``{entries, offset, limit, total}``: the lines as objects, ``total`` before paging.

    Raises:
        StorageError: ``store-unreadable``.
    """
    unique: dict[tuple[str, str], dict[str, Any]] = {}
    for record in filter(None, _newest_first(folder)):
        unique.setdefault((record["digest"], record["created_at"]), record)
    entries = list(unique.values())
    return {
        "entries": entries[offset : offset + limit],
        "offset": offset,
        "limit": limit,
        "total": len(entries),
    }


def unreadable_lines(folder: Path) -> int:
    """Count the complete lines that are no records.

    Raises:
        StorageError: ``store-unreadable``.
    """
    return sum(record is None for record in _newest_first(folder))


def _newest_first(folder: Path) -> Iterator[dict[str, Any] | None]:
    """Yield the record of every complete line, ``None`` for what is none."""
    # The stamps sort by time; the file in use is the newest.
    rotated = sorted(folder.glob(f"{ENTRIES}-*.jsonl"), key=lambda path: path.stem, reverse=True)
    for path in (folder / f"{ENTRIES}.jsonl", *rotated):
        found = read_file(path)
        *complete, _torn = (b"" if found is None else found.data).split(b"\n")
        for line in reversed(complete):
            yield _record(line)


def _record(line: bytes) -> dict[str, Any] | None:
    try:
        value = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    record = cast("dict[str, Any]", value)
    return record if all(isinstance(record.get(key), str) for key in _TEXTS) else None

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

from dsh_mnemon_source_runtime._format import compact_json

ENTRIES: Final = "MEMORY"
LINEAGE: Final = "lineage"
ROTATE_BYTES: Final = 8 * 1024 * 1024


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

    Returns:
        ``{entries, offset, limit, total}``: the lines as objects, ``total`` before paging.

    Raises:
        StorageError: ``store-unreadable``.
    """
    try:
        unique: dict[tuple[str, str], dict[str, Any]] = {}
        for line in _newest_first(folder):
            unique.setdefault((str(line.get("digest")), str(line.get("created_at"))), line)
    except OSError as error:
        raise storage_error(error, folder, code="store-unreadable") from error
    entries = list(unique.values())
    return {
        "entries": entries[offset : offset + limit],
        "offset": offset,
        "limit": limit,
        "total": len(entries),
    }


def _newest_first(folder: Path) -> Iterator[dict[str, Any]]:
    # The stamps sort by time; the file in use is the newest.
    rotated = sorted(folder.glob(f"{ENTRIES}-*.jsonl"), key=lambda path: path.stem, reverse=True)
    current = folder / f"{ENTRIES}.jsonl"
    for path in ([current] if current.exists() else []) + rotated:
        *complete, _torn = path.read_bytes().split(b"\n")
        for line in reversed(complete):
            try:
                record = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                continue
            if isinstance(record, dict):
                yield cast("dict[str, Any]", record)

"""The four areas under one storage root, read without touching anything (host.md §3.6)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sized
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

import attrs
from dsh_mnemon_core.values import FrozenDict

__all__ = ("Area", "AreaKind", "AreaStatus", "read_areas")

AreaKind: TypeAlias = Literal["runtime", "memory-bodies", "documents", "state"]
"""The four areas under a root."""

AreaStatus: TypeAlias = Literal["ready", "empty", "missing", "invalid"]
"""``invalid``: something is there and cannot be used as it is."""


@attrs.frozen(kw_only=True)
class Area:
    """One area of one root.

    Attributes:
        kind: Which of the four.
        path: Absolute directory.
        status: What was found.
        bytes: Size of all regular files below, in bytes; what cannot be read counts 0.
        item_count: Entries, Spaces, documents or files.
        details: Figures of this kind of area (§3.6).
        issue: Why it is ``invalid``.
    """

    kind: AreaKind
    path: str
    status: AreaStatus
    bytes: int
    item_count: int = 0
    details: Mapping[str, Any] = FrozenDict()
    issue: str | None = None


class _Invalid(Exception):
    """Raised inside an inspection when a file is there and means nothing."""


@attrs.frozen
class _Finding:
    items: int
    details: Mapping[str, Any]
    issue: str | None = None


_Inspect: TypeAlias = Callable[[Path], "_Finding | None"]
"""Looks at an area; ``None`` when it is missing."""

_Record: TypeAlias = Mapping[str, Any]


def _record(path: Path) -> _Record | None:
    """Read a JSON object; ``None`` when there is no file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _Invalid(f"{path.name} cannot be read as JSON") from error
    if not isinstance(value, Mapping):
        raise _Invalid(f"{path.name} does not hold a JSON object")
    return cast("_Record", value)


def _rows(record: _Record, key: str, name: str) -> list[_Record]:
    rows: object = record.get(key)
    if record.get("version") != 1 or not isinstance(rows, list):
        raise _Invalid(f"{name} is not version 1 with a list of {key}")
    return [cast("_Record", row) for row in cast("list[object]", rows) if isinstance(row, Mapping)]


def _runtime(area: Path) -> _Finding | None:
    record = _record(area / "memories.json")
    if record is None:
        return None
    entries = _rows(record, "entries", "memories.json")
    lost = [name for name in ("USER.md", "MEMORY.md") if not (area / name).is_file()]
    user = sum(entry.get("target") == "user" for entry in entries)
    details = {
        "userEntries": user,
        "memoryEntries": len(entries) - user,
        "projectionsHealthy": not lost,
        "source": "memories.json",
    }
    issue = f"{' and '.join(lost)} missing; the next change writes it again" if lost else None
    return _Finding(len(entries), details, issue)


def _memory_bodies(area: Path) -> _Finding | None:
    if not area.is_dir():
        return None
    name = ".dsh-memory-bodies.json"
    record = _record(area / name)
    bodies = [] if record is None else _rows(record, "bodies", name)
    databases = sum(1 for _ in area.glob("*/mnemon.db"))
    details = {
        "registeredBodies": len(bodies),
        "activeBodies": sum(body.get("active") is True for body in bodies),
        "databases": databases,
        "registry": name,
    }
    return _Finding(max(len(bodies), databases), details)


def _documents(area: Path) -> _Finding | None:
    record = _record(area / "index.json")
    if record is None:
        return None
    documents = _rows(record, "documents", "index.json")
    archived = sum(item.get("status") == "archived" for item in documents)
    details = {
        "activeDocuments": len(documents) - archived,
        "archivedDocuments": archived,
        "index": "index.json",
    }
    return _Finding(len(documents), details)


def _count(record: _Record, key: str) -> int:
    value: object = record.get(key)
    return len(cast("Sized", value)) if isinstance(value, (list, Mapping)) else 0


def _state(area: Path) -> _Finding | None:
    if not area.is_dir():
        return None
    providers = _record(area / "memory-providers.json") or {}
    files = sum(1 for item in area.rglob("*") if item.is_file())
    details = {
        "reviewLedger": (area / "review-ledger.json").is_file(),
        "providerServices": _count(providers, "services"),
        "providerConnections": _count(providers, "bodies"),
        "files": files,
    }
    return _Finding(files, details)


_AREAS: Final[tuple[tuple[AreaKind, str, _Inspect], ...]] = (
    ("runtime", "runtime", _runtime),
    ("memory-bodies", "data", _memory_bodies),
    ("documents", "documents", _documents),
    ("state", "state", _state),
)


def _size(path: Path) -> int:
    """Return the bytes of all regular files below; links are not followed, errors count 0."""
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    total += _size(Path(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    total += entry.stat(follow_symlinks=False).st_size
    except OSError:
        return total
    return total


def _area(kind: AreaKind, path: Path, inspect: _Inspect) -> Area:
    try:
        finding, issue = inspect(path), None
    except _Invalid as error:
        finding, issue = _Finding(0, {}), f"{error}; it was left as it is"
    except OSError as error:
        finding, issue = _Finding(0, {}), f"{path.name} cannot be read: {error.strerror}"
    if finding is None:
        return Area(kind=kind, path=str(path), status="missing", bytes=_size(path))
    issue = issue or finding.issue
    return Area(
        kind=kind,
        path=str(path),
        status="invalid" if issue else "ready" if finding.items else "empty",
        bytes=_size(path),
        item_count=finding.items,
        details=finding.details,
        issue=issue,
    )


def read_areas(root: Path) -> tuple[Area, ...]:
    """Look at all four areas of a root, which need not exist; blocks.

    Returns:
        Areas in the order runtime, memory-bodies, documents, state.
    """
    return tuple(_area(kind, root / folder, inspect) for kind, folder, inspect in _AREAS)

"""Errors of the Runtime Source.

::

    CapacityError
      RuntimeCapacityError    runtime-capacity
    ConflictError
      RuntimeConflictError    revision-conflict
    StorageError
      DamagedStore            store-damaged
"""

from __future__ import annotations

from typing import Any

from dsh_mnemon_core.errors import CapacityError, ConflictError, StorageError

from dsh_mnemon_source_runtime.contracts import Target

__all__ = ("DamagedStore", "RuntimeCapacityError", "RuntimeConflictError")


class RuntimeCapacityError(CapacityError):
    """Raised when a change would exceed a limit; nothing was written.

    Args:
        target: The file that is full.
        used: Bytes in use now.
        projected: Bytes after the change.
        limit: Bytes allowed.
    """

    def __init__(self, *, target: Target, used: int, projected: int, limit: int) -> None:
        super().__init__(
            "runtime-capacity",
            f"{target} memory has room for {limit} bytes and holds {used}; this change needs"
            f" {projected}. Shorten or remove entries first.",
            details={"target": target, "used": used, "projected": projected, "limit": limit},
        )
        self.target = target
        self.used = used
        self.projected = projected
        self.limit = limit


class RuntimeConflictError(ConflictError):
    """Raised when the store is no longer at the revision a compaction was planned for."""

    def __init__(self, expected: str, current: str) -> None:
        super().__init__(
            "revision-conflict",
            "runtime memory changed since the compaction was planned; nothing was applied",
            details={"expected": expected, "current": current},
        )


class DamagedStore(StorageError):
    """Raised when memories.json cannot be understood; the file is left exactly as it is.

    Args:
        file: Path of memories.json.
        reason: ``not-json`` (also for a key given twice), ``wrong-version``, ``newer-version``
            (written by a later release), ``invalid-entry``, ``not-a-regular-file``,
            ``dangling-link`` or ``too-large``.
        index: Zero-based position of the first bad entry.
        problem: What is wrong, in words, where the reason is not enough.
    """

    def __init__(self, file: str, reason: str, index: int | None = None, problem: str = "") -> None:
        known = {"firstBadIndex": index, "problem": problem or None}
        details: dict[str, Any] = {"file": file, "reason": reason}
        details |= {key: value for key, value in known.items() if value is not None}
        where = "" if index is None else f" at entry {index}"
        where += f": {problem}" if problem else ""
        super().__init__(
            "store-damaged",
            f"{file} is damaged ({reason}{where}); it is left untouched until someone repairs it",
            details=details,
        )
        self.reason = reason
        self.index = index

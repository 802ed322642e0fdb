"""What is wrong with a registry file (spec/sources.md §4.2, D25)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsh_mnemon_core.errors import StorageError

__all__ = ("Damage", "DamagedRegistry")


class Damage(ValueError):
    """Raised when stored bytes are no valid registry: a reason and maybe the first bad index."""

    def __init__(self, reason: str, index: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index


class DamagedRegistry(StorageError):
    """Raised when a registry file cannot be understood; it is left as it is and not written to.

    Args:
        file: The registry file.
        reason: ``not-json``, ``wrong-version``, ``newer-version`` (written by a later release),
            ``invalid-entry``, ``duplicate-id``, ``not-a-regular-file``, ``dangling-link`` or
            ``too-large``.
        index: Zero-based position of the first bad Space.
        copy: File that holds the same bytes, kept in case somebody overwrites the registry.
    """

    def __init__(
        self, file: Path, reason: str, index: int | None = None, copy: Path | None = None
    ) -> None:
        details: dict[str, Any] = {"file": str(file), "reason": reason}
        where = ""
        if index is not None:
            details["firstBadIndex"] = index
            where = f" at entry {index}"
        if copy is not None:
            details["copy"] = str(copy)
        super().__init__(
            "store-damaged",
            f"{file} is damaged ({reason}{where}); nothing is written to it until it is repaired"
            " or moved away",
            details=details,
        )

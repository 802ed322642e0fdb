"""What is wrong with a registry file (spec/sources.md §4.2, D25)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsh_mnemon_core.errors import StorageError

from dsh_mnemon_source_memory_spaces._registry.content import Content

__all__ = ("Damage", "DamagedRegistry")


class Damage(ValueError):
    """Raised when stored bytes are no valid registry.

    Args:
        reason: As of `DamagedRegistry`.
        index: Zero-based position of the first bad entry.
        space_id: Its id, when it has one.
        content: What can be read all the same.
    """

    def __init__(
        self,
        reason: str,
        index: int | None = None,
        *,
        space_id: str | None = None,
        content: Content | None = None,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index
        self.space_id = space_id
        self.content = content or Content()


class DamagedRegistry(StorageError):
    """Raised when a registry file cannot be understood; it is left as it is and not written to.

    The code is ``store-damaged``, or ``registry-too-new`` for a ``newer-version``.

    Args:
        file: The registry file.
        reason: ``not-json``, ``wrong-version``, ``newer-version`` (written by a later release),
            ``invalid-entry``, ``duplicate-id``, ``not-a-regular-file``, ``dangling-link`` or
            ``too-large``.
        index: Zero-based position of the first bad Space.
        copy: File that holds the same bytes, kept in case somebody overwrites the registry.
        space_id: Id of the first bad Space.
    """

    def __init__(
        self,
        file: Path,
        reason: str,
        index: int | None = None,
        copy: Path | None = None,
        space_id: str | None = None,
    ) -> None:
        known = {
            "firstBadIndex": index,
            "firstBadId": space_id,
            "copy": None if copy is None else str(copy),
        }
        details: dict[str, Any] = {"file": str(file), "reason": reason}
        details |= {key: value for key, value in known.items() if value is not None}
        self.too_new = reason == "newer-version"
        where = "" if index is None else f" at entry {index}"
        where += "" if space_id is None else f", Memory Space {space_id!r}"
        said = (
            f"{file} was written by a later release; nothing is written to it by this one"
            if self.too_new
            else f"{file} is damaged ({reason}{where}); nothing is written to it until it is"
            " repaired or moved away"
        )
        code = "registry-too-new" if self.too_new else "store-damaged"
        super().__init__(code, said, details=details)

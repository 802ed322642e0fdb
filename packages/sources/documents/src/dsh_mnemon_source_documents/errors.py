"""Errors of the Documents Source.

::

    CapacityError
      DocumentCapacityError   document-capacity
    ConflictError
      DocumentConflictError   revision-conflict, document-archived
    InputError
      DocumentNotFound        document-not-found
    StorageError
      DamagedIndex            index-damaged
      UnreadableDocument      document-unreadable
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dsh_mnemon_core.errors import CapacityError, ConflictError, InputError, StorageError

from dsh_mnemon_source_documents.contracts import FOLDER, DocumentRecord

__all__ = (
    "DamagedIndex",
    "DocumentCapacityError",
    "DocumentConflictError",
    "DocumentNotFound",
    "UnreadableDocument",
)

_SHOWN: Final = 20


class DocumentCapacityError(CapacityError):
    """Raised when a change would exceed the capacity of active documents; nothing was written.

    Args:
        projected: Bytes of all active documents after the change.
        limit: Bytes allowed.
        candidates: Active documents in the order in which they would be archived.
    """

    def __init__(self, *, projected: int, limit: int, candidates: Sequence[DocumentRecord]) -> None:
        super().__init__(
            "document-capacity",
            f"active documents have room for {limit} bytes; this change needs {projected}."
            " Archive the one that was not used for longest, or shorten something.",
            details={
                "projected": projected,
                "limit": limit,
                "candidates": [
                    {"id": record.id, "title": record.title, "sizeBytes": record.size_bytes}
                    for record in candidates[:_SHOWN]
                ],
            },
        )
        self.projected = projected
        self.limit = limit
        self.candidates = tuple(candidates)


class DocumentConflictError(ConflictError):
    """Raised when a document, or the index, is not in the state the caller saw; nothing changed."""

    def __init__(self, message: str, *, code: str = "revision-conflict", **details: Any) -> None:
        super().__init__(code, message, details=details)


class DocumentNotFound(InputError):
    """Raised when no document has this id."""

    def __init__(self, document_id: str) -> None:
        super().__init__(
            "document-not-found",
            f"there is no document with the id {document_id!r}",
            details={"documentId": document_id},
        )


class DamagedIndex(StorageError):
    """Raised when index.json cannot be understood; the file is left exactly as it is.

    Args:
        file: Path of index.json.
        reason: ``not-json``, ``wrong-version``, ``newer-version``, ``invalid-record``,
            ``not-a-regular-file`` or ``too-large``.
        index: Zero-based position of the first bad record.
    """

    def __init__(self, file: str, reason: str, index: int | None = None) -> None:
        details: dict[str, Any] = {"file": file, "reason": reason}
        where = ""
        if index is not None:
            details["firstBadIndex"] = index
            where = f" at record {index}"
        super().__init__(
            "index-damaged",
            f"{Path(file).name} is damaged ({reason}{where}); it is left untouched until someone"
            " repairs it",
            details=details,
        )
        self.reason = reason
        self.index = index


class UnreadableDocument(StorageError):
    """Raised when the body of one document cannot be read; the other documents are not concerned.

    Args:
        record: The document.
        reason: As `Unhealthy.reason`.
    """

    def __init__(self, record: DocumentRecord, reason: str) -> None:
        place = record.relative_path.removeprefix(f"{FOLDER}/")
        super().__init__(
            "document-unreadable",
            f"the body of {record.title!r} ({place}) cannot be read: {reason}",
            details={
                "documentId": record.id,
                "relativePath": record.relative_path,
                "reason": reason,
            },
        )
        self.reason = reason

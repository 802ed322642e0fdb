"""Errors of the Documents Source.

::

    CapacityError
      DocumentCapacityError   document-capacity
    ConflictError
      DocumentConflictError   revision-conflict, document-archived
    InputError                document-file-unknown
      DocumentNotFound        document-not-found
    StorageError              store-unreadable
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

_WHOLE: Final = (
    "mend it, or put a copy of it back, or move it away and adopt the documents from their files"
)
_REMEDIES: Final = {
    "newer-version": "use a version of this package that knows it",
    "invalid-record": "correct that field, or take the record out and adopt the document from its"
    " file",
    "not-a-regular-file": "move away what lies there, and put the file in its place",
}


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
            f" {_way_out(candidates)}",
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


def _way_out(candidates: Sequence[DocumentRecord]) -> str:
    if not candidates:
        return "There is no other document to archive: shorten this one."
    first = candidates[0]
    return (
        f"Archive {first.title!r} [{first.id}], which was not used for longest, or shorten"
        " something."
    )


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

    The details are ``{file, reason, firstBadIndex?, problem?, remedy, id?, title?, field?,
    value?}``: the last four name the first bad record and what is wrong with it.

    Args:
        file: Path of index.json.
        reason: ``not-json``, ``wrong-version``, ``newer-version``, ``invalid-record``,
            ``not-a-regular-file`` or ``too-large``.
        index: Zero-based position of the first bad record.
        problem: What is wrong where, in words.
        named: ``id``, ``title``, ``field`` and ``value`` of the details.
    """

    def __init__(
        self, file: str, reason: str, index: int | None = None, problem: str = "", **named: str
    ) -> None:
        remedy = _REMEDIES.get(reason, _WHOLE)
        known = {"firstBadIndex": index, "problem": problem or None}
        super().__init__(
            "index-damaged",
            f"{Path(file).name} is damaged ({reason})"
            + (f": {problem}. " if problem else ". ")
            + f"It is left untouched until someone repairs it: {remedy}.",
            details={
                "file": file,
                "reason": reason,
                **{key: value for key, value in known.items() if value is not None},
                "remedy": remedy,
                **named,
            },
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

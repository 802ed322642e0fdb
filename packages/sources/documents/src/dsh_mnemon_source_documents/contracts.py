"""Public records of the Documents Source: records, limits and mutations (spec/sources.md §3)."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias, cast, get_args

import attrs
from pydantic.alias_generators import to_camel

__all__ = (
    "DEFAULT_LIMIT_BYTES",
    "FOLDER",
    "GRANT_SCHEMA",
    "HISTORY_LENGTH",
    "MAX_BODY_BYTES",
    "MAX_MEMORY_BODIES",
    "MAX_SESSIONS",
    "MAX_SOURCE_PATHS",
    "PAGE_CHARACTERS",
    "STATUSES",
    "DocumentRecord",
    "MutationAction",
    "Status",
    "Unhealthy",
)

Status: TypeAlias = Literal["active", "archived"]
"""Where a document is: in use, or put away and immutable."""

MutationAction: TypeAlias = Literal["create", "update"]
"""What a mutation does."""

STATUSES: Final[tuple[Status, ...]] = get_args(Status)

FOLDER: Final = "documents"
"""Name of the managed folder below the root."""

GRANT_SCHEMA: Final = "dsh-mnemon.documents/v1"
"""Schema of the ReadGrant: ``{workspaceRoot, documentIds, archivedDocumentIds}``."""

DEFAULT_LIMIT_BYTES: Final = 10_485_760
"""Capacity of all active documents together, in rendered UTF-8 bytes."""

MAX_BODY_BYTES: Final = 2_097_152
"""Largest body, in UTF-8 bytes."""

MAX_SOURCE_PATHS: Final = 50
MAX_SESSIONS: Final = 20
MAX_MEMORY_BODIES: Final = 20

PAGE_CHARACTERS: Final = 12_000
"""Characters of one page of the route ``read`` (D56)."""

HISTORY_LENGTH: Final = 5
"""Former bodies that are kept of one document (D56)."""


@attrs.frozen(kw_only=True)
class DocumentRecord:
    """One document as index.json keeps it, keys in file order (spec/sources.md §3.5).

    Attributes:
        id: UUID, or any text when somebody else wrote it.
        title: Collapsed text, at most 160 characters.
        description: Collapsed text, at most 600 characters.
        status: ``active`` or ``archived``.
        filename: Name of the body file; it stays when the title changes.
        relative_path: ``documents/<status>/<filename>``.
        source_paths: Files of the workspace it tells about, relative, with ``/``.
        session_ids: Sessions that wrote it, oldest first.
        created_at: ISO-8601 UTC with milliseconds.
        updated_at: Likewise.
        last_accessed_at: Likewise; no part of the revision (D10).
        revision: Counts from 1.
        content_hash: SHA-256 of the body when it was written here.
        size_bytes: Bytes of the rendered file when it was written here.
        archived_at: When it was put away.
        archive_summary: What it was about, at most 1 000 characters.
        memory_body_ids: Memory Spaces that know where it went.
    """

    id: str
    title: str
    description: str
    status: Status
    filename: str
    relative_path: str
    source_paths: tuple[str, ...]
    session_ids: tuple[str, ...]
    created_at: str
    updated_at: str
    last_accessed_at: str
    revision: int
    content_hash: str
    size_bytes: int
    archived_at: str | None = None
    archive_summary: str | None = None
    memory_body_ids: tuple[str, ...] = ()

    @property
    def is_active(self) -> bool:
        """Whether it is in use."""
        return self.status == "active"

    def to_json(self) -> dict[str, Any]:
        """Return the stored object: keys in file order, absent ones omitted."""
        stored: dict[str, Any] = {}
        for name, key in _KEYS:
            value: object = getattr(self, name)
            if value is not None:
                stored[key] = (
                    list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
                )
        return stored


_KEYS: Final = tuple((field.name, to_camel(field.name)) for field in attrs.fields(DocumentRecord))


@attrs.frozen(kw_only=True)
class Unhealthy:
    """A document whose body cannot be read.

    Attributes:
        id: The document.
        title: Its title.
        reason: ``missing``, ``not-a-regular-file``, ``not-unicode``, ``too-large``,
            ``unsafe-path`` or an errno name.
    """

    id: str
    title: str
    reason: str

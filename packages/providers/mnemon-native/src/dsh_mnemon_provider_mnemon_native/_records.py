"""The rows of a store as the engine hands them round (spec/mnemon-native.md §2.1)."""

from __future__ import annotations

from typing import Final

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import EDGES

__all__ = ("EDGE_TYPES", "Edge", "Row")

EDGE_TYPES: Final[tuple[str, ...]] = (*EDGES, "supersedes")
"""The kinds of edge; the fifth is one-way and says that its target is outdated."""


@attrs.frozen(kw_only=True)
class Row:
    """One insight as it is stored; times are RFC 3339 text, the vector is not part of it.

    Attributes:
        rowid: Grows with insertion; breaks ties of ``created_at`` where the rules say so.
        importance: 1..5.
        created_at: When the remembered thing happened or was said.
        stored_at: When the row was written; absent in files of the old line.
        deleted_at: Set when the insight was forgotten.
    """

    rowid: int
    id: str
    content: str
    category: str
    importance: int
    tags: tuple[str, ...]
    entities: tuple[str, ...]
    source: str
    access_count: int
    created_at: str
    updated_at: str
    stored_at: str | None = None
    deleted_at: str | None = None
    last_accessed_at: str | None = None
    effective_importance: float = 0.5


@attrs.frozen(kw_only=True)
class Edge:
    """One directed edge between two insights; metadata is compact JSON text."""

    source_id: str
    target_id: str
    type: str
    weight: float
    metadata: str
    created_at: str

"""How much active documents may hold together, and which would leave first (§3.7; pure)."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from dsh_mnemon_source_documents._index import State
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_source_documents.errors import DocumentCapacityError

_LISTED: Final = 100


def candidates(state: State, kept: str | None) -> list[DocumentRecord]:
    """Return active documents, the one that was not used for longest first.

    Args:
        state: The index, with access times folded in.
        kept: Id of the document that is being updated.
    """
    active = [record for record in state.records if record.is_active and record.id != kept]
    return sorted(active, key=attrgetter("last_accessed_at", "updated_at"))


def projected(state: State, before: DocumentRecord | None, size: int) -> int:
    """Return the bytes of all active documents once one of them has ``size`` bytes."""
    return state.active_bytes - (before.size_bytes if before else 0) + size


def require_room(state: State, before: DocumentRecord | None, size: int, limit: int) -> None:
    """Refuse a document that does not fit.

    Raises:
        DocumentCapacityError: ``document-capacity``.
    """
    needed = projected(state, before, size)
    if needed > limit:
        leaving = candidates(state, before.id if before else None)
        raise DocumentCapacityError(projected=needed, limit=limit, candidates=leaving)


def plan(state: State, before: DocumentRecord | None, size: int, limit: int) -> dict[str, Any]:
    """Return ``{projected, limit, fits, candidates}``, sizes in bytes, at most 100 candidates."""
    needed = projected(state, before, size)
    leaving: Sequence[DocumentRecord] = candidates(state, before.id if before else None)
    return {
        "projected": needed,
        "limit": limit,
        "fits": needed <= limit,
        "candidates": [record.to_json() for record in leaving[:_LISTED]],
    }

"""Identities of MEMORY.md entries that leave for a colder place (spec/sources.md §5.3; pure)."""

from __future__ import annotations

from typing import Any

from dsh_mnemon_core.sdk import LineageEnd

from dsh_mnemon_source_runtime._format import compact_json, sha256
from dsh_mnemon_source_runtime.contracts import Entry

__all__ = ("entry_digest", "source_end")


def entry_digest(entry: Entry) -> str:
    """Return the digest of an entry: of compact ``{content, importance, branches?}``."""
    identity: dict[str, Any] = {"content": entry.content, "importance": entry.importance}
    if entry.branches:
        identity["branches"] = list(entry.branches)
    return sha256(compact_json(identity))


def source_end(revision: str, number: int, entry: Entry) -> LineageEnd:
    """Name a committed entry as the source of lineage.

    Args:
        revision: Store revision of the plan.
        number: Its one-based place among the plan's entries.
        entry: The entry.
    """
    return LineageEnd(
        layer_id="runtime",
        reference=f"runtime:{revision}:memory:{number}",
        digest=entry_digest(entry),
    )

"""The memories of a Space as a draft, for another store or another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from dsh_mnemon_core.errors import StorageError

from dsh_mnemon_host.source_session import SourceSession

__all__ = ("EXPORTED_EDGES", "read_space")

EXPORTED_EDGES: Final = frozenset({"causal", "semantic", "supersedes"})
"""Edges that somebody drew; those of time and of entities are drawn again by an import."""

_PAGE: Final = 1000
_KEYS: Final = ("content", "category", "importance", "tags", "entities", "source")


async def read_space(session: SourceSession, space_id: str) -> tuple[dict[str, Any], bool]:
    """Read a whole Space.

    Returns:
        The draft, oldest memory first, and whether the Provider gave all it has. Forgotten
        memories are in no page, and so in no export.
    """
    rows: list[Mapping[str, Any]] = []
    complete = True
    asked = {"memoryBodyIds": [space_id], "limit": _PAGE}
    async for page in session.pages("list", asked):
        _check_answered(page)
        rows += page["items"]
        complete = complete and not page.get("truncated", False)
    rows.sort(key=lambda row: (row.get("createdAt") or "", row["content"], row["id"]))
    places = {row["id"]: place for place, row in enumerate(rows)}
    edges: dict[tuple[Any, ...], dict[str, Any]] = {}
    async for page in session.pages("graph", {"memoryBodyIds": [space_id]}):
        _check_answered(page)
        # Two pages may both show an edge between them.
        edges |= _edges(page["edges"], places)
    return {
        "schema_version": "1",
        "insights": [_insight(row) for row in rows],
        "edges": list(edges.values()),
    }, complete


def _check_answered(page: Mapping[str, Any]) -> None:
    """Refuse what a Space that cannot be read leaves of itself: it is not the Space.

    Raises:
        StorageError: ``export-unreadable``.
    """
    for source in page.get("sources", ()):
        if source.get("status") == "unavailable":
            hint = source.get("hint", "it did not answer")
            raise StorageError(
                "export-unreadable",
                f"{source.get('memoryBodyName', 'the Memory Space')}: {hint}; nothing was exported",
            )


def _insight(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: row[key] for key in _KEYS if row.get(key) is not None}
    return {**shown, **({"created_at": row["createdAt"]} if row.get("createdAt") else {})}


def _edges(
    edges: Sequence[Mapping[str, Any]], places: Mapping[str, int]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what an import can draw of these edges, by their ends and kind."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for edge in edges:
        ends = [places.get(_bare(edge[key])) for key in ("sourceId", "targetId")]
        kind = edge.get("type")
        if kind not in EXPORTED_EDGES or None in ends or ends[0] == ends[1]:
            continue
        found[(*ends, kind)] = {
            "source_index": ends[0],
            "target_index": ends[1],
            "edge_type": kind,
            "weight": edge.get("weight", 0.5),
            **({"reason": edge["reason"]} if edge.get("reason") else {}),
        }
    return found


def _bare(graph_id: str) -> str:
    """Return the Provider's own id of a graph node ``<space>:<id>``."""
    return graph_id.partition(":")[2] or graph_id

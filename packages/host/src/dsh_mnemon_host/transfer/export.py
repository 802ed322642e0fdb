"""The memories of a Space as a draft, for another store or another machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import StorageError

from dsh_mnemon_host.source_session import SourceSession

__all__ = ("Exported", "read_space")

_ALWAYS: Final = frozenset({"causal", "semantic", "supersedes"})
_WHEN_DRAWN: Final = frozenset({"temporal", "entity"})
"""Edges that an import draws again, unless somebody drew them."""

_PAGE: Final = 1000
_KEYS: Final = ("content", "category", "importance", "tags", "entities", "source")
_ONE_PAGE: Final = "the Provider cannot give more than one page"


@attrs.frozen(kw_only=True)
class Exported:
    """What was read of a Space.

    Attributes:
        draft: The draft, oldest memory first.
        unreadable: How many memories and links are not in it, for they cannot be read.
        gaps: Why other things may be missing, each a sentence.
    """

    draft: dict[str, Any]
    unreadable: int = 0
    gaps: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether everything is in it that was not forgotten."""
        return not self.unreadable and not self.gaps


async def read_space(session: SourceSession, space_id: str) -> Exported:
    """Read a whole Space. Forgotten memories are in no page, and so in no export.

    Raises:
        StorageError: ``export-unreadable``: the Space does not answer.
    """
    rows: list[Mapping[str, Any]] = []
    gaps: dict[str, None] = {}
    memories = links = 0
    asked = {"memoryBodyIds": [space_id], "limit": _PAGE}
    async for page in session.pages("list", asked):
        _check_answered(page)
        rows += page["items"]
        gaps |= dict.fromkeys(_gaps(page))
        memories = max(memories, _unreadable(page))  # every page counts those of the whole Space
    rows.sort(key=lambda row: (row.get("createdAt") or "", row["content"], row["id"]))
    places = {row["id"]: place for place, row in enumerate(rows)}
    edges: dict[tuple[Any, ...], dict[str, Any]] = {}
    async for page in session.pages("graph", {"memoryBodyIds": [space_id]}):
        _check_answered(page)
        # Two pages may both show an edge between them.
        edges |= _edges(page["edges"], places)
        gaps |= dict.fromkeys(_gaps(page))
        links += _unreadable(page)
    draft = {
        "schema_version": "1",
        "insights": [_insight(row) for row in rows],
        "edges": [edges[key] for key in sorted(edges)],
    }
    return Exported(draft=draft, unreadable=memories + links, gaps=tuple(gaps))


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


def _unreadable(page: Mapping[str, Any]) -> int:
    return sum(source.get("unreadable", 0) for source in page.get("sources", ()))


def _gaps(page: Mapping[str, Any]) -> Sequence[str]:
    """Return why a page may lack something, other than what cannot be read."""
    if page.get("truncated", False):
        return [_ONE_PAGE]
    if page.get("complete", True):
        return []
    sources = [source for source in page.get("sources", ()) if not source.get("unreadable")]
    return [
        str(source.get("hint") or "the Provider cannot list what it holds")
        for source in sources
        if "hint" in source or source.get("status") not in ("ready", "empty")
    ]


def _insight(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: row[key] for key in _KEYS if row.get(key) is not None}
    return {**shown, **({"created_at": row["createdAt"]} if row.get("createdAt") else {})}


def _edges(
    edges: Sequence[Mapping[str, Any]], places: Mapping[str, int]
) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Return what an import is to draw of these edges, by their ends and kind."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for edge in edges:
        ends = [places.get(_bare(edge[key])) for key in ("sourceId", "targetId")]
        if None in ends or ends[0] == ends[1] or not _is_exported(edge):
            continue
        found[(*ends, edge["type"])] = {
            "source_index": ends[0],
            "target_index": ends[1],
            "edge_type": edge["type"],
            "weight": edge.get("weight", 0.5),
            **({"reason": edge["reason"]} if edge.get("reason") else {}),
        }
    return found


def _is_exported(edge: Mapping[str, Any]) -> bool:
    kind = edge.get("type")
    return kind in _ALWAYS or (kind in _WHEN_DRAWN and edge.get("drawn", False))


def _bare(graph_id: str) -> str:
    """Return the Provider's own id of a graph node ``<space>:<id>``."""
    return graph_id.partition(":")[2] or graph_id

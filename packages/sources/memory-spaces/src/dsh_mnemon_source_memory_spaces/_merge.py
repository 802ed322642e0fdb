"""Copying native Spaces into another one (spec/sources.md §4.3). Sources are never changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, Final, cast

import attrs
from anyio.lowlevel import checkpoint
from dsh_mnemon_core.errors import CapacityError

from dsh_mnemon_source_memory_spaces._receipts import completion_of
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    DraftEdge,
    DraftInsight,
    GraphEdge,
    Insight,
    ListRequest,
    SpaceView,
)

__all__ = ("Merge", "merge_into")

_MAX_INSIGHTS: Final = 100_000
_PAGE: Final = 1_000
_WEIGHT: Final = 0.5


@attrs.frozen(kw_only=True)
class Merge:
    """What a merge did.

    Attributes:
        complete: Every memory of the sources is now in the target.
        details: ``{action, status?, imported, updated, skipped, edges_inserted, errors?,
            targetMemoryBodyId}``; ``action`` is ``merged`` only when it is complete, and
            ``status`` says how far it got otherwise.
    """

    complete: bool
    details: Mapping[str, Any]


async def merge_into(
    adapter: NativeAdapter, target: SpaceView, sources: Sequence[SpaceView]
) -> Merge:
    """Read every source whole and import it into the target as one draft.

    Raises:
        CapacityError: ``merge-too-large``; nothing was written.
        ProviderError: A source cannot be read, or the import failed as a whole.
    """
    insights: list[DraftInsight] = []
    edges: list[DraftEdge] = []
    for source in sources:
        places = await _read_insights(adapter, source, insights)
        if places:
            await _read_edges(adapter, source, places, edges)
    if not insights:
        return Merge(complete=True, details=_details("merged", {}, target))
    result = await adapter.import_draft(target, insights, edges)
    counts = [_count(result, key) for key in ("imported", "updated", "skipped")]
    completion = completion_of(result)
    proven = completion == "committed" or _count(result, "skipped") == len(insights)
    if proven and not _errors(result) and sum(counts) == len(insights):
        return Merge(complete=True, details=_details("merged", result, target))
    status = "partial" if completion == "committed" else completion
    details = _details("merge", result, target)
    return Merge(complete=False, details={**details, "status": status, "errors": _errors(result)})


async def _read_insights(
    adapter: NativeAdapter, source: SpaceView, insights: list[DraftInsight]
) -> dict[str, int]:
    """Append a source's insights; return the place in the draft of each id."""
    places: dict[str, int] = {}

    async def page(cursor: str | None) -> tuple[Sequence[Insight], str | None]:
        answer = await adapter.list(source, ListRequest(limit=_PAGE, cursor=cursor))
        return answer.items, answer.next_cursor

    async for item in _all(page):
        if item.id in places:
            continue
        if len(insights) == _MAX_INSIGHTS:
            raise CapacityError(
                "merge-too-large",
                f"the Spaces hold more than {_MAX_INSIGHTS} memories; merge fewer at a time",
                details={"limit": _MAX_INSIGHTS},
            )
        places[item.id] = len(insights)
        insights.append(
            DraftInsight(
                content=item.content,
                category=item.category,
                importance=item.importance,
                tags=item.tags or (),
                entities=item.entities or (),
                source=item.source,
                created_at=item.created_at,
            )
        )
    return places


async def _read_edges(
    adapter: NativeAdapter, source: SpaceView, places: Mapping[str, int], edges: list[DraftEdge]
) -> None:
    """Append the edges between insights that were read."""

    async def page(cursor: str | None) -> tuple[Sequence[GraphEdge], str | None]:
        answer = await adapter.graph(source, cursor)
        return answer.edges, answer.next_cursor

    edges += [
        DraftEdge(
            source_index=places[edge.source_id],
            target_index=places[edge.target_id],
            edge_type=edge.type or "semantic",
            weight=_WEIGHT if edge.weight is None else edge.weight,
            reason=edge.label or None,
        )
        async for edge in _all(page)
        if edge.source_id in places and edge.target_id in places
    ]


async def _all(page: Callable[[str | None], Any]) -> AsyncIterator[Any]:
    """Yield the items of all pages; a cursor that comes again would never end."""
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        items, cursor = await page(cursor)
        for place, item in enumerate(items):
            if place % _PAGE == 0:
                await checkpoint()  # a graph may come as one huge page
            yield item
        if cursor is None:
            return
        if cursor in seen:
            raise ProviderProtocol("the Provider gave the same page twice")
        seen.add(cursor)


def _count(result: Mapping[str, Any], key: str) -> int:
    value = result.get(key, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _errors(result: Mapping[str, Any]) -> int:
    errors = result.get("errors")
    if isinstance(errors, (list, tuple)):
        return len(cast("Sequence[object]", errors))
    return _count(result, "errors")


def _details(action: str, result: Mapping[str, Any], target: SpaceView) -> dict[str, Any]:
    keys = ("imported", "updated", "skipped", "edges_inserted")
    counts = {key: _count(result, key) for key in keys}
    return {"action": action, **counts, "targetMemoryBodyId": target.id}

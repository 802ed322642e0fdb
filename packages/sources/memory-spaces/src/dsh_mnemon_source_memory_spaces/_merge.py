"""Copying native Spaces into another one (spec/sources.md §4.3). Sources are never changed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, cast

import attrs
from anyio.lowlevel import checkpoint
from dsh_mnemon_core.errors import CapacityError, InputError, MnemonError, StorageError
from dsh_mnemon_core.sdk import distinct

from dsh_mnemon_source_memory_spaces._receipts import UNPROVEN, completion_of
from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue
from dsh_mnemon_source_memory_spaces._roster import Roster
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

__all__ = ("merge",)

_MAX_SOURCES: Final = 1_000
_MAX_INSIGHTS: Final = 100_000
_PAGE: Final = 1_000
_WEIGHT: Final = 0.5


async def merge(
    roster: Roster,
    target_id: str,
    source_ids: Sequence[str],
    *,
    deactivate_sources: bool,
    expected_revision: str | None,
) -> Mapping[str, Any]:
    """Copy native Spaces into another; see `Spaces.merge`."""
    named = distinct(tuple(source_ids), "sources")
    if not 1 <= len(named) <= _MAX_SOURCES:
        raise InputError("merge-count", f"name 1..{_MAX_SOURCES} Memory Spaces to merge")
    if target_id in named:
        raise InputError("merge-source-is-target", "a Space cannot be merged into itself")
    steps = _Steps(roster, target_id, named)
    merged = steps.merged if deactivate_sources else steps.received
    catalogue = await roster.rehearse(merged, expected_revision)
    spaces = [catalogue.get(space_id) for space_id in (target_id, *named)]
    if not all(catalogue.is_native(space) for space in spaces):
        raise InputError("merge-native-only", "only native Memory Spaces can be merged")
    target, *sources = (space.view() for space in spaces)
    adapter = await roster.native()
    try:
        done = await merge_into(adapter, target, sources, lambda: roster.change(steps.begun))
    except MnemonError as error:
        if not isinstance(error, UNPROVEN):
            await _forget(roster, steps)
        raise
    if done.complete:
        await roster.change(merged)
    elif completion_of(done.details) in ("failed", "cancelled"):
        await _forget(roster, steps)
    return done.details


async def _forget(roster: Roster, steps: _Steps) -> None:
    """Take back that a merge began; a registry that cannot be written goes on saying it."""
    with suppress(StorageError):
        await roster.change(steps.ended)


@attrs.frozen
class _Steps:
    """What a merge changes in the registry, as it goes on."""

    roster: Roster
    target_id: str
    source_ids: Sequence[str]

    def begun(self, _: Catalogue, content: Content) -> tuple[Content, None]:
        """Say that part of it may be there from now on."""
        pending = content.pending.begun(self.target_id, self.source_ids, self.roster.now())
        return attrs.evolve(content, pending=pending), None

    def ended(self, _: Catalogue, content: Content) -> tuple[Content, None]:
        """Say it no longer."""
        pending = content.pending.ended(self.target_id, self.source_ids)
        return attrs.evolve(content, pending=pending), None

    def received(self, catalogue: Catalogue, content: Content) -> tuple[Content, Catalogue]:
        """Switch the target on."""
        content, _ = self.ended(catalogue, content)
        return self._touched(catalogue, content, (self.target_id,))

    def merged(self, catalogue: Catalogue, content: Content) -> tuple[Content, Catalogue]:
        """Switch the target on and the sources off."""
        content, _ = self.ended(catalogue, content)
        off = [s.id for s in catalogue.spaces if s.active and s.id in self.source_ids]
        return self._touched(catalogue, content, (self.target_id, *off))

    def _touched(
        self, catalogue: Catalogue, content: Content, space_ids: Sequence[str]
    ) -> tuple[Content, Catalogue]:
        changed = (
            attrs.evolve(
                space, active=space.id == self.target_id, updated_at=self.roster.later(space)
            )
            for space in catalogue.spaces
            if space.id in space_ids
        )
        return content.replace(*changed), catalogue


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
    adapter: NativeAdapter,
    target: SpaceView,
    sources: Sequence[SpaceView],
    begin: Callable[[], Awaitable[object]],
) -> Merge:
    """Read every source whole and import it into the target as one draft.

    Args:
        adapter: The native Provider.
        target: The Space that receives.
        sources: The Spaces to copy.
        begin: Called when everything is read, before anything is written.

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
    await begin()
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
            reason=edge.reason or (None if edge.drawn else edge.label) or None,
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

"""The graph of several Spaces in pages (spec/sources.md §4.10, D45)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Final, Literal, cast

import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.sdk import truncate

from dsh_mnemon_source_memory_spaces._answers import (
    MAX_ID,
    Patience,
    ask,
    caption,
    counted,
    each,
)
from dsh_mnemon_source_memory_spaces._browse import Cursor, begin_at, page_of
from dsh_mnemon_source_memory_spaces._cursor import Place, following, write_cursor
from dsh_mnemon_source_memory_spaces._gaps import whole
from dsh_mnemon_source_memory_spaces._inputs import Input, SpaceIds
from dsh_mnemon_source_memory_spaces._recall.report import SourceStatus, Target
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    Graph,
    GraphEdge,
    GraphNode,
    Insight,
    ListRequest,
)

__all__ = ("COLORS", "GraphInput", "graph_of")

COLORS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "preference": "#9b59b6",
        "decision": "#e74c3c",
        "fact": "#3498db",
        "insight": "#2ecc71",
        "context": "#f39c12",
    }
)
"""Colour of a node by its category."""

_OTHER: Final = "#6574d9"
_COLOR: Final = re.compile(r"#[0-9a-fA-F]{6}")
_LABEL: Final = 160
_LINE: Final = 300
_REASON: Final = 1_000
_PAGE: Final = 200
_MOST_NODES: Final = 1_000
_MOST_EDGES: Final = 20_000


class GraphInput(Input):
    """Input of ``graph``."""

    memory_body_ids: SpaceIds | None = None
    cursor: Cursor = None

    def question(self) -> dict[str, Any]:
        """Return what a cursor is bound to."""
        return {"operation": "graph", **self.model_dump(mode="json", exclude={"cursor"})}


@attrs.frozen(kw_only=True)
class _Part:
    """What one Space gave for one answer."""

    target: Target
    mode: Literal["graph", "projection", "query-only", "unsupported"]
    status: SourceStatus
    nodes: tuple[dict[str, Any], ...] = ()
    edges: tuple[dict[str, Any], ...] = ()
    next_cursor: str | None = None
    full: bool = False
    lost: bool = False
    unreadable: int = 0
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        value = {
            **self.target.named(),
            "mode": self.mode,
            "status": self.status,
            "itemCount": len(self.nodes),
            "unreadable": self.unreadable or None,
            "hint": self.hint,
        }
        return {key: item for key, item in value.items() if item is not None}


async def graph_of(
    targets: Sequence[Target],
    request: GraphInput,
    *,
    seconds: float,
    generated_at: str,
    faults: Sequence[StorageError] = (),
) -> dict[str, Any]:
    """Return one page of the graph; no fault of a Provider is raised.

    A page ends where a Space has more, or with the Space that brings it to 1,000 nodes.

    Returns:
        ``{nodes, edges, generatedAt, truncated, nextCursor?, sources, complete, faults?, hint?}``;
        see `_gaps.whole`.

    Raises:
        InputError: ``cursor-invalid``.
    """
    question = request.question()
    start, place = begin_at(question, request.cursor, targets)
    cursors = {place.space_id: place.cursor}
    patience = Patience(seconds)
    parts = await each(
        targets[start:],
        lambda target: _part(target, cursors.get(target.space.id), patience),
    )
    shown, after = _page(parts)
    cursor = write_cursor(question, after) if after else None
    more = cursor is None and after is not None
    hints = [f"{part.target.space.name}: {part.hint}" for part in shown if part.hint]
    page = {
        "nodes": [node for part in shown for node in part.nodes],
        "edges": [edge for part in shown for edge in part.edges],
        "generatedAt": generated_at,
        "truncated": more or any(part.full for part in shown),
        **({} if cursor is None else {"nextCursor": cursor}),
        "sources": [part.to_json() for part in shown],
        **({"hint": "\n".join(hints)} if hints else {}),
    }
    return whole(page, faults, lost=any(part.lost for part in shown))


def _page(parts: Sequence[_Part]) -> tuple[Sequence[_Part], Place | None]:
    """Return the parts of this page and where the next one begins."""
    nodes = 0
    for position, part in enumerate(parts):
        nodes += len(part.nodes)
        if part.next_cursor is not None:
            place = Place(space_id=part.target.space.id, cursor=part.next_cursor)
            return parts[: position + 1], place
        if nodes >= _MOST_NODES and position + 1 < len(parts):
            place = Place(space_id=parts[position + 1].target.space.id)
            return parts[: position + 1], place
    return parts, None


async def _part(target: Target, cursor: str | None, patience: Patience) -> _Part:
    capabilities = target.manifest.capabilities
    if capabilities.graph:
        read = partial(_drawn, target, cursor)
    elif capabilities.browse:
        read = partial(_projected, target, cursor)
    elif capabilities.search:
        return _Part(target=target, mode="query-only", status="query-required")
    else:
        hint = f"{target.manifest.label} can neither be drawn nor browsed"
        return _Part(target=target, mode="unsupported", status="unsupported", hint=hint)
    answer = await ask(read, patience, target.secrets)
    if answer.value is None:
        return _Part(
            target=target,
            mode="graph" if capabilities.graph else "projection",
            status="unavailable",
            hint=f"unavailable: {answer.fault}",
        )
    return answer.value


async def _drawn(target: Target, cursor: str | None) -> _Part:
    graph = cast("object", await target.adapter.graph(target.space, cursor))
    if not isinstance(graph, Graph):
        raise ProviderProtocol("the Provider did not answer with a graph")
    nodes = tuple(_nodes(target, cast("object", graph.nodes)))
    edges = tuple(_edges(target, cast("object", graph.edges)))
    left_out = _count(graph.nodes) - len(nodes) + _count(graph.edges) - len(edges)
    left_out += counted(graph.unreadable)
    return _Part(
        target=target,
        mode="graph",
        status="ready" if nodes else "empty",
        nodes=nodes,
        edges=edges,
        next_cursor=following(graph.next_cursor, cursor),
        lost=left_out > 0,
        unreadable=left_out,
        hint=f"{left_out} nodes or edges were left out" if left_out else None,
    )


def _count(value: object) -> int:
    return len(cast("Sequence[object]", value)) if isinstance(value, (list, tuple)) else 0


async def _projected(target: Target, cursor: str | None) -> _Part:
    batch, after = await page_of(target, ListRequest(limit=_PAGE, cursor=cursor))
    return _Part(
        target=target,
        mode="projection",
        status="ready" if batch.items else "empty",
        nodes=tuple(_insight_node(target, insight) for insight in batch.items),
        next_cursor=after,
        full=after is None and cursor is None and len(batch.items) >= _PAGE,
        lost=bool(batch.notes),
        unreadable=batch.unreadable,
        hint="; ".join(batch.notes) or None,
    )


def _insight_node(target: Target, insight: Insight) -> dict[str, Any]:
    node = GraphNode(
        id=insight.id,
        label=insight.content,
        color="",
        category=insight.category,
        importance=insight.importance,
        created_at=insight.created_at,
    )
    return _node(target, node)


def _node(target: Target, node: GraphNode) -> dict[str, Any]:
    value = {
        "graphId": f"{target.space.id}:{node.id}",
        "id": node.id,
        "label": caption(node.label, _LABEL),
        "color": _color(node.color, node.category),
        "category": node.category,
        "importance": node.importance,
        "createdAt": node.created_at,
        "memoryBodyId": target.space.id,
        "memoryBodyName": target.space.name,
        "memoryProviderId": target.provider_id,
    }
    return {key: item for key, item in value.items() if item is not None}


def _color(color: object, category: str | None) -> str:
    if isinstance(color, str) and _COLOR.fullmatch(color):
        return color
    return COLORS.get(category or "", _OTHER)


def _nodes(target: Target, value: object) -> Iterator[dict[str, Any]]:
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    for item in items[:_MOST_NODES]:
        if not isinstance(item, GraphNode) or not (_named(item.id) and _text(item.label)):
            continue
        whole = type(cast("object", item.importance)) is int
        yield _node(
            target,
            attrs.evolve(
                item,
                category=_optional(item.category),
                importance=item.importance if whole else None,
                created_at=_optional(item.created_at),
            ),
        )


def _edges(target: Target, value: object) -> Iterator[dict[str, Any]]:
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    for item in items[:_MOST_EDGES]:
        if not isinstance(item, GraphEdge):
            continue
        if not (_named(item.source_id) and _named(item.target_id)):
            continue
        number = isinstance(item.weight, (int, float)) and 0 <= item.weight <= 1
        edge = {
            "sourceId": f"{target.space.id}:{item.source_id}",
            "targetId": f"{target.space.id}:{item.target_id}",
            "label": caption(item.label, _LABEL) if _text(item.label) else "",
            "color": _color(item.color, None),
            "type": _optional(item.type),
            "weight": item.weight if number else None,
            "reason": _reason(item.reason),
            "drawn": True if item.drawn is True else None,
        }
        yield {key: field for key, field in edge.items() if field is not None}


def _named(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= MAX_ID and _text(value)


def _text(value: object) -> bool:
    """Tell whether this is text that can be encoded."""
    try:
        return isinstance(value, str) and bool(value.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def _reason(value: object) -> str | None:
    """Return a reason as it was given: an export takes it along."""
    return truncate(value, _REASON) if isinstance(value, str) and _text(value.strip()) else None


def _optional(value: object, maximum: int = _LINE) -> str | None:
    return caption(value, maximum) if isinstance(value, str) and value.strip() else None

"""What the command line tool answers, as values of the Provider SDK (§13). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    GraphEdge,
    GraphNode,
    Insight,
    SpaceStats,
)

from dsh_mnemon_provider_mnemon_native._json import list_of, object_of
from dsh_mnemon_provider_mnemon_native._mapping import EDGE_COLORS, label_of

__all__ = ("insights", "read_graph", "read_stats")

_STRING: Final = r"(\"(?:[^\"\\]|\\.)*\")"
_NODE: Final = re.compile(rf"\{{id:{_STRING},label:{_STRING},title:{_STRING},color:{_STRING}")
_EDGE: Final = re.compile(
    rf"\{{from:{_STRING},to:{_STRING},label:{_STRING},color:\{{color:{_STRING}"
)
_TYPES: Final = {color: type for type, color in EDGE_COLORS.items()}


def insights(answer: Any) -> list[Insight]:
    """Read a list of insights, bare or in ``results``; what has no id or content is dropped."""
    rows = list_of(object_of(answer).get("results") if isinstance(answer, Mapping) else answer)
    return [insight for row in rows if (insight := _insight(object_of(row))) is not None]


def _insight(row: Mapping[str, Any]) -> Insight | None:
    fields = {**row, **object_of(row.get("insight"))}
    id, content = _text(fields, "id"), _text(fields, "content")
    if not id or not content:
        return None
    return Insight(
        id=id,
        content=content,
        category=_text(fields, "category"),
        importance=_number(fields, "importance", int),
        tags=_texts(fields, "tags"),
        entities=_texts(fields, "entities"),
        source=_text(fields, "source"),
        created_at=_text(fields, "created_at"),
        score=_number(fields, "score", (int, float)),
        intent=_text(fields, "intent"),
        depth=_number(fields, "depth", int),
        matched_via=_text(fields, "matched_via") or _text(fields, "via"),
        edge_type=_text(fields, "via_edge_type"),
    )


def _text(fields: Mapping[str, Any], key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) else None


def _texts(fields: Mapping[str, Any], key: str) -> tuple[str, ...] | None:
    if not isinstance(fields.get(key), list):
        return None
    return tuple(item for item in list_of(fields.get(key)) if isinstance(item, str))


def _number(fields: Mapping[str, Any], key: str, kind: Any) -> Any:
    value = fields.get(key)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def read_stats(answer: Any) -> SpaceStats:
    """Read the answer to ``status``; a missing count is 0."""
    fields = object_of(answer)
    categories = object_of(fields.get("by_category"))
    entities = map(object_of, list_of(fields.get("top_entities")))
    keys = ("total_insights", "deleted_insights", "edge_count", "oplog_count", "db_size_bytes")
    return SpaceStats(
        **{key: _number(fields, key, int) or 0 for key in keys},
        by_category={key: value for key, value in categories.items() if isinstance(value, int)},
        top_entities=tuple(
            EntityCount(entity=one["entity"], count=one["count"])
            for one in entities
            if {"entity", "count"} <= one.keys()
        ),
    )


def read_graph(
    page: str, known: Mapping[str, Insight]
) -> tuple[tuple[GraphNode, ...], tuple[GraphEdge, ...]]:
    """Read nodes and edges out of the page that ``viz`` prints.

    Args:
        page: HTML whose script holds one object for each node and edge.
        known: The Space's insights by id, which say more than the page.
    """
    nodes = tuple(_node(*map(_unquoted, found), known=known) for found in _NODE.findall(page))
    shown = {node.id for node in nodes}
    edges = (_edge(*map(_unquoted, found)) for found in _EDGE.findall(page))
    return nodes, tuple(edge for edge in edges if {edge.source_id, edge.target_id} <= shown)


def _unquoted(text: str) -> str:
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1]


def _node(
    id: str, label: str, title: str, color: str, *, known: Mapping[str, Insight]
) -> GraphNode:
    insight = known.get(id)
    return GraphNode(
        id=id,
        label=label_of(insight.content if insight else title or label),
        color=color,
        category=insight.category if insight else None,
        importance=insight.importance if insight else None,
        created_at=insight.created_at if insight else None,
    )


def _edge(source: str, target: str, label: str, color: str) -> GraphEdge:
    # The page tells the kinds by colour alone.
    type = _TYPES.get(color)
    return GraphEdge(source_id=source, target_id=target, label=label, color=color, type=type)

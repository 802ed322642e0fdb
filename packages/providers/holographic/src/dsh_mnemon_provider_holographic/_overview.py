"""A store seen as a whole: its numbers, its entities, its graph (providers specification §6.7)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote

from dsh_mnemon_core.sdk import truncate
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    GraphEdge,
    GraphNode,
    SpaceStats,
)

from dsh_mnemon_provider_holographic._banks import file_dim
from dsh_mnemon_provider_holographic._mapping import Fact, category_of, insight

__all__ = ("GRAPH_PAGE", "dim_hint", "entity_counts", "fitting", "graph_of", "stats")

GRAPH_PAGE: Final = 500
"""Most facts of one page of the graph."""

_MOST_NODES: Final = 1_000
_TOP: Final = 20
_LABEL: Final = 80
_FACT_COLOR: Final = "#6574d9"
_ENTITY_COLOR: Final = "#2ecc71"


def stats(connection: sqlite3.Connection | None, size: int) -> SpaceStats:
    """Count what there is; a store without a file has nothing of anything."""
    categories: Counter[str] = Counter()
    links = 0
    if connection is not None:
        query = "SELECT coalesce(category, 'general'), count(*) FROM facts GROUP BY 1 ORDER BY 1"
        for stored, number in connection.execute(query):
            categories[category_of(str(stored))] += number
        links = connection.execute("SELECT count(*) FROM fact_entities").fetchone()[0]
    return SpaceStats(
        total_insights=categories.total(),
        deleted_insights=0,
        edge_count=links,
        oplog_count=0,
        db_size_bytes=size,
        by_category=dict(categories),
        top_entities=tuple(entity_counts(connection, _TOP)),
    )


def entity_counts(connection: sqlite3.Connection | None, limit: int) -> list[EntityCount]:
    """Return the entities most facts are linked to, largest count first, then by name."""
    if connection is None:
        return []
    rows = connection.execute(
        "SELECT e.name, count(*) FROM fact_entities l JOIN entities e USING (entity_id)"
        " GROUP BY e.entity_id"
    )
    counts = [EntityCount(entity=str(name), count=number) for name, number in rows]
    counts.sort(key=lambda it: (-it.count, it.entity.casefold(), it.entity))
    return counts[:limit]


def dim_hint(connection: sqlite3.Connection, wanted_dim: int) -> str | None:
    """Say what is wrong with the dimensions of a file's vectors, or nothing."""
    dim = file_dim(connection, wanted_dim)
    row = connection.execute(
        "SELECT count(*) FROM facts WHERE length(hrr_vector) NOT IN (?, ?)", (8 * dim, 4 + 4 * dim)
    ).fetchone()
    if row[0]:
        return (
            f"{row[0]} facts have vectors of another dimension than {dim} and are found by their"
            " words alone; rebuild the store"
        )
    if dim != wanted_dim:
        return f"the vectors have dimension {dim}, the settings say {wanted_dim}; the file's counts"
    return None


def fitting(facts: Sequence[Fact]) -> Sequence[Fact]:
    """Return as many facts, from the first on, as fit one page of the graph."""
    entities: set[str] = set()
    for place, fact in enumerate(facts):
        entities.update(fact.entities)
        if place == GRAPH_PAGE or (place and place + 1 + len(entities) > _MOST_NODES):
            return facts[:place]
    return facts


def graph_of(facts: Sequence[Fact]) -> tuple[tuple[GraphNode, ...], tuple[GraphEdge, ...]]:
    """Return nodes for facts and their entities, and an edge from each fact to each entity."""
    nodes: list[GraphNode] = []
    edges: list[GraphEdge] = []
    entities: dict[str, str] = {}
    for fact in facts:
        seen = insight(fact)
        label = truncate(" ".join(fact.content.split()), _LABEL)
        nodes.append(
            GraphNode(
                id=seen.id,
                label=label,
                color=_FACT_COLOR,
                category=seen.category,
                importance=seen.importance,
                created_at=seen.created_at,
            )
        )
        for name in fact.entities:
            target = entities.setdefault(name, f"entity:{quote(name, safe='')}")
            edges.append(
                GraphEdge(
                    source_id=seen.id,
                    target_id=target,
                    label="entity",
                    color=_ENTITY_COLOR,
                    type="entity",
                )
            )
    nodes += [GraphNode(id=it, label=name, color=_ENTITY_COLOR) for name, it in entities.items()]
    return tuple(nodes), tuple(edges)

"""The values a Provider takes and gives (spec/sources.md §4.4).

All are frozen. What a Provider answers is judged by the Source, not here: a constructor accepts
what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import attrs

__all__ = (
    "CATEGORIES",
    "EDGES",
    "INTENTS",
    "SOURCES",
    "Category",
    "DraftEdge",
    "DraftInsight",
    "EdgeType",
    "EntityCount",
    "ExternalSpace",
    "Graph",
    "GraphEdge",
    "GraphNode",
    "Insight",
    "Intent",
    "ListRequest",
    "Page",
    "RecallMode",
    "RememberRequest",
    "SearchAnswer",
    "SearchRequest",
    "SpaceStats",
    "SpaceStatus",
    "SpaceView",
)

Category: TypeAlias = Literal["preference", "decision", "fact", "insight", "context", "general"]
EdgeType: TypeAlias = Literal["temporal", "semantic", "causal", "entity"]
Intent: TypeAlias = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
RecallMode: TypeAlias = Literal["smart", "keyword", "basic"]

CATEGORIES: tuple[Category, ...] = (
    "preference",
    "decision",
    "fact",
    "insight",
    "context",
    "general",
)
"""The kinds of memory."""

SOURCES = ("user", "agent", "external")
"""Who said it."""

EDGES: tuple[EdgeType, ...] = ("temporal", "semantic", "causal", "entity")
"""The kinds of edge a caller may ask for or make."""

INTENTS: tuple[Intent, ...] = ("WHY", "WHEN", "ENTITY", "GENERAL")
"""What a query may be after."""


@attrs.frozen(kw_only=True)
class SpaceView:
    """One Memory Space as its Provider sees it; settings come from the authority.

    Attributes:
        id: The Space's id, ``[a-zA-Z0-9][a-zA-Z0-9_-]*``.
        external_id: The Provider's own name of the namespace; a native Space has none.
    """

    id: str
    name: str
    description: str = ""
    active: bool = True
    external_id: str | None = None


@attrs.frozen(kw_only=True)
class Insight:
    """One memory.

    Attributes:
        score: Relevance as the manifest's score semantics says.
        created_at: ISO 8601, UTC.
        depth: Distance in edges from where a traversal began.
        matched_via: How a search found it, in the Provider's own words.
    """

    id: str
    content: str
    category: str | None = None
    importance: int | None = None
    tags: tuple[str, ...] | None = None
    entities: tuple[str, ...] | None = None
    source: str | None = None
    score: float | None = None
    confidence: float | None = None
    intent: str | None = None
    matched_via: str | None = None
    created_at: str | None = None
    depth: int | None = None
    edge_type: str | None = None
    external_uri: str | None = None


@attrs.frozen(kw_only=True)
class SearchRequest:
    """One search: ``limit`` is 1..50 and already widened by the Source's policy."""

    query: str
    mode: RecallMode = "smart"
    limit: int = 10
    category: str | None = None
    source: str | None = None
    intent: str | None = None


@attrs.frozen(kw_only=True)
class SearchAnswer:
    """What a search found, in the Provider's order.

    Attributes:
        hint: What is amiss, such as an index that is still being made.
        remark: What is worth knowing about results that are all there; nothing is amiss.
        unreadable: How many memories of the Space are left out everywhere, for they cannot be read.
    """

    results: tuple[Insight, ...] = ()
    hint: str | None = None
    remark: str | None = None
    unreadable: int = 0


@attrs.frozen(kw_only=True)
class ListRequest:
    """One page of browsing; ``cursor`` is what the page before answered (D45)."""

    query: str | None = None
    category: str | None = None
    limit: int = 200
    cursor: str | None = None


@attrs.frozen(kw_only=True)
class Page:
    """Items in the Provider's order; a Provider that cannot page gives no ``next_cursor``.

    Attributes:
        unreadable: How many memories of the Space are left out everywhere, for they cannot be read;
            the same on every page.
    """

    items: tuple[Insight, ...] = ()
    next_cursor: str | None = None
    unreadable: int = 0


@attrs.frozen(kw_only=True)
class RememberRequest:
    """One memory to keep, checked by the Source (spec/sources.md §4.9).

    Attributes:
        content: 1..8,192 characters.
        importance: 1..5.
        tags: At most 20, entities at most 50; none holds a comma.
        exact: An archived original: it must be stored as it is or refused (D38).
    """

    content: str
    category: str = "general"
    importance: int = 3
    source: str = "user"
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    exact: bool = False


@attrs.frozen(kw_only=True)
class GraphNode:
    """One node: an insight's id, its short text and its colour ``#rrggbb``."""

    id: str
    label: str
    color: str
    category: str | None = None
    importance: int | None = None
    created_at: str | None = None


@attrs.frozen(kw_only=True)
class GraphEdge:
    """One directed edge between two nodes of the Space.

    Attributes:
        reason: Why they were joined, as `ProviderAdapter.link` was told.
        drawn: Whether somebody asked for it, and not the Provider itself drew it; where known.
    """

    source_id: str
    target_id: str
    label: str
    color: str
    type: str | None = None
    weight: float | None = None
    reason: str | None = None
    drawn: bool | None = None


@attrs.frozen(kw_only=True)
class Graph:
    """One page of a Space's graph.

    Attributes:
        generated_at: ISO 8601, UTC.
        unreadable: How many edges of this page are left out, for they cannot be read.
    """

    nodes: tuple[GraphNode, ...] = ()
    edges: tuple[GraphEdge, ...] = ()
    generated_at: str
    next_cursor: str | None = None
    unreadable: int = 0


@attrs.frozen(kw_only=True)
class EntityCount:
    """How many live insights name an entity."""

    entity: str
    count: int


@attrs.frozen(kw_only=True)
class SpaceStats:
    """Counts of one Space; ``db_size_bytes`` in bytes."""

    total_insights: int | None = None
    deleted_insights: int | None = None
    edge_count: int | None = None
    oplog_count: int | None = None
    db_size_bytes: int | None = None
    by_category: Mapping[str, int] | None = None
    top_entities: tuple[EntityCount, ...] | None = None


@attrs.frozen(kw_only=True)
class SpaceStatus:
    """Health of one Space; a status call never raises for an unhealthy one.

    Attributes:
        error: Why it is unhealthy.
        note: What is amiss with a Space that works all the same, and what to do about it.
    """

    healthy: bool
    error: str | None = None
    note: str | None = None
    stats: SpaceStats | None = None


@attrs.frozen(kw_only=True)
class ExternalSpace:
    """A namespace discovered at the service.

    Attributes:
        external_id: Stable, at most 2,000 characters, once in a reply.
        connection: Values of memory-scoped fields only.
    """

    external_id: str
    name: str = ""
    description: str = ""
    connection: Mapping[str, Any] = attrs.field(factory=dict[str, Any])


@attrs.frozen(kw_only=True)
class DraftInsight:
    """One memory of an import; ``created_at`` (ISO 8601) keeps the time of the event."""

    content: str
    category: str | None = None
    importance: int | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    source: str | None = None
    created_at: str | None = None


@attrs.frozen(kw_only=True)
class DraftEdge:
    """An edge between two insights of one import, by their 0-based places in it."""

    source_index: int
    target_index: int
    edge_type: str
    weight: float = 0.5
    reason: str | None = None

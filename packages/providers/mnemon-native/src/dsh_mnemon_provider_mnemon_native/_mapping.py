"""Between the engine's records and the values of the Provider SDK. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
from dsh_mnemon_core.sdk import truncate
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    Graph,
    GraphEdge,
    GraphNode,
    Insight,
    RememberRequest,
    Result,
)

from dsh_mnemon_provider_mnemon_native._json import object_of
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput

if TYPE_CHECKING:
    from dsh_mnemon_provider_mnemon_native._engine import Remembering
    from dsh_mnemon_provider_mnemon_native._ranking import Ranked
    from dsh_mnemon_provider_mnemon_native._records import Edge, Row
    from dsh_mnemon_provider_mnemon_native._store.pages import GraphPage
    from dsh_mnemon_provider_mnemon_native._write.batches import Imported
    from dsh_mnemon_provider_mnemon_native._write.importing import Written
    from dsh_mnemon_provider_mnemon_native._write.links import Link
    from dsh_mnemon_provider_mnemon_native._write.neighbours import (
        CausalCandidate,
        SemanticCandidate,
        Step,
    )

__all__ = (
    "EDGE_COLORS",
    "FORGOTTEN",
    "NODE_COLORS",
    "OTHER_COLOR",
    "edge_of",
    "graph_of",
    "import_result",
    "insight_of",
    "is_drawn",
    "label_of",
    "link_result",
    "new_insight",
    "node_of",
    "ranked_insight",
    "remember_result",
    "step_insight",
    "written_result",
)

NODE_COLORS: Final = {
    "decision": "#e74c3c",
    "fact": "#3498db",
    "insight": "#9b59b6",
    "preference": "#2ecc71",
    "context": "#f39c12",
}
EDGE_COLORS: Final = {
    "temporal": "#aaaaaa",
    "semantic": "#3498db",
    "causal": "#e74c3c",
    "entity": "#2ecc71",
    "supersedes": "#cccccc",
}
OTHER_COLOR: Final = "#95a5a6"

FORGOTTEN: Final = "No read shows it any more; its text stays in the store's file, marked."
"""What `forget` says: deletion is soft."""

_LABEL: Final = 60
_OWN_LABELS: Final = frozenset(
    (*EDGE_COLORS, "backbone", "proximity", "causes", "enables", "prevents")
)
"""Labels of edges that the engine draws by itself (§5)."""


def new_insight(request: RememberRequest) -> NewInsight:
    """Return what to write for a request.

    Raises:
        InvalidInput: A tag or an entity holds a comma, at which the command line tool splits.
    """
    for field in ("tags", "entities"):
        if any("," in value for value in getattr(request, field)):
            raise InvalidInput(field, f"{field} hold no commas")
    return NewInsight(
        content=request.content,
        category=request.category,
        importance=request.importance,
        source=request.source,
        tags=tuple(request.tags),
        entities=tuple(request.entities),
        exact=request.exact,
    )


def insight_of(row: Row, **more: Any) -> Insight:
    """Return a row as a caller sees it; ``more`` are further fields, such as ``score``."""
    return Insight(
        id=row.id,
        content=row.content,
        category=row.category,
        importance=row.importance,
        tags=row.tags,
        entities=row.entities,
        source=row.source,
        created_at=row.created_at,
        **more,
    )


def ranked_insight(row: Row, ranked: Ranked, intent: str) -> Insight:
    """Return a row with how a search found it."""
    score = min(max(ranked.score, 0.0), 1.0)
    return insight_of(row, score=score, matched_via=ranked.via, intent=intent)


def step_insight(step: Step) -> Insight:
    """Return a row with how a walk came to it."""
    return insight_of(step.row, depth=step.depth, edge_type=step.via)


def label_of(content: str) -> str:
    """Return the short text of an insight, in one line."""
    return truncate(" ".join(content.split()), _LABEL)


def node_of(row: Row) -> GraphNode:
    """Return a row as a node of the graph."""
    return GraphNode(
        id=row.id,
        label=label_of(row.content),
        color=NODE_COLORS.get(row.category, OTHER_COLOR),
        category=row.category,
        importance=row.importance,
        created_at=row.created_at,
    )


def edge_of(edge: Edge) -> GraphEdge:
    """Return an edge of the graph; its label is the finer kind, where there is one."""
    metadata = _metadata(edge)
    return GraphEdge(
        source_id=edge.source_id,
        target_id=edge.target_id,
        label=metadata.get("sub_type") or edge.type,
        color=EDGE_COLORS.get(edge.type, OTHER_COLOR),
        type=edge.type,
        weight=edge.weight,
        reason=metadata.get("reason"),
        drawn=is_drawn(metadata),
    )


def is_drawn(metadata: Mapping[str, str]) -> bool:
    """Tell whether somebody asked for an edge: the engine marks its own, each kind in its way.

    An edge of a draft has its reason, or nothing; one that a merge copied has its label as reason.
    """
    if made_by := metadata.get("created_by"):
        return made_by != "auto"
    if "reason" in metadata:
        return metadata["reason"] not in _OWN_LABELS
    return not metadata


def graph_of(page: GraphPage, generated_at: str) -> Graph:
    """Return a page of the graph."""
    return Graph(
        nodes=tuple(map(node_of, page.rows)),
        edges=tuple(map(edge_of, page.edges)),
        generated_at=generated_at,
        next_cursor=page.next_cursor,
        unreadable=page.unreadable,
    )


def _metadata(edge: Edge) -> Mapping[str, str]:
    try:
        fields = object_of(json.loads(edge.metadata))
    except ValueError:
        return {}
    return {key: value for key, value in fields.items() if isinstance(value, str)}


def remember_result(remembering: Remembering) -> Result:
    """Return what became of one insight; a skipped one is named by what it repeats."""
    outcome, row = remembering.outcome, remembering.outcome.row
    if row is None:
        return {
            "id": outcome.replaced_id,
            "content": outcome.content,
            "action": outcome.action,
            "diff_suggestion": outcome.suggestion,
            "replaced_id": outcome.replaced_id,
        }
    return {
        "id": row.id,
        "content": row.content,
        "category": row.category,
        "importance": row.importance,
        "tags": list(row.tags),
        "entities": list(row.entities),
        "action": outcome.action,
        "diff_suggestion": outcome.suggestion,
        "created_at": row.created_at,
        "edges_created": attrs.asdict(outcome.edges),
        "semantic_candidates": [*map(_semantic, remembering.semantic)],
        "causal_candidates": [*map(_causal, remembering.causal)],
        "embedded": outcome.embedded,
        "effective_importance": row.effective_importance,
        "auto_pruned": len(outcome.pruned),
        "auto_pruned_ids": list(outcome.pruned),
    }


def _semantic(candidate: SemanticCandidate) -> dict[str, Any]:
    return {
        "id": candidate.row.id,
        "content": candidate.row.content,
        "category": candidate.row.category,
        "similarity": candidate.similarity,
        "auto_linked": candidate.auto_linked,
    }


def _causal(candidate: CausalCandidate) -> dict[str, Any]:
    return {
        "id": candidate.row.id,
        "content": candidate.row.content,
        "category": candidate.row.category,
        "hop": candidate.hop,
        "via_edge": candidate.via,
        "causal_signal": candidate.signal,
        "suggested_sub_type": candidate.sub_type,
    }


def written_result(written: Written) -> Result:
    """Return what became of one insight of a batch."""
    return {"id": written.id, "content": written.content, "action": written.action}


def import_result(imported: Imported) -> Result:
    """Return the counts of an import, and what failed."""
    added, edges = imported.count("added"), imported.edges_inserted
    return {
        "action": "imported" if added or edges else "skipped",
        "imported": added,
        "brought_back": imported.brought_back,
        "skipped": imported.count("skipped"),
        "updated": 0,
        "edges_inserted": edges,
        "auto_pruned": len(imported.pruned),
        "auto_pruned_ids": list(imported.pruned),
        "errors": [
            {"index": fault.index, "code": fault.error.code, "message": fault.error.message}
            for fault in imported.faults
        ],
    }


def link_result(link: Link) -> Result:
    """Return an edge that was written."""
    return {
        "status": "linked",
        "source_id": link.source_id,
        "target_id": link.target_id,
        "edge_type": link.type,
        "weight": link.weight,
        "metadata": dict(link.metadata),
    }

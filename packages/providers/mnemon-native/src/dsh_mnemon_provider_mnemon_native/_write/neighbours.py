"""What a new insight might be linked to by hand, looked for after it is written (§4.2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import attrs

from dsh_mnemon_provider_mnemon_native._ranking import Index
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._tokens import tokens
from dsh_mnemon_provider_mnemon_native._write.edges import (
    SEMANTIC_COSINE,
    causal_signal,
    causal_sub_type,
)

__all__ = ("CausalCandidate", "SemanticCandidate", "Step", "causal", "semantic", "walk")

_LIMIT = 5
_COSINE = 0.40
_OVERLAP = 0.10
_HOPS = 2
_NODES = 10


@attrs.frozen(kw_only=True)
class Step:
    """An insight reached over edges: after how many, and over which kind at last."""

    row: Row
    depth: int
    via: str


@attrs.frozen(kw_only=True)
class SemanticCandidate:
    """An insight that resembles the new one; ``auto_linked`` when an edge was made."""

    row: Row
    similarity: float
    auto_linked: bool


@attrs.frozen(kw_only=True)
class CausalCandidate:
    """An insight near the new one in the graph, with the causal keyword one of the two has."""

    row: Row
    hop: int
    via: str
    signal: str
    sub_type: str


def walk(rows: Rows, start: str, *, depth: int, type: str | None = None) -> Iterator[Step]:
    """Go outward from an insight, breadth first, edges of a node in the order they were written.

    Each active insight is met once; a forgotten one is neither met nor passed through.
    """
    seen = {start}
    queue = deque([(start, 0)])
    while queue:
        at, hops = queue.popleft()
        if hops >= depth:
            return
        for other, via in rows.arcs(at, type):
            if other in seen:
                continue
            seen.add(other)
            row = rows.one(other)
            if row is not None:
                queue.append((other, hops + 1))
                yield Step(row=row, depth=hops + 1, via=via)


def semantic(
    row: Row, vector: Sequence[float] | None, rows: Rows, index: Index
) -> Sequence[SemanticCandidate]:
    """Return the nearest by vector, or else those that share most words."""
    if vector is not None:
        near = index.nearest(vector, limit=_LIMIT, above=_COSINE, exclude=row.id)
        if near:
            return _candidates(rows, {found.id: found.score for found in near}, linked=True)
    own = tokens(row.content)
    similar = index.overlapping(own, limit=_LIMIT, floor=_OVERLAP, exclude=row.id)
    return _candidates(rows, {found.id: found.score for found in similar}, linked=False)


def _candidates(
    rows: Rows, scores: dict[str, float], *, linked: bool
) -> Sequence[SemanticCandidate]:
    return [
        SemanticCandidate(
            row=row,
            similarity=scores[row.id],
            auto_linked=linked and scores[row.id] >= SEMANTIC_COSINE,
        )
        for row in rows.in_order(list(scores))
    ]


def causal(row: Row, rows: Rows) -> Sequence[CausalCandidate]:
    """Return up to ten insights within two edges."""
    own = causal_signal(row.content)
    found: list[CausalCandidate] = []
    for step in walk(rows, row.id, depth=_HOPS):
        found.append(
            CausalCandidate(
                row=step.row,
                hop=step.depth,
                via=step.via,
                signal=causal_signal(step.row.content) or own,
                sub_type=causal_sub_type(f"{row.content} {step.row.content}"),
            )
        )
        if len(found) == _NODES:
            break
    return found

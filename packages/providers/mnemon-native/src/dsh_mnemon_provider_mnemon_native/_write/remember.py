"""Writing one insight with everything that belongs to it (spec/mnemon-native.md §4)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Literal

import attrs

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction
from dsh_mnemon_provider_mnemon_native._write.decay import IMMUNE_ACCESSES, weigh
from dsh_mnemon_provider_mnemon_native._write.edges import (
    causal_edges,
    entity_edges,
    neighbours_of,
    semantic_edges,
    temporal_edges,
)
from dsh_mnemon_provider_mnemon_native._write.entities import resolve
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native._write.retention import Retention, prune
from dsh_mnemon_provider_mnemon_native._write.similarity import Suggestion, suggest

__all__ = ("EdgeCounts", "Remembered", "insert_insight", "remember", "repeat_of")


@attrs.frozen(kw_only=True)
class EdgeCounts:
    """How many edges were made; each direction counts."""

    temporal: int = 0
    entity: int = 0
    causal: int = 0
    semantic: int = 0


@attrs.frozen(kw_only=True)
class Remembered:
    """What became of a new insight.

    Attributes:
        id: The new id; of a skipped one the id it would have had.
        row: What was written; nothing for a skipped one.
        replaced_id: The insight a skipped one repeats; it stays as it is.
    """

    id: str
    content: str
    action: Literal["added", "skipped"]
    suggestion: Suggestion
    row: Row | None = None
    replaced_id: str | None = None
    edges: EdgeCounts = EdgeCounts()
    embedded: bool = False
    pruned: tuple[str, ...] = ()


def repeat_of(writing: Transaction, insight: NewInsight) -> str | None:
    """Return the active insight with byte-identical content.

    When the new one is an archived original, the stored one now is it, and must not be pruned.
    """
    same = writing.index.same_content(insight.content)
    if same is not None and insight.exact:
        row = writing.rows.require(same)
        if row.access_count < IMMUNE_ACCESSES:
            writing.retain(same, IMMUNE_ACCESSES, stamp(writing.now()))
    return same


def insert_insight(
    writing: Transaction,
    insight: NewInsight,
    id: str,
    now: datetime,
    *,
    created_at: str | None = None,
    vector: Sequence[float] | None = None,
) -> Row:
    """Write the row, its vector and its entities.

    An archived original starts with as many accesses as keep it from pruning, by the command line
    tool too.
    """
    time = stamp(now)
    event = time if created_at is None else created_at
    provided = frozenset(insight.entities)

    def known(words: Collection[str]) -> frozenset[str]:
        # What was provided counts as known, as if the row had been written already.
        return writing.index.known(words) | provided.intersection(words)

    entities = resolve(insight.content, insight.entities, insight.entity_mode, known)
    return writing.insert(
        Row(
            rowid=0,
            id=id,
            content=insight.content,
            category=insight.category,
            importance=insight.importance,
            tags=insight.tags,
            # A mode that finds nothing leaves the provided ones.
            entities=entities or insight.entities,
            source=insight.source,
            access_count=IMMUNE_ACCESSES if insight.exact else 0,
            created_at=event,
            updated_at=event if vector is None and not entities else time,
            stored_at=time,
        ),
        vector,
    )


def remember(
    writing: Transaction,
    insight: NewInsight,
    vector: Sequence[float] | None,
    retention: Retention,
    now: datetime,
) -> Remembered:
    """Write a checked insight, unless its content is there already."""
    id, time = writing.session.new_id(), stamp(now)
    content = insight.content
    if insight.diff and (same := repeat_of(writing, insight)) is not None:
        writing.log("diff-skip", id, f"duplicate of {same}")
        return Remembered(
            id=id, content=content, action="skipped", suggestion="DUPLICATE", replaced_id=same
        )
    advice: Suggestion = "ADD"
    if insight.diff:
        advice = suggest(content, vector, writing.rows, writing.index)
    row = insert_insight(writing, insight, id, now, vector=vector)
    newest = neighbours_of(writing, row)
    edges = EdgeCounts(
        temporal=temporal_edges(writing, row, newest[0][0] if newest else None, now),
        entity=entity_edges(writing, row, time),
        causal=causal_edges(writing, row, newest, time),
        semantic=0 if vector is None else semantic_edges(writing, row, vector, time),
    )
    weight = weigh(writing, row, now)
    pruned = tuple(prune(writing, retention, now, protect=id))
    writing.log("remember", id, content)
    return Remembered(
        id=id,
        content=content,
        action="added",
        suggestion=advice,
        row=attrs.evolve(row, effective_importance=weight),
        edges=edges,
        embedded=vector is not None,
        pruned=pruned,
    )

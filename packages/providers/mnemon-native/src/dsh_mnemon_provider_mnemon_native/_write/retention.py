"""Pruning over a limit, the list of weak insights, and keeping one (spec/mnemon-native.md §9)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction
from dsh_mnemon_provider_mnemon_native._write.decay import (
    IMMUNE_ACCESSES,
    IMMUNE_IMPORTANCE,
    days_since,
    is_immune,
    weigh,
)
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput

__all__ = ("Candidate", "Collection", "Kept", "Retention", "collect", "keep", "prune")

_AT_ONCE: Final = 10


@attrs.frozen(kw_only=True)
class Retention:
    """When insights are pruned: above ``max_insights`` active ones (0 = never), after a grace."""

    max_insights: int = 0
    grace: timedelta = timedelta(hours=24)


@attrs.frozen(kw_only=True)
class Candidate:
    """A weak insight, with what its weight was made of."""

    row: Row
    effective_importance: float
    days_since_access: float
    edge_count: int
    immune: bool


@attrs.frozen(kw_only=True)
class Collection:
    """The weakest insights, weakest first; nothing was deleted."""

    total_insights: int
    threshold: float
    candidates: tuple[Candidate, ...]


@attrs.frozen(kw_only=True)
class Kept:
    """An insight that was told to stay."""

    id: str
    content: str
    access_count: int
    effective_importance: float
    immune: bool


def prune(
    writing: Transaction, retention: Retention, now: datetime, *, protect: str | None = None
) -> Sequence[str]:
    """Forget the weakest insights over the limit, at most ten; return their ids.

    Insights of importance 4 and more, those accessed three times (archived originals among them)
    and young ones stay, as does ``protect``.
    """
    limit = retention.max_insights
    if limit <= 0:
        return []
    execute = writing.session.connection.execute
    (count,) = execute("SELECT count(*) FROM insights WHERE deleted_at IS NULL").fetchone()
    if count <= limit:
        return []
    oldest = stamp(now - retention.grace)
    found = execute(
        "SELECT id FROM insights WHERE deleted_at IS NULL AND importance < ? AND access_count < ?"
        " AND id <> ? AND coalesce(nullif(stored_at, ''), created_at) <= ?"
        " ORDER BY effective_importance, created_at, id LIMIT ?",
        (IMMUNE_IMPORTANCE, IMMUNE_ACCESSES, protect or "", oldest, min(count - limit, _AT_ONCE)),
    )
    pruned = [id for (id,) in found.fetchall()]
    hours = retention.grace.total_seconds() / 3600
    for id in pruned:
        writing.forget(id, stamp(now))
        detail = f"auto-prune: over capacity (active={count}, max={limit}, min_age={hours:g}h)"
        writing.log("prune", id, f"{detail} trigger={protect or 'import'}")
    return pruned


def collect(writing: Transaction, threshold: float, limit: int, now: datetime) -> Collection:
    """Weigh every active insight anew and return the weakest that may be pruned."""
    if threshold < 0:
        raise InvalidInput("threshold", "the threshold is 0 or more")
    if limit < 1:
        raise InvalidInput("limit", "the limit is at least 1")
    rows = list(writing.rows.select("WHERE deleted_at IS NULL"))
    weak = [
        Candidate(
            row=row,
            effective_importance=weight,
            days_since_access=days_since(row, now),
            edge_count=writing.rows.degree(row.id),
            immune=False,
        )
        for row in rows
        if (weight := weigh(writing, row, now)) < threshold
        and not is_immune(row.importance, row.access_count)
    ]
    weak.sort(key=lambda candidate: candidate.effective_importance)
    found = tuple(weak[:limit])
    detail = f"threshold={threshold:.2f} found={len(found)} total={len(rows)}"
    writing.log("gc", None, detail)
    return Collection(total_insights=len(rows), threshold=threshold, candidates=found)


def keep(writing: Transaction, id: str, now: datetime) -> Kept:
    """Count three accesses of an insight, which makes it immune."""
    row = writing.rows.require(id)
    accesses = row.access_count + IMMUNE_ACCESSES
    writing.retain(id, accesses, stamp(now))
    kept = attrs.evolve(row, access_count=accesses, last_accessed_at=stamp(now))
    weight = weigh(writing, kept, now)
    writing.log("gc_keep", id, row.content)
    return Kept(
        id=id,
        content=row.content,
        access_count=accesses,
        effective_importance=weight,
        immune=is_immune(row.importance, accesses),
    )

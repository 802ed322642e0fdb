"""Pruning over a limit (spec/mnemon-native.md §9)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction
from dsh_mnemon_provider_mnemon_native._write.decay import IMMUNE_ACCESSES, IMMUNE_IMPORTANCE

__all__ = ("Retention", "prune")

_AT_ONCE: Final = 10


@attrs.frozen(kw_only=True)
class Retention:
    """When insights are pruned: above ``max_insights`` active ones (0 = never), after a grace."""

    max_insights: int = 0
    grace: timedelta = timedelta(hours=24)


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
    found = writing.rows.select(
        "WHERE deleted_at IS NULL AND importance < ? AND access_count < ?"
        " AND id <> ? AND coalesce(nullif(stored_at, ''), created_at) <= ?"
        " ORDER BY effective_importance, created_at, id",
        (IMMUNE_IMPORTANCE, IMMUNE_ACCESSES, protect or "", oldest),
    )
    pruned = [row.id for row in islice(found, min(count - limit, _AT_ONCE))]
    hours = retention.grace.total_seconds() / 3600
    for id in pruned:
        writing.forget(id, stamp(now))
        detail = f"auto-prune: over capacity (active={count}, max={limit}, min_age={hours:g}h)"
        writing.log("prune", id, f"{detail} trigger={protect or 'import'}")
    return pruned

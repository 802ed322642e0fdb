"""How much an insight still weighs (spec/mnemon-native.md §9). Pure but for the count of edges."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

from dsh_mnemon_provider_mnemon_native._instants import instant
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction

__all__ = ("IMMUNE_ACCESSES", "IMMUNE_IMPORTANCE", "days_since", "effective_importance", "weigh")

_BASE: Final = {5: 1.0, 4: 0.8, 3: 0.5, 2: 0.3}
_LOWEST: Final = 0.15
_HALF_LIFE: Final = 30
_FURTHEST: Final = -100
"""Half-lives ahead from which on the future counts alike; a number has no room for all of them."""
_DAY: Final = 86_400

IMMUNE_IMPORTANCE: Final = 4
IMMUNE_ACCESSES: Final = 3
"""So many accesses keep an insight from ever being pruned."""


def days_since(row: Row, now: datetime) -> float:
    """Return the days since an insight was last accessed, else since it was made."""
    return (now.timestamp() - instant(row.last_accessed_at or row.created_at)) / _DAY


def effective_importance(importance: int, accesses: int, days: float, edges: int) -> float:
    """Return importance × use × age × connections; it halves every 30 days."""
    base = _BASE.get(importance, _LOWEST)
    use = max(1.0, math.log(1 + accesses))
    age = math.pow(0.5, max(days / _HALF_LIFE, _FURTHEST))
    return base * use * age * (1 + 0.1 * min(edges, 5))


def weigh(writing: Transaction, row: Row, now: datetime) -> float:
    """Compute and store an insight's effective importance, and return it."""
    days, edges = days_since(row, now), writing.rows.degree(row.id)
    weight = effective_importance(row.importance, row.access_count, days, edges)
    writing.weigh(row.id, weight)
    return weight

"""What a Provider's answer to a write proves (spec/sources.md §4.9, D21)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from dsh_mnemon_core.sdk import Completion

from dsh_mnemon_source_memory_spaces.provider_sdk.errors import (
    ProviderProtocol,
    ProviderServerError,
    ProviderTimeout,
    WriteOutcomeUnknown,
)

__all__ = ("UNPROVEN", "completion_of", "is_skipped")

UNPROVEN: Final = (WriteOutcomeUnknown, ProviderTimeout, ProviderServerError, ProviderProtocol)
"""Faults after which a write may have happened."""

_STATES: Final = ("action", "status", "state")
_COUNTERS: Final = (
    "created",
    "deleted",
    "edges_inserted",
    "imported",
    "removed",
    "stored",
    "updated",
)
_CANCELLED: Final = frozenset({"cancelled", "canceled"})
_FAILED: Final = frozenset({"error", "failed"})
_ACCEPTED: Final = frozenset({"accepted", "pending", "processing", "queued", "running"})
_TERMINAL: Final = frozenset(
    (
        "added", "committed", "completed", "created", "deleted", "forgotten", "imported",
        "invalidated", "linked", "merged", "removed", "replaced", "stored", "succeeded", "success",
        "updated",
    )
)  # fmt: skip


def _states(result: Mapping[str, Any]) -> frozenset[str]:
    named = (result.get(key) for key in _STATES)
    return frozenset(state.strip().lower() for state in named if isinstance(state, str))


def _positive(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and value > 0


def _has_errors(result: Mapping[str, Any]) -> bool:
    errors = result.get("errors")
    if isinstance(errors, (list, tuple)):
        return bool(cast("Sequence[object]", errors))
    return _positive(errors)


def is_skipped(result: object) -> bool:
    """Tell whether a Provider says that nothing was stored, as for a duplicate."""
    return isinstance(result, Mapping) and "skipped" in _states(cast("Mapping[str, Any]", result))


def completion_of(result: object) -> Completion:
    """Classify a Provider's result; the first rule that applies decides.

    An id, ``success: true`` or the absence of an error proves nothing.
    """
    if not isinstance(result, Mapping):
        return "unknown"
    fields = cast("Mapping[str, Any]", result)
    states, errors = _states(fields), _has_errors(fields)
    changed = any(_positive(fields.get(key)) for key in _COUNTERS)
    denied = fields.get("success") is False or fields.get("ok") is False
    claims = (fields.get("committed"), fields.get("durable"))
    claimed, disclaimed = (any(item is value for item in claims) for value in (True, False))
    rules: tuple[tuple[bool, Completion], ...] = (
        ("partial" in states or (errors and changed), "partial"),
        (bool(states & _CANCELLED), "cancelled"),
        (denied or errors or bool(states & _FAILED), "failed"),
        ("candidate" in states, "candidate"),
        (bool(states & _ACCEPTED), "accepted"),
        (disclaimed or "skipped" in states, "unknown"),
        (claimed or bool(states & _TERMINAL) or changed, "committed"),
    )
    for applies, completion in rules:
        if applies:
            return completion
    return "unknown"

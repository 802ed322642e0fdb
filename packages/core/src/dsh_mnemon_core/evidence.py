"""Evidence and Receipt: what a read found and how far a change got (spec/core.md §4.9)."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import attrs

from dsh_mnemon_core.values import FrozenDict

__all__ = (
    "Completion",
    "Evidence",
    "EvidenceItem",
    "Receipt",
    "Status",
)

Status: TypeAlias = Literal["succeeded", "partial", "failed", "cancelled"]
"""Outcome of a change."""

Completion: TypeAlias = Literal[
    "accepted", "candidate", "committed", "partial", "failed", "cancelled", "unknown"
]
"""How durable the change is known to be; only ``committed`` is proof."""


@attrs.frozen(kw_only=True)
class EvidenceItem:
    """One thing found.

    Attributes:
        id: Text(500).
        text: The content, characters; admitted whole or not at all.
        provenance: JSON owned by the Source that says where it comes from.
        score: Finite number; absent when the Source has none.
        revision: Revision of the item, when it has one.
        extra: Further JSON fields, kept as they are.
    """

    id: str
    text: str
    provenance: Any = attrs.field(factory=FrozenDict)
    score: float | None = None
    revision: str | None = None
    extra: Any = attrs.field(factory=FrozenDict)


@attrs.frozen(kw_only=True)
class Evidence:
    """What one read found, bound to its View, route and Source.

    Attributes:
        id: Text(500).
        view_id: View the route belongs to.
        route_id: View route id.
        source_instance_key: The Source that answered.
        observed_at: ISO-8601 UTC with milliseconds; Core fills in now when blank.
        items: What was found, best first.
        truncated: Whether anything was left out.
        consistency: What the grant pinned; stamped by Core (D23).
        unavailable: Text(2000) about parts that could not be read.
        metadata: JSON owned by the Source.
        output: Compact JSON for the model, owned by the Strategy's turn policy.
        extra: Further JSON fields, kept as they are.
    """

    id: str
    view_id: str
    route_id: str
    source_instance_key: str
    observed_at: str = ""
    items: tuple[EvidenceItem, ...] = ()
    truncated: bool = False
    consistency: str | None = None
    unavailable: str | None = None
    metadata: Any = None
    output: Any = None
    extra: Any = attrs.field(factory=FrozenDict)


@attrs.frozen(kw_only=True)
class Receipt:
    """What became of one change, bound to its View, offer and Source.

    Attributes:
        id: Text(500).
        view_id: View the offer belongs to.
        offer_id: View action id.
        source_instance_key: The Source that acted.
        status: Outcome.
        completion: Known durability.
        committed_at: ISO-8601 UTC; present exactly when ``completion`` is ``committed``.
        revision: Revision after the change, when known.
        details: JSON owned by the Source.
    """

    id: str
    view_id: str
    offer_id: str
    source_instance_key: str
    status: Status
    completion: Completion
    committed_at: str | None = None
    revision: str | None = None
    details: Any = None

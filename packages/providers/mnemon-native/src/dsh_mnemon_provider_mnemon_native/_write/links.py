"""Joining two insights by hand, and forgetting one (spec/mnemon-native.md §5.6, §8)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderNotFound

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._records import EDGE_TYPES
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction, compact
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput, SelfLink

__all__ = ("Link", "check_edge_type", "check_ends", "forget", "link")


@attrs.frozen(kw_only=True)
class Link:
    """An edge that was written, with the metadata it got."""

    source_id: str
    target_id: str
    type: str
    weight: float
    metadata: Mapping[str, str]


def check_edge_type(type: str) -> None:
    """Refuse a type of edge there is not."""
    if type not in EDGE_TYPES:
        raise InvalidInput("type", f"an edge is one of {', '.join(EDGE_TYPES)}")


def check_ends(source: str, target: str) -> None:
    """Refuse to join an insight to itself; the engine allows it, as the command line tool does."""
    if source == target:
        raise SelfLink("target_id", "a memory is not linked to itself; name two different ones")


def link(
    writing: Transaction,
    source: str,
    target: str,
    *,
    type: str,
    weight: float,
    metadata: Mapping[str, str],
    now: datetime,
) -> Link:
    """Join two active insights, in both directions; ``supersedes`` goes one way only.

    Raises:
        InvalidInput: Type or weight (0..1) do not fit, or an insight would supersede itself.
        ProviderNotFound: One of them is unknown or forgotten.
    """
    check_edge_type(type)
    if not 0 <= weight <= 1:
        raise InvalidInput("weight", f"the weight is 0 to 1, not {weight:.2f}")
    writing.rows.require(source, "source insight")
    writing.rows.require(target, "target insight")
    if type == "supersedes" and source == target:
        raise InvalidInput("target_id", "an insight cannot supersede itself")
    # The mark of hand-made edges is the command line tool's.
    marked = {**metadata, "created_by": "claude"}
    writing.edge(source, target, type, weight, compact(marked), stamp(now))
    if type != "supersedes":
        writing.edge(target, source, type, weight, compact(marked), stamp(now))
    writing.log("link", source, f"{source[:8]}→{target[:8]} type={type} weight={weight:.2f}")
    return Link(source_id=source, target_id=target, type=type, weight=weight, metadata=marked)


def forget(writing: Transaction, id: str, now: datetime) -> None:
    """Forget an insight: the row stays in the file, marked, and its edges go.

    Raises:
        ProviderNotFound: It is unknown or forgotten already.
    """
    if not writing.forget(id, stamp(now)):
        raise ProviderNotFound(f"there is no insight {id} to forget", details={"id": id})
    writing.log("forget", id, "")

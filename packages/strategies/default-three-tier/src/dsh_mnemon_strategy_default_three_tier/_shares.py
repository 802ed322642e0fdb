"""How the projection budget is divided, in whole characters (spec/core.md §15.1–15.2, D35)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from dsh_mnemon_core.allotment import share_out
from dsh_mnemon_core.source import AvailableSource

from dsh_mnemon_strategy_default_three_tier._roles import ROLES, projects

__all__ = ("tier_shares", "weighted_shares")

_WEIGHTS: Final[Mapping[str, int]] = dict(zip(ROLES, (90, 5, 5), strict=True))


def tier_shares(chosen: Sequence[AvailableSource], budget: int) -> Mapping[str, int]:
    """Give the working context nine tenths and the two routed tiers halves of the rest.

    Args:
        chosen: At most one Source a role.
        budget: Characters of the whole projection, at least 1.

    Returns:
        Characters by instance key, summing to at most ``budget``; 0 asks for no projection.
    """
    tiers = {source.role: source for source in chosen}
    working, narrative, durable = (role in tiers and projects(tiers[role]) for role in ROLES)
    hot = max(1, budget * 9 // 10) if working else 0
    rest = budget - hot
    # A selected third tier keeps its half even when it cannot project.
    part = max(1, rest // 2) if ROLES[2] in tiers else rest
    covers = part if narrative and rest else 0
    shares = (hot, covers, rest - covers if durable else 0)
    return {
        tiers[role].source_instance_key: share
        for role, share in zip(ROLES, shares, strict=True)
        if role in tiers
    }


def weighted_shares(chosen: Sequence[AvailableSource], budget: int) -> Mapping[str, int]:
    """Weigh the roles 90 : 5 : 5, divided among the projecting Sources of each role.

    Args:
        chosen: Sources in order of priority; roles may repeat.
        budget: Characters of the whole projection, at least 1.

    Returns:
        Characters by instance key of the projecting Sources, summing to ``budget`` when there are
        any; 0 asks for no projection.
    """
    projecting = [source for source in chosen if projects(source)]
    peers = Counter(source.role for source in projecting)
    weights = [Fraction(_WEIGHTS[source.role], peers[source.role]) for source in projecting]
    keys = (source.source_instance_key for source in projecting)
    return dict(zip(keys, share_out(budget, weights), strict=True))

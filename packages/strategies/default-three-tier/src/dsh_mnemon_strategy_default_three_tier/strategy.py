"""The Layered Strategy: hot memory in context, documents and long-term evidence on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import attrs
from dsh_mnemon_core.allotment import deal
from dsh_mnemon_core.scope import ViewBudget, ViewRequest
from dsh_mnemon_core.slots import SlotValues, capture_guidance, memory_view_extension_values
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import (
    STANDARD_SLOTS,
    ExtensionContribution,
    ProjectionSpec,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    StrategyNote,
    StrategyTurn,
    ViewSpec,
)
from dsh_mnemon_core.view import Guidance, ProjectionMode, View

from dsh_mnemon_strategy_default_three_tier._config import LayeredConfig
from dsh_mnemon_strategy_default_three_tier._guidance import guidance_by_role, guidance_by_selection
from dsh_mnemon_strategy_default_three_tier._roles import ROLES, by_role, by_selection
from dsh_mnemon_strategy_default_three_tier._shares import tier_shares, weighted_shares
from dsh_mnemon_strategy_default_three_tier.workflow import TYPE_ID, action_workflow

__all__ = ("MANIFEST", "PACKAGE_NAME", "compose", "layered_strategy")

PACKAGE_NAME: Final = "dsh-mnemon-strategy-default-three-tier"
"""Distribution name of this package."""

MANIFEST: Final = StrategyManifest(
    type_id=TYPE_ID,
    package_name=PACKAGE_NAME,
    deterministic=True,
    supported_source_roles=ROLES,
    max_sources=32,
    max_routes=32,
    max_actions=32,
    extension_slots=STANDARD_SLOTS,
)
"""What Layered declares (spec/core.md §15)."""

# Reading a document whole is D56; it is a route of its own beside the search slot.
_ROUTES: Final = ("inspect", "search", "read", "recall", "related")


def _offer(
    chosen: Sequence[AvailableSource],
    shares: Mapping[str, int],
    slots: SlotValues,
    budget: ViewBudget,
) -> tuple[tuple[SourceSelection, ...], tuple[StrategyNote, ...] | None]:
    """Turn Sources and shares into optional selections whose operations fit the budget (D7, D22).

    Every Source is optional, so that one failing store does not take the healthy ones with it.
    """
    selection = slots.get("selection")
    routes = [[name for name in source.route_ids if name in _ROUTES] for source in chosen]
    actions = [
        source.action_ids
        if selection is None or selection.writable(source.source_instance_key)
        else ()
        for source in chosen
    ]
    dealt_routes = deal(routes, min(MANIFEST.max_routes, budget.max_routes))
    dealt_actions = deal(actions, min(MANIFEST.max_actions, budget.max_actions))
    offered, dealt = _count(routes, actions), _count(dealt_routes, dealt_actions)
    selections = tuple(
        SourceSelection(
            source_instance_key=source.source_instance_key,
            required=False,
            projection=_projection(source, shares),
            route_ids=route_ids,
            action_ids=action_ids,
        )
        for source, route_ids, action_ids in zip(chosen, dealt_routes, dealt_actions, strict=True)
    )
    if dealt == offered:
        return selections, None
    message = f"{dealt} of {offered} offered routes and actions fit the budget of this View."
    return selections, (StrategyNote(code="operations-trimmed", message=message),)


def _count(*kinds: Sequence[Sequence[str]]) -> int:
    return sum(len(hand) for hands in kinds for hand in hands)


def _projection(source: AvailableSource, shares: Mapping[str, int]) -> ProjectionSpec | None:
    share = shares.get(source.source_instance_key, 0)
    mode: ProjectionMode = "eager" if source.role == ROLES[0] else "routed"
    return ProjectionSpec(mode=mode, max_characters=share) if share else None


def compose(
    request: ViewRequest,
    sources: Sequence[AvailableSource],
    contributions: Sequence[ExtensionContribution] = (),
) -> ViewSpec:
    """Propose how the available Sources take part; a pure function.

    Args:
        request: Scope, scenario and budget.
        sources: All installed Sources after Host permissions; their order decides nothing.
        contributions: Values of the active extensions, at most one a standard slot.

    Returns:
        Without a selection one Source a role, in the order working context, narrative, durable
        evidence; with one, the selected Sources in its order.

    Raises:
        ViewRejected: ``layered-ambiguous-role``, ``selection-source-not-installed`` or
            ``selection-role-unsupported``.
        ContractError: A slot value is wrong (spec/core.md §14).

    Source: spec/core.md §15.1, §15.2.
    """
    slots = memory_view_extension_values(contributions)
    characters = request.budget.max_projection_characters
    if "projection" in slots:
        characters = min(characters, slots["projection"].max_projection_characters)
    if "selection" in slots:
        chosen = by_selection(sources, slots["selection"])
        shares = weighted_shares(chosen, characters)
        guidance = guidance_by_selection(chosen, slots["selection"])
    else:
        chosen = by_role(sources)
        shares = tier_shares(chosen, characters)
        guidance = guidance_by_role(chosen)
    selections, notes = _offer(chosen, shares, slots, request.budget)
    if "capture" in slots:
        block = capture_guidance(slots["capture"], selections, chosen)
        guidance = attrs.evolve(guidance, system=block)
    return ViewSpec(
        strategy_type_id=TYPE_ID,
        sources=selections,
        explanation=_explain(chosen, sources),
        guidance=None if guidance == Guidance() else guidance,
        diagnostics=notes,
    )


def _explain(chosen: Sequence[AvailableSource], sources: Sequence[AvailableSource]) -> str:
    tiers = ", ".join(f"{role} {sum(item.role == role for item in chosen)}" for role in ROLES)
    return f"Layered uses {len(chosen)} of {len(sources)} installed Sources ({tiers})."


def _turn(view: View) -> StrategyTurn:
    # Imported here: most commands end without a turn that reads.
    from dsh_mnemon_strategy_default_three_tier._turn import LayeredTurn

    return LayeredTurn(view)


def layered_strategy(config: LayeredConfig | None = None) -> StrategyDefinition:
    """Return the definition of the Layered Strategy.

    Args:
        config: Accepted for symmetry with other Strategies; there is nothing to set.
    """
    del config
    return StrategyDefinition(
        manifest=MANIFEST,
        compose=compose,
        create_turn=_turn,
        action_workflow=partial(action_workflow, TYPE_ID),
    )

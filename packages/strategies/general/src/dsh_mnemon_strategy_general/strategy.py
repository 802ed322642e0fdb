"""The General Strategy: every available Source, one budget, and the model decides."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Final

from dsh_mnemon_core.allotment import deal, share_out
from dsh_mnemon_core.scope import ViewBudget, ViewRequest
from dsh_mnemon_core.slots import SlotValues, capture_guidance, memory_view_extension_values
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import (
    ANY,
    STANDARD_SLOTS,
    ExtensionContribution,
    ProjectionSpec,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    ViewSpec,
)
from dsh_mnemon_core.view import Guidance, ProjectionMode

from dsh_mnemon_strategy_general._config import GeneralConfig
from dsh_mnemon_strategy_general._guidance import PROTOCOL, routing

__all__ = ("MANIFEST", "PACKAGE_NAME", "general_strategy")

PACKAGE_NAME: Final = "dsh-mnemon-strategy-general"
"""Distribution name of this package."""

MANIFEST: Final = StrategyManifest(
    type_id="general",
    package_name=PACKAGE_NAME,
    deterministic=True,
    supported_source_roles=(ANY,),
    max_sources=32,
    max_routes=64,
    max_actions=64,
    extension_slots=STANDARD_SLOTS,
)
"""What General declares (spec/core.md §16)."""

_RESIDENT_ROLE: Final = "working-context"
_RESIDENT_WEIGHT: Final = 9


def general_strategy(config: GeneralConfig | None = None) -> StrategyDefinition:
    """Return the definition of the General Strategy.

    Its ``compose`` is a pure function. Without a selection it admits every available Source,
    residents first, then by instance key; with one, the selected Sources in its order, and a key
    that is not installed or not available is skipped. All of them share one budget: characters by
    weight, routes and actions dealt in rounds, so that a proposal always fits. What is wrong with
    a slot value is raised as `ContractError` (spec/core.md §14).

    Args:
        config: Residents and an instruction of the person's own.

    Source: spec/core.md §16.
    """
    given = config or GeneralConfig()
    texts = [PROTOCOL, given.instruction] if given.instruction else [PROTOCOL]

    def compose(
        request: ViewRequest,
        sources: Sequence[AvailableSource],
        contributions: Sequence[ExtensionContribution],
    ) -> ViewSpec:
        slots = memory_view_extension_values(contributions)
        available = [source for source in sources if source.availability != "unavailable"]
        residents = _residents(available, given.resident_source_keys)
        chosen = _admitted(available, residents, slots)
        selections = _selections(chosen, residents, slots, request.budget)
        block = None
        if "capture" in slots:
            block = capture_guidance(slots["capture"], selections, chosen)
        return ViewSpec(
            strategy_type_id=MANIFEST.type_id,
            sources=selections,
            explanation=_explain(chosen, residents, len(sources)),
            guidance=Guidance(
                system="\n\n".join([*texts, block] if block else texts),
                routing=routing(chosen, selections, residents),
            ),
        )

    return StrategyDefinition(manifest=MANIFEST, compose=compose)


def _residents(
    available: Sequence[AvailableSource], configured: Sequence[str] | None
) -> frozenset[str]:
    """Name the Sources whose text stands in the context: the configured ones, or those by role."""
    if configured is not None:
        return frozenset(configured)
    hot = (source for source in available if source.role == _RESIDENT_ROLE)
    return frozenset(source.source_instance_key for source in hot)


def _admitted(
    available: Sequence[AvailableSource], residents: Collection[str], slots: SlotValues
) -> Sequence[AvailableSource]:
    if "selection" in slots:
        by_key = {source.source_instance_key: source for source in available}
        keys = slots["selection"].source_keys
        return [by_key[key] for key in keys if key in by_key]  # a slot names at most 32

    def rank(source: AvailableSource) -> tuple[bool, str]:
        return (source.source_instance_key not in residents, source.source_instance_key)

    return sorted(available, key=rank)[: MANIFEST.max_sources]


def _selections(
    chosen: Sequence[AvailableSource],
    residents: Collection[str],
    slots: SlotValues,
    budget: ViewBudget,
) -> tuple[SourceSelection, ...]:
    """Divide the budget; every Source is optional, so that one failing store takes no other."""
    selection = slots.get("selection")
    routes = [source.route_ids for source in chosen]
    actions = [
        source.action_ids
        if selection is None or selection.writable(source.source_instance_key)
        else ()
        for source in chosen
    ]
    dealt_routes = deal(routes, min(MANIFEST.max_routes, budget.max_routes))
    dealt_actions = deal(actions, min(MANIFEST.max_actions, budget.max_actions))
    projection = _projections(chosen, residents, slots, budget)
    return tuple(
        SourceSelection(
            source_instance_key=source.source_instance_key,
            required=False,
            projection=projection(source),
            route_ids=route_ids,
            action_ids=action_ids,
        )
        for source, route_ids, action_ids in zip(chosen, dealt_routes, dealt_actions, strict=True)
    )


def _projections(
    chosen: Sequence[AvailableSource],
    residents: Collection[str],
    slots: SlotValues,
    budget: ViewBudget,
) -> Callable[[AvailableSource], ProjectionSpec | None]:
    """Weigh residents nine to one among the Sources that can project."""
    characters = budget.max_projection_characters
    if "projection" in slots:
        characters = min(characters, slots["projection"].max_projection_characters)
    keys = [item.source_instance_key for item in chosen if "project" in item.capabilities]
    weights = [_RESIDENT_WEIGHT if key in residents else 1 for key in keys]
    shares = dict(zip(keys, share_out(characters, weights), strict=True))

    def projection(source: AvailableSource) -> ProjectionSpec | None:
        key = source.source_instance_key
        mode: ProjectionMode = "eager" if key in residents else "routed"
        share = shares.get(key, 0)
        return ProjectionSpec(mode=mode, max_characters=share) if share else None

    return projection


def _explain(chosen: Sequence[AvailableSource], residents: Collection[str], installed: int) -> str:
    hot = sum(source.source_instance_key in residents for source in chosen)
    return f"General admits {len(chosen)} of {installed} installed Sources, {hot} of them resident."

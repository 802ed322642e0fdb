"""From facts to an immutable View (spec/core.md §8, 1-10)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from dsh_mnemon_core._engine.facts import Known, read_facts
from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.projection import Projected, project_sources
from dsh_mnemon_core._engine.proposal import (
    Proposal,
    collect_contributions,
    propose,
    sorted_diagnostics,
)
from dsh_mnemon_core.checks import at_most, distinct
from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.scope import ViewBudget, ViewRequest
from dsh_mnemon_core.strategy import ExtensionContribution
from dsh_mnemon_core.values import FrozenDict, digest
from dsh_mnemon_core.view import (
    ActionOffer,
    ExtensionIdentity,
    SourcePresentation,
    View,
    ViewConsistency,
    ViewRoute,
)
from dsh_mnemon_core.wire import to_wire


async def compose(generation: Generation, request: ViewRequest) -> View:
    """Compose the View of one request; writes nothing and recalls nothing.

    Raises:
        ViewRejected: Malformed facts, proposal or contribution, or a budget exceeded.
        SourceReadFailure: A required Source could not project.
        LifecycleError: ``generation-disposed``.
    """
    generation.check_open()
    known = await read_facts(generation, request.scope, request.scenario)
    contributions = collect_contributions(generation, request, known)
    proposal = propose(generation, request, known, contributions)
    projected = await project_sources(generation, request.scope, proposal.chosen)
    view = _assemble(generation, request, known, contributions, proposal, projected)
    return _sealed(view)


def _assemble(
    generation: Generation,
    request: ViewRequest,
    known: Sequence[Known],
    contributions: Sequence[ExtensionContribution],
    proposal: Proposal,
    projected: Sequence[Projected],
) -> View:
    present = [item for item in projected if item.outage is None]
    fragments = tuple(f for item in present for f in item.contribution.fragments)
    at_most(
        sum(len(f.text) for f in fragments),
        request.budget.max_projection_characters,
        "characters projected",
        "projection-over-budget",
        kind=ViewRejected,
    )
    grants = tuple(g for item in present if (g := item.contribution.read_grant) is not None)
    distinct([g.id for g in grants], "the View", kind=ViewRejected, code="grant-duplicated")
    failed = [item.diagnostic for item in known] + [item.outage for item in projected]
    diagnostics = sorted_diagnostics([*failed, *proposal.diagnostics])
    strategy = generation.selection.strategy
    return View(
        id="",
        digest="",
        runtime_generation=generation.id,
        strategy_instance_key=strategy.instance_key,
        strategy_type_id=strategy.definition.manifest.type_id,
        strategy_extensions=_identities(contributions) or None,
        created_at=iso_utc(generation.options.now()),
        scope=request.scope,
        projection=fragments,
        source_presentations=_presentations(present) or None,
        routes=tuple(r for item in present for r in _routes(item, request.budget)),
        read_grants=grants,
        action_offers=tuple(o for item in present for o in _offers(item)),
        consistency=_consistency(known, present),
        explanation=proposal.explanation,
        guidance=proposal.guidance,
        diagnostics=diagnostics or None,
    )


def _sealed(view: View) -> View:
    body = to_wire(view)
    for key in ("id", "digest", "createdAt"):
        del body[key]
    seal = digest(body)
    return attrs.evolve(view, id=f"view:{seal}", digest=seal)


def _identities(
    contributions: Sequence[ExtensionContribution],
) -> tuple[ExtensionIdentity, ...]:
    return tuple(
        ExtensionIdentity(
            instance_key=item.instance_key,
            type_id=item.type_id,
            slot=item.slot,
            digest=digest(item.value),
        )
        for item in contributions
    )


def _presentations(present: Sequence[Projected]) -> tuple[SourcePresentation, ...]:
    return tuple(
        SourcePresentation(
            source_instance_key=item.chosen.known.live.key,
            mode=item.chosen.mode,
            visible_items=shown.visible_items,
            total_items=shown.total_items,
            items=shown.items,
        )
        for item in present
        if (shown := item.contribution.presentation) is not None
    )


def _routes(item: Projected, budget: ViewBudget) -> tuple[ViewRoute, ...]:
    key, grant = item.chosen.known.live.key, item.contribution.read_grant
    if grant is None:
        return ()
    return tuple(
        ViewRoute(
            id=f"{key}/{route.id}",
            source_instance_key=key,
            source_route_id=route.id,
            description=route.description,
            capability=route.capability,
            input_schema=route.input_schema,
            read_grant_id=grant.id,
            max_calls=route.max_calls,
            max_results=min(
                route.max_results or budget.max_evidence_results, budget.max_evidence_results
            ),
            max_characters=min(
                route.max_characters or budget.max_evidence_characters,
                budget.max_evidence_characters,
            ),
        )
        for route in item.chosen.routes
    )


def _offers(item: Projected) -> tuple[ActionOffer, ...]:
    key = item.chosen.known.live.key
    return tuple(
        ActionOffer(
            id=f"{key}/{action.id}",
            source_instance_key=key,
            source_action_id=action.id,
            description=action.description,
            capability=action.capability,
            input_schema=action.input_schema,
            authority=action.authority,
        )
        for action in item.chosen.actions
    )


def _consistency(known: Sequence[Known], present: Sequence[Projected]) -> ViewConsistency:
    """Name the consistency the Sources of the View share, and every installed revision (§4.8)."""
    modes = {item.chosen.known.live.manifest.consistency for item in present}
    revisions = {item.live.key: item.available.revision for item in known}
    return ViewConsistency(
        mode=modes.pop() if len(modes) == 1 else "mixed",
        source_revisions=FrozenDict(revisions),
    )

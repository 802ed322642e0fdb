"""Facts of all Sources, judged, and what Strategies may see of them (spec/core.md §8, 2-4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import attrs

from dsh_mnemon_core._engine.generation import Generation, LiveSource
from dsh_mnemon_core._engine.reading import read_each
from dsh_mnemon_core._foreign import judging
from dsh_mnemon_core.checks import one_of, same, subset, text
from dsh_mnemon_core.errors import ViewRejected
from dsh_mnemon_core.identity import read_capability
from dsh_mnemon_core.scope import Capability, OperationScope
from dsh_mnemon_core.source import Availability, AvailableSource, FactsRequest, SourceFacts
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.view import Diagnostic

UNAVAILABLE = "unavailable"
"""Availability and revision of a Source that could not be read."""


@attrs.frozen(kw_only=True)
class Known:
    """One Source of a composition: the running Source and what is known of it."""

    live: LiveSource
    available: AvailableSource
    diagnostic: Diagnostic | None


async def read_facts(
    generation: Generation,
    scope: OperationScope,
    scenario: str,
    *,
    ceilings: bool = True,
    only: str | None = None,
) -> tuple[Known, ...]:
    """Ask every Source for facts and derive what is available, in installation order.

    Args:
        generation: The generation asked.
        scope: Whose memory.
        scenario: Scenario passed to the Sources.
        ceilings: Whether Host capability ceilings apply; management has its own authorization.
        only: Instance key of the one Source to ask; all when absent.

    Raises:
        ViewRejected: Facts are malformed; that is never an outage.
    """

    async def read(live: LiveSource) -> SourceFacts:
        return await live.runtime.facts(
            FactsRequest(source_instance_key=live.key, scope=scope, scenario=scenario)
        )

    return await read_each(
        [live for live in generation.sources if only in (None, live.key)],
        key=lambda live: live.key,
        phase="facts",
        kind=SourceFacts,
        timeout_ms=generation.options.source_timeout_ms,
        read=read,
        judge=lambda live, answer: _known(live, answer, live.ceiling if ceilings else None),
    )


def _known(
    live: LiveSource, answer: SourceFacts | Diagnostic, ceiling: Sequence[Capability] | None
) -> Known:
    outage = answer if isinstance(answer, Diagnostic) else None
    facts = _silent(live) if isinstance(answer, Diagnostic) else check_facts(live, answer)
    return Known(live=live, available=_available(live, facts, ceiling), diagnostic=outage)


def _silent(live: LiveSource) -> SourceFacts:
    return SourceFacts(
        source_instance_key=live.key,
        source_type_id=live.manifest.type_id,
        role=live.manifest.role,
        availability="unavailable",
        revision=UNAVAILABLE,
    )


def check_facts(live: LiveSource, facts: SourceFacts) -> SourceFacts:
    """Judge facts against their manifest (§8 step 3) and return them normalized.

    Raises:
        ViewRejected: With one of the facts codes of §23, or of a value that is wrong.
    """
    with judging(ViewRejected, "facts-malformed", f"facts of {live.key}"):
        manifest = live.manifest
        same(facts.source_instance_key, live.key, "instance key", "facts-instance-mismatch")
        same(facts.source_type_id, manifest.type_id, "type id", "facts-type-mismatch")
        same(facts.role, manifest.role, "role", "facts-role-mismatch")
        one_of(
            facts.availability,
            get_args(Availability),
            "availability",
            "facts-availability-unsupported",
        )
        capabilities = tuple(read_capability(name) for name in facts.capabilities)
        subset(capabilities, manifest.capabilities, "capability", "facts-capability-expanded")
        subset(
            facts.route_ids,
            [item.id for item in manifest.routes],
            "route",
            "facts-route-undeclared",
        )
        subset(
            facts.action_ids,
            [item.id for item in manifest.actions],
            "action",
            "facts-action-undeclared",
        )
        return attrs.evolve(
            facts,
            revision=text(facts.revision, "facts revision", 500),
            capabilities=capabilities,
            hints=json_clone(facts.hints, "facts hints"),
        )


def _available(
    live: LiveSource, facts: SourceFacts, ceiling: Sequence[Capability] | None
) -> AvailableSource:
    """Apply the Host ceiling and intersect with the manifest (§4.5, §8 step 4)."""
    manifest = live.manifest
    permitted = manifest.capabilities if ceiling is None else ceiling
    capabilities: tuple[Capability, ...] = tuple(
        name for name in facts.capabilities if name in permitted
    )
    off = facts.availability == UNAVAILABLE or (ceiling is not None and not capabilities)
    usable = () if off else capabilities
    routes, actions = facts.route_ids, facts.action_ids
    return AvailableSource(
        source_instance_key=live.key,
        source_type_id=manifest.type_id,
        role=manifest.role,
        availability="unavailable" if off else facts.availability,
        revision=facts.revision,
        capabilities=capabilities,
        routes=tuple(r for r in manifest.routes if r.id in routes and r.capability in usable),
        actions=tuple(a for a in manifest.actions if a.id in actions and a.capability in usable),
        hints=facts.hints,
    )

"""Facts of all Sources, judged, and what Strategies may see of them (spec/core.md §8, 2-4)."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from dsh_mnemon_core._engine.generation import Generation, LiveSource
from dsh_mnemon_core._engine.reading import Outage, read_each
from dsh_mnemon_core.checks import distinct, text
from dsh_mnemon_core.errors import MnemonError, ViewRejected
from dsh_mnemon_core.identity import read_capability
from dsh_mnemon_core.scope import Capability, OperationScope
from dsh_mnemon_core.source import AvailableSource, FactsRequest, SourceFacts
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

    def check(live: LiveSource, result: SourceFacts | Outage) -> None:
        if not isinstance(result, Outage):
            check_facts(live, result)

    asked = [live for live in generation.sources if only in (None, live.key)]
    results = await read_each(
        asked,
        source=lambda live: live,
        phase="facts",
        timeout_ms=generation.options.source_timeout_ms,
        read=read,
        check=check,
    )
    return tuple(
        _known(live, result, ceilings=ceilings) for live, result in zip(asked, results, strict=True)
    )


def _known(live: LiveSource, result: SourceFacts | Outage, *, ceilings: bool) -> Known:
    if isinstance(result, Outage):
        return Known(live=live, available=_silent(live), diagnostic=result.diagnostic)
    return Known(live=live, available=_available(live, result, ceilings), diagnostic=None)


def _silent(live: LiveSource) -> AvailableSource:
    manifest = live.record.definition.manifest
    return AvailableSource(
        source_instance_key=live.key,
        source_type_id=manifest.type_id,
        role=manifest.role,
        availability="unavailable",
        revision=UNAVAILABLE,
    )


def check_facts(live: LiveSource, facts: SourceFacts) -> None:
    """Judge facts against their manifest (§8 step 3); arrays may be lists or tuples.

    Raises:
        ViewRejected: With one of the facts codes of §23.
    """
    manifest = live.record.definition.manifest
    _equal(facts.source_instance_key, live.key, "facts-instance-mismatch")
    _equal(facts.source_type_id, manifest.type_id, "facts-type-mismatch")
    _equal(facts.role, manifest.role, "facts-role-mismatch")
    if facts.availability not in ("ready", "degraded", UNAVAILABLE):
        raise ViewRejected("facts-availability-unsupported", f"{live.key}: unknown availability")
    try:
        for name in facts.capabilities:
            read_capability(name)
    except MnemonError as error:
        raise ViewRejected(error.code, f"{live.key}: {error.message}") from None
    _within(live, facts.capabilities, manifest.capabilities, "facts-capability-expanded")
    routes = [route.id for route in manifest.routes]
    _within(live, facts.route_ids, routes, "facts-route-undeclared")
    actions = [action.id for action in manifest.actions]
    _within(live, facts.action_ids, actions, "facts-action-undeclared")
    text(facts.revision, "facts revision", 500, kind=ViewRejected)


def _equal(given: object, expected: str, code: str) -> None:
    if given != expected:
        raise ViewRejected(code, f"facts of {expected} say {given!r}")


def _within(live: LiveSource, given: Sequence[str], declared: Sequence[str], code: str) -> None:
    distinct(given, f"facts of {live.key}", kind=ViewRejected)
    for name in given:
        if name not in declared:
            raise ViewRejected(code, f"{live.key} offers {name!r}, which its manifest lacks")


def _available(live: LiveSource, facts: SourceFacts, ceilings: bool) -> AvailableSource:
    """Apply the Host ceiling and intersect with the manifest (§4.5, §8 step 4)."""
    manifest = live.record.definition.manifest
    ceiling = live.ceiling if ceilings else None
    permitted = manifest.capabilities if ceiling is None else ceiling
    capabilities: tuple[Capability, ...] = tuple(c for c in facts.capabilities if c in permitted)
    off = facts.availability == UNAVAILABLE or (ceiling is not None and not capabilities)

    def offered(capability: str) -> bool:
        return not off and capability in capabilities

    return AvailableSource(
        source_instance_key=live.key,
        source_type_id=manifest.type_id,
        role=manifest.role,
        availability="unavailable" if off else facts.availability,
        revision=facts.revision.strip(),
        capabilities=capabilities,
        routes=tuple(
            r for r in manifest.routes if r.id in facts.route_ids and offered(r.capability)
        ),
        actions=tuple(
            a for a in manifest.actions if a.id in facts.action_ids and offered(a.capability)
        ),
        hints=None if facts.hints is None else json_clone(facts.hints, "facts hints"),
    )

"""Executing routes and actions of a View (spec/core.md §9, §10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, TypeAlias

import attrs
from anyio.lowlevel import checkpoint_if_cancelled

from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.outcome import admit_evidence, check_receipt
from dsh_mnemon_core._engine.schema import check_input
from dsh_mnemon_core._foreign import asking, calling
from dsh_mnemon_core.checks import integer, same
from dsh_mnemon_core.errors import (
    AuthorityError,
    BudgetExhausted,
    ContractError,
    LifecycleError,
    SourceFault,
)
from dsh_mnemon_core.evidence import Evidence, Receipt
from dsh_mnemon_core.scope import ViewBudget
from dsh_mnemon_core.source import MutateRequest, Mutates, Queries, QueryRequest
from dsh_mnemon_core.strategy import ReadLimits, StrategyTurn
from dsh_mnemon_core.view import ActionOffer, ReadGrant, View, ViewRoute

Authorize: TypeAlias = Callable[[ActionOffer], Awaitable[bool]]
"""Decides at call time whether an offered action may run."""

DEFAULT_BUDGET: Final = ViewBudget()
"""The budget that the product always executes with (§4.2)."""


@attrs.frozen(kw_only=True, eq=False)
class _Read:
    """Everything one route call needs."""

    generation: Generation
    view: View
    route: ViewRoute
    grant: ReadGrant
    runtime: Queries
    execution: object


async def execute_route(
    generation: Generation,
    view: View,
    route_id: str,
    input: Any,
    *,
    execution: object,
    budget: ViewBudget = DEFAULT_BUDGET,
) -> Evidence:
    """Execute one offered route of a View.

    Args:
        generation: The generation that composed the View.
        view: The pinned View.
        route_id: View route id.
        input: JSON input for the route's schema.
        execution: Identity of the executing turn; owns call counts and the turn policy.
        budget: Ceilings that narrow the route's further.

    Raises:
        LifecycleError: ``generation-disposed``, ``generation-mismatch``.
        AuthorityError: ``route-unavailable``, ``route-grant-missing``.
        InputError: ``input-invalid``.
        BudgetExhausted: ``route-calls-exhausted``.
        EvidenceInvalid: The answer is malformed.
        SourceFault: The Source raised something foreign.
    """
    _check_view(generation, view)
    offered = next((item for item in view.routes if item.id == route_id), None)
    if offered is None:
        raise AuthorityError("route-unavailable", f"this View does not offer route {route_id!r}")
    route = _bounded(offered, budget.max_evidence_results, budget.max_evidence_characters)
    grant = _grant(view, route.source_instance_key, route.read_grant_id)
    if grant is None:
        raise AuthorityError("route-grant-missing", f"this View has no grant for {route_id}")
    frozen = check_input(route.input_schema, input, route_id)
    await checkpoint_if_cancelled()
    runtime = _runtime(generation, route.source_instance_key)
    if not isinstance(runtime, Queries):
        raise ContractError("source-cannot-query", f"the Source of {route_id} answers no routes")
    read = _Read(
        generation=generation,
        view=view,
        route=route,
        grant=grant,
        runtime=runtime,
        execution=execution,
    )
    policy = _policy(read)
    if policy is None:
        return await _dispatch(read, frozen, None)
    evidence = await _through(policy, read, frozen)
    await checkpoint_if_cancelled()
    return admit_evidence(evidence, view, route, grant.consistency, generation.options.now())


async def execute_action(
    generation: Generation, view: View, offer_id: str, input: Any, *, authorize: Authorize
) -> Receipt:
    """Execute one offered action of a View, once, if it is authorized now.

    Raises:
        LifecycleError: ``generation-disposed``, ``generation-mismatch``.
        AuthorityError: ``action-unavailable``, ``action-unauthorized``.
        InputError: ``input-invalid``; checked before anybody is asked for authority.
        ReceiptInvalid: The answer is malformed.
        SourceFault: The Source raised something foreign; whether it wrote is unknown.
    """
    _check_view(generation, view)
    offer = next((item for item in view.action_offers if item.id == offer_id), None)
    if offer is None:
        raise AuthorityError("action-unavailable", f"this View does not offer action {offer_id!r}")
    frozen = check_input(offer.input_schema, input, offer_id)
    if await authorize(offer) is not True:
        raise AuthorityError("action-unauthorized", f"{offer_id} is not authorized")
    runtime = _runtime(generation, offer.source_instance_key)
    if not isinstance(runtime, Mutates):
        raise ContractError("source-cannot-mutate", f"the Source of {offer_id} changes nothing")
    await checkpoint_if_cancelled()
    request = MutateRequest(
        view=view.reference(),
        offer=offer,
        grant=_grant(view, offer.source_instance_key, None),
        input=frozen,
    )
    receipt = await asking(
        SourceFault, "source-mutate-raised", f"{offer_id} failed", partial(runtime.mutate, request)
    )
    return check_receipt(receipt, view, offer)


def _check_view(generation: Generation, view: View) -> None:
    generation.check_open()
    same(
        view.runtime_generation,
        generation.id,
        "generation of the View",
        "generation-mismatch",
        kind=LifecycleError,
    )


def _grant(view: View, source_key: str, grant_id: str | None) -> ReadGrant | None:
    """Return a Source's own grant; with ``grant_id`` only that one."""
    for grant in view.read_grants:
        if grant.source_instance_key == source_key and grant_id in (None, grant.id):
            return grant
    return None


def _runtime(generation: Generation, key: str) -> object:
    source = generation.source(key)
    return source.runtime if source else None


def _bounded(route: ViewRoute, results: int, characters: int) -> ViewRoute:
    return attrs.evolve(
        route,
        max_results=min(route.max_results, results),
        max_characters=min(route.max_characters, characters),
    )


def _narrowed(route: ViewRoute, limits: ReadLimits | None) -> ViewRoute:
    if limits is None:
        return route
    results = integer(limits.max_results, "maxResults", 1, 10_000, fallback=route.max_results)
    characters = integer(
        limits.max_characters, "maxCharacters", 1, 10_000_000, fallback=route.max_characters
    )
    return _bounded(route, results, characters)


def _policy(read: _Read) -> StrategyTurn | None:
    """Return the turn policy, made lazily, once per executing turn and View."""
    create = read.generation.selection.strategy.definition.create_turn
    if create is None:
        return None
    policies = read.generation.ledger(read.execution).policies
    if read.view.id not in policies:
        with calling(ContractError, "turn-policy-raised", "the turn policy failed to start"):
            policy = create(read.view)
        if not callable(getattr(policy, "query", None)):
            raise ContractError("turn-policy-invalid", "the turn policy has no query")
        policies[read.view.id] = policy
    return policies[read.view.id]


async def _through(policy: StrategyTurn, read: _Read, frozen: Any) -> Evidence:
    """Let the policy answer, with a continuation that dies with this call."""
    active = True

    async def continuation(input: Any, limits: ReadLimits | None = None) -> Evidence:
        if not active:
            raise LifecycleError("continuation-inactive", "this read continuation has ended")
        read.generation.check_open()
        await checkpoint_if_cancelled()
        checked = check_input(read.route.input_schema, input, read.route.id)
        return await _dispatch(read, checked, limits)

    try:
        ask = partial(policy.query, read.route, read.grant, frozen, continuation)
        return await asking(ContractError, "turn-policy-raised", "the turn policy failed", ask)
    finally:
        active = False


async def _dispatch(read: _Read, frozen: Any, limits: ReadLimits | None) -> Evidence:
    """Count one read and send it to the Source; a failed read stays counted (§9.2)."""
    route = _narrowed(read.route, limits)
    calls = read.generation.ledger(read.execution).calls
    key = (read.view.id, route.id)
    if calls.get(key, 0) >= route.max_calls:
        raise BudgetExhausted(
            "route-calls-exhausted", f"{route.id} was read {route.max_calls} times in this turn"
        )
    calls[key] = calls.get(key, 0) + 1
    request = QueryRequest(view=read.view.reference(), route=route, grant=read.grant, input=frozen)
    evidence = await asking(
        SourceFault,
        "source-query-raised",
        f"{route.id} failed",
        partial(read.runtime.query, request),
    )
    return admit_evidence(
        evidence, read.view, route, read.grant.consistency, read.generation.options.now()
    )

"""Hypothesis strategies for what a main Strategy or an extension may meet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Final, TypeVar

import attrs
from dsh_mnemon_core.scope import CAPABILITIES, Capability, OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.source import ActionManifest, Availability, AvailableSource, RouteManifest
from dsh_mnemon_core.values import FrozenDict
from hypothesis import strategies as st

__all__ = ("PRODUCT_ROLES", "available_sources", "budgets", "requests")

PRODUCT_ROLES: Final = ("working-context", "narrative", "durable-evidence")
"""Roles of the default product, in its order."""

_TYPES: Final = {
    "working-context": "runtime",
    "narrative": "documents",
    "durable-evidence": "memory-spaces",
}
_ROUTES: Final = ("inspect", "search", "read", "recall", "related", "export-raw")
_ACTIONS: Final = ("mutate", "create", "manage", "remember", "link", "forget", "publish")
_AVAILABILITIES: Final[tuple[Availability, ...]] = ("ready", "ready", "degraded", "unavailable")
_SCHEMA: Final = FrozenDict({"type": "object"})

Item = TypeVar("Item")


def budgets() -> st.SearchStrategy[ViewBudget]:
    """Return budgets from the tightest to the default and beyond."""
    few = st.one_of(st.integers(1, 4), st.integers(1, 40))
    characters = st.one_of(st.integers(1, 200), st.just(65_536), st.integers(1, 10_000_000))
    return st.builds(
        ViewBudget, max_projection_characters=characters, max_routes=few, max_actions=few
    )


def requests() -> st.SearchStrategy[ViewRequest]:
    """Return requests with every storage layout, two scenarios and any budget."""
    scopes = st.builds(
        OperationScope,
        storage=st.sampled_from(("global", "workspace", "custom", "workspaces")),
        workspace_id=st.sampled_from((None, "/workspace")),
    )
    scenarios = st.sampled_from(("agent.root-turn", "plugin-test"))
    return st.builds(ViewRequest, scope=scopes, scenario=scenarios, budget=budgets())


@st.composite
def available_sources(
    draw: st.DrawFn, roles: Sequence[str] = PRODUCT_ROLES, *, repeats: bool = True
) -> list[AvailableSource]:
    """Draw up to eight Sources of these roles and of a foreign one, in any order.

    Args:
        draw: Supplied by hypothesis.
        roles: Roles to draw from.
        repeats: Whether several available Sources may have one role; unavailable ones always may.
    """
    wanted = draw(st.lists(st.sampled_from((*roles, "foreign-role")), max_size=8))
    sources: list[AvailableSource] = []
    taken: set[str] = set()
    for number, role in enumerate(wanted):
        source = draw(_source(number, role))
        if role in taken and not repeats and source.availability != "unavailable":
            source = _silenced(source)
        taken |= {role} if source.availability != "unavailable" else set()
        sources.append(source)
    return draw(st.permutations(sources))


@st.composite
def _source(draw: st.DrawFn, number: int, role: str) -> AvailableSource:
    capabilities = draw(_capabilities())
    type_id = _TYPES.get(role, "other")
    source = AvailableSource(
        source_instance_key=f"source:{type_id}-{number}",
        source_type_id=type_id,
        role=role,
        availability=draw(st.sampled_from(_AVAILABILITIES)),
        revision=f"r{number}",
        capabilities=capabilities,
        routes=tuple(
            RouteManifest(
                id=name,
                description=f"Reads {name}.",
                capability=capability,
                input_schema=_SCHEMA,
                max_calls=4,
            )
            for name, capability in zip(draw(_some(_ROUTES)), cycle(capabilities), strict=False)
        ),
        actions=tuple(
            ActionManifest(
                id=name,
                description=f"Does {name}.",
                capability=capability,
                input_schema=_SCHEMA,
            )
            for name, capability in zip(
                draw(_some(_ACTIONS)), cycle(reversed(capabilities)), strict=False
            )
        ),
        hints=draw(st.sampled_from((None, FrozenDict({"entries": 3})))),
    )
    return _silenced(source) if source.availability == "unavailable" else source


def _capabilities() -> st.SearchStrategy[tuple[Capability, ...]]:
    some: st.SearchStrategy[tuple[Capability, ...]] = _some(CAPABILITIES)
    return st.one_of(st.just(CAPABILITIES), some)


def _some(items: tuple[Item, ...]) -> st.SearchStrategy[tuple[Item, ...]]:
    """Draw some of the items, in their order; one number says which, since that is quick."""

    def chosen(bits: int) -> tuple[Item, ...]:
        return tuple(item for place, item in enumerate(items) if bits >> place & 1)

    return st.integers(0, 2 ** len(items) - 1).map(chosen)


def _silenced(source: AvailableSource) -> AvailableSource:
    """Return it as it looks when it is unavailable: it offers nothing (spec/core.md §8, 4)."""
    return attrs.evolve(
        source, availability="unavailable", capabilities=(), routes=(), actions=(), hints=None
    )

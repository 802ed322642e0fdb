"""The contract of main Strategies as a test class to subclass (spec/core.md §8, §14, §20)."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.slots import Capture, capture_guidance
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import (
    ANY,
    STANDARD_SLOTS,
    ExtensionContribution,
    StrategyDefinition,
    ViewSpec,
)
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.wire import from_wire, to_wire
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from dsh_mnemon_testing._judgement import judge
from dsh_mnemon_testing.arbitrary import PRODUCT_ROLES, available_sources, requests
from dsh_mnemon_testing.guard import Contract

__all__ = ("Sources", "StrategyContract", "contribution")

Sources: TypeAlias = list[AvailableSource]
"""What one composition is given."""

_CAPTURE_TITLE: Final = "MNEMON OPTIONAL AUTO CAPTURE"
_REQUEST: Final = ViewRequest(scope=OperationScope(storage="custom"))


def contribution(slot: str, value: Any) -> ExtensionContribution:
    """Return what an extension of ``slot`` with this value hands to a Strategy."""
    return ExtensionContribution(
        instance_key=f"strategy-extension:contract-{slot}",
        type_id=f"contract-{slot}",
        slot=slot,
        value=json_clone(value),
    )


class StrategyContract(Contract, contract=True):
    """Checks that a main Strategy keeps its promises; subclass it as ``class TestMyStrategy``.

    Factory: `make_strategy` (required). Adaptation: `source_sets`, `examples`.

    Flag, True unless set to False: `sorts_sources`.

    A Strategy may refuse a set of Sources with a `MnemonError`. It must refuse it every time, and
    it must propose something for enough of the drawn sets.
    """

    sorts_sources: ClassVar[bool] = True
    """Proposes the same whatever order Sources were installed in."""

    examples: ClassVar[int] = 60
    """Sets of Sources drawn by each test."""

    def make_strategy(self) -> StrategyDefinition:
        """Return the Strategy under test."""
        raise NotImplementedError(f"{type(self).__name__} needs make_strategy()")

    def source_sets(self) -> st.SearchStrategy[Sources]:
        """Return the sets of Sources to draw from.

        By default Sources of the roles the manifest supports, at most one available Source a role
        when they are named, any number of the product's roles for ``*``, and some of a foreign one.
        """
        roles = self.make_strategy().manifest.supported_source_roles
        if roles == (ANY,):
            return available_sources(PRODUCT_ROLES)
        return available_sources(roles, repeats=False)

    # -- the tests ---------------------------------------------------------------------------------

    def test_repeated_calls_agree(self) -> None:
        """The same request, Sources and contributions give the same proposal every time.

        If it fails: look for a clock, a random number, an id, a set that is iterated, or anything
        kept between calls. Core calls `compose` twice and rejects the View when the two differ.
        """

        def check(request: ViewRequest, sources: Sources, data: st.DataObject) -> None:
            given_too = self._contributions(data, sources)
            strategy = self.make_strategy()
            first = _outcome(strategy, request, sources, given_too)
            assert _outcome(strategy, request, sources, given_too) == first
            assert _outcome(self.make_strategy(), request, sources, given_too) == first

        self._draw(check)

    def test_source_order_decides_nothing(self) -> None:
        """Sources in another order give the same proposal.

        If it fails: sort the Sources by something of their own, such as role and instance key, or
        set ``sorts_sources = False`` if the order of installation is meant to count.
        """
        if not self.sorts_sources:
            pytest.skip(f"{type(self).__name__} says sorts_sources = False")

        def check(request: ViewRequest, sources: Sources, data: st.DataObject) -> None:
            strategy = self.make_strategy()
            shuffled = data.draw(st.permutations(sources))
            assert _outcome(strategy, request, shuffled) == _outcome(strategy, request, sources)

        self._draw(check)

    def test_unavailable_sources_are_not_selected(self) -> None:
        """A Source that is unavailable is left out, even as an optional one.

        If it fails: skip Sources whose ``availability`` is ``unavailable``; ``degraded`` ones are
        as good as ready.
        """

        def check(request: ViewRequest, sources: Sources, _: st.DataObject) -> None:
            spec = self._proposal(request, sources)
            away = {s.source_instance_key for s in sources if s.availability == "unavailable"}
            assert not away & {item.source_instance_key for item in spec.sources}

        self._draw(check)

    def test_sums_stay_within_the_budget(self) -> None:
        """All ceilings, routes and actions together fit the budget, and Core accepts the proposal.

        If it fails: divide ``request.budget`` among the selected Sources, in whole characters and
        rounding down, count routes and actions over all of them, and mind ``max_sources``,
        ``max_routes`` and ``max_actions`` of the manifest. Only what a Source offers may be chosen.
        """

        def check(request: ViewRequest, sources: Sources, _: st.DataObject) -> None:
            spec = self._proposal(request, sources)
            asked = [item.projection.max_characters for item in spec.sources if item.projection]
            assert sum(asked) <= request.budget.max_projection_characters
            judge(self.make_strategy(), spec, request, sources)

        self._draw(check)

    @pytest.mark.parametrize("slot", STANDARD_SLOTS)
    def test_standard_slots_are_accepted(self, slot: str) -> None:
        """Every standard slot the manifest declares does what it says, and is checked.

        If it fails: a ``selection`` bounds the Sources, a ``projection`` bounds the characters, a
        ``capture`` adds the block of `slots.capture_guidance` when there is a target and nothing
        when there is none. `slots.memory_view_extension_values` checks the values for you.
        """
        manifest = self.make_strategy().manifest
        if slot not in (manifest.extension_slots or ()):
            pytest.skip(f"{manifest.type_id} does not declare the slot {slot}")

        def check(request: ViewRequest, sources: Sources, data: st.DataObject) -> None:
            value = data.draw(self._values(slot, sources))
            spec = self._proposal(request, sources, [contribution(slot, value)])
            _check_slot(slot, value, spec, sources)
            judge(self.make_strategy(), spec, request, sources)

        self._draw(check)
        refused: tuple[Any, ...] = ({"unknownKey": 1}, [])
        for bad in refused:
            with pytest.raises(MnemonError):
                self.make_strategy().compose(_REQUEST, (), (contribution(slot, bad),))

    def test_inputs_are_left_alone(self) -> None:
        """Composing changes neither the Sources nor the contributions it was given.

        If it fails: use ``sorted`` instead of ``list.sort`` and build new values instead of
        changing those you were handed.
        """

        def check(request: ViewRequest, sources: Sources, data: st.DataObject) -> None:
            given_too = self._contributions(data, sources)
            before = to_wire([request, sources, given_too])
            _outcome(self.make_strategy(), request, sources, given_too)
            assert to_wire([request, sources, given_too]) == before

        self._draw(check)

    # -- what the tests build ----------------------------------------------------------------------

    def _draw(self, check: Any) -> None:
        bound = settings(
            max_examples=self.examples,
            deadline=None,
            database=None,
            suppress_health_check=(HealthCheck.too_slow,),
        )
        bound(given(requests(), self.source_sets(), st.data())(check))()

    def _proposal(
        self,
        request: ViewRequest,
        sources: Sources,
        contributions: Sequence[ExtensionContribution] = (),
    ) -> ViewSpec:
        """Compose, and put sets of Sources aside that the Strategy refuses."""
        try:
            return self.make_strategy().compose(request, sources, contributions)
        except MnemonError:
            reject()

    def _contributions(
        self, data: st.DataObject, sources: Sequence[AvailableSource]
    ) -> list[ExtensionContribution]:
        declared = self.make_strategy().manifest.extension_slots or ()
        slots = [slot for slot in STANDARD_SLOTS if slot in declared]
        if not slots:
            return []
        chosen = data.draw(st.lists(st.sampled_from(slots), unique=True))
        return [contribution(slot, data.draw(self._values(slot, sources))) for slot in chosen]

    def _values(
        self, slot: str, sources: Sequence[AvailableSource]
    ) -> st.SearchStrategy[dict[str, Any]]:
        if slot == "projection":
            limits = st.one_of(st.integers(1, 200), st.integers(1, 10_000_000))
            return st.fixed_dictionaries({"maxProjectionCharacters": limits})
        roles = self.make_strategy().manifest.supported_source_roles
        keys = [s.source_instance_key for s in sources if roles == (ANY,) or s.role in roles]
        some = st.lists(st.sampled_from(keys), unique=True) if keys else st.just(list[str]())
        if slot == "selection":
            return some.flatmap(_selection)
        ids = st.lists(st.sampled_from(("remember", "mutate", "create")), min_size=1, unique=True)
        return st.fixed_dictionaries(
            {"instruction": st.just("Capture what lasts."), "actionIds": ids},
            optional={"sourceKeys": some},
        )


def _selection(keys: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    writable = st.lists(st.sampled_from(keys), unique=True) if keys else st.just(list[str]())
    return st.fixed_dictionaries(
        {"sourceKeys": st.just(keys)}, optional={"writableSourceKeys": writable}
    )


def _outcome(
    strategy: StrategyDefinition,
    request: ViewRequest,
    sources: Sequence[AvailableSource],
    contributions: Sequence[ExtensionContribution] = (),
) -> Any:
    """Compose; a refusal is an outcome too."""
    try:
        return to_wire(strategy.compose(request, sources, contributions))
    except MnemonError as error:
        return error.code


def _check_slot(
    slot: str, value: Mapping[str, Any], spec: ViewSpec, sources: Sequence[AvailableSource]
) -> None:
    if slot == "selection":
        _check_selection(value, spec)
    elif slot == "projection":
        asked = [item.projection.max_characters for item in spec.sources if item.projection]
        assert sum(asked) <= value["maxProjectionCharacters"], "projects more than the slot says"
    else:
        block = capture_guidance(from_wire(Capture, value), spec.sources, sources)
        system = (spec.guidance and spec.guidance.system) or ""
        assert (block or "") in system, "the block of capture_guidance is missing"
        assert (block is not None) == (_CAPTURE_TITLE in system), "captures without a target"


def _check_selection(value: Mapping[str, Any], spec: ViewSpec) -> None:
    writable = value.get("writableSourceKeys", value["sourceKeys"])
    for item in spec.sources:
        key = item.source_instance_key
        assert key in value["sourceKeys"], f"selects {key}, which the slot leaves out"
        assert key in writable or not item.action_ids, f"{key} is not writable, but offers actions"

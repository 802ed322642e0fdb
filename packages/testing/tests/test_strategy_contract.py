"""The Strategy contract passes for good Strategies, and each of its tests is able to fail."""

import textwrap

import pytest
from dsh_mnemon_testing import StrategyContract

pytestmark = pytest.mark.requirement("testing:strategy-contract")

GOOD = """
import itertools

import attrs
from dsh_mnemon_core.allotment import *
from dsh_mnemon_core.errors import *
from dsh_mnemon_core.sdk import *
from dsh_mnemon_core.slots import *
from dsh_mnemon_core.strategy import *
from dsh_mnemon_testing import *
from dsh_mnemon_testing.fakes import STRATEGY_MANIFEST

MANIFEST = from_wire(StrategyManifest, STRATEGY_MANIFEST)


def choose(sources, slots):
    chosen = [s for s in sources if s.availability != "unavailable"]
    selection = slots.get("selection")
    if selection is not None:
        chosen = [s for s in chosen if s.source_instance_key in selection.source_keys]
    return sorted(chosen, key=lambda s: s.source_instance_key)[: MANIFEST.max_sources]


def limit(request, slots):
    characters = request.budget.max_projection_characters
    if "projection" in slots:
        characters = min(characters, slots["projection"].max_projection_characters)
    return characters


def share(characters):
    return ProjectionSpec(mode="eager", max_characters=characters)


def select(source, characters, routes, actions):
    shown = characters and "project" in source.capabilities
    return SourceSelection(
        source_instance_key=source.source_instance_key,
        required=False,
        projection=share(characters) if shown else None,
        route_ids=tuple(routes),
        action_ids=tuple(actions),
    )


def compose(request, sources, contributions=()):
    slots = memory_view_extension_values(contributions)
    chosen = choose(sources, slots)
    writable = [
        s.action_ids
        if "selection" not in slots or slots["selection"].writable(s.source_instance_key)
        else ()
        for s in chosen
    ]
    routes = deal([s.route_ids for s in chosen], min(32, request.budget.max_routes))
    actions = deal(writable, min(32, request.budget.max_actions))
    each = limit(request, slots) // max(1, len(chosen))
    selections = tuple(
        select(source, each, *dealt) for source, *dealt in zip(chosen, routes, actions)
    )
    system = None
    if "capture" in slots:
        system = capture_guidance(slots["capture"], selections, chosen)
    return ViewSpec(
        strategy_type_id=MANIFEST.type_id,
        sources=selections,
        explanation="Everything.",
        guidance=Guidance(system=system) if system else None,
    )


class Good(StrategyContract):
    examples = 25
    compose = staticmethod(compose)
    manifest = MANIFEST

    def make_strategy(self):
        return StrategyDefinition(manifest=self.manifest, compose=self.compose)


"""

SLOTS = {"test_standard_slots_are_accepted"}
BROKEN = {
    "good": ("class TestIt(Good): pass", set()),
    "named roles, of which two at once are refused": (
        """
        ROLES = ("working-context", "narrative")

        def once(request, sources, contributions=()):
            known = [s for s in sources if s.role in ROLES]
            taken = [s.role for s in known if s.availability != "unavailable"]
            if len(set(taken)) < len(taken):
                raise ViewRejected("role-ambiguous", "two of one role")
            return compose(request, known, contributions)

        class TestIt(Good):
            manifest = attrs.evolve(MANIFEST, supported_source_roles=ROLES)
            compose = staticmethod(once)
        """,
        set(),
    ),
    "no slots": (
        """
        class TestIt(Good):
            manifest = attrs.evolve(MANIFEST, extension_slots=None)
        """,
        set(),
    ),
    "counts its calls": (
        """
        calls = itertools.count()

        def counting(*given):
            return attrs.evolve(compose(*given), explanation=f"Call {next(calls)}.")

        class TestIt(Good):
            compose = staticmethod(counting)
        """,
        {"test_repeated_calls_agree", "test_source_order_decides_nothing"},
    ),
    "keeps the order of installation": (
        """
        by_key = choose

        def choose(sources, slots):
            keys = [s.source_instance_key for s in sources]
            return sorted(by_key(sources, slots), key=lambda s: keys.index(s.source_instance_key))

        class TestIt(Good):
            pass
        """,
        {"test_source_order_decides_nothing"},
    ),
    "keeps the order of installation and says so": (
        """
        by_key = choose

        def choose(sources, slots):
            keys = [s.source_instance_key for s in sources]
            return sorted(by_key(sources, slots), key=lambda s: keys.index(s.source_instance_key))

        class TestIt(Good):
            sorts_sources = False
        """,
        set(),
    ),
    "selects what is away": (
        """
        def all(request, sources, contributions=()):
            spec = compose(request, sources, contributions)
            away = [s for s in sources if s.availability == "unavailable"]
            more = tuple(select(s, 0, (), ()) for s in away)
            if any("sourceKeys" in item.value for item in contributions):
                return spec
            return attrs.evolve(spec, sources=(*spec.sources, *more))

        class TestIt(Good):
            sorts_sources = False
            compose = staticmethod(all)
        """,
        {"test_unavailable_sources_are_not_selected"},
    ),
    "gives the budget to each": (
        """
        def generous(request, sources, contributions=()):
            spec = compose(request, sources, contributions)
            if contributions:
                return spec
            whole = share(request.budget.max_projection_characters)
            return attrs.evolve(spec, sources=tuple(
                attrs.evolve(s, projection=s.projection and whole) for s in spec.sources
            ))

        class TestIt(Good):
            compose = staticmethod(generous)
        """,
        {"test_sums_stay_within_the_budget"},
    ),
    "offers more routes than may be": (
        """
        def all(request, sources, contributions=()):
            spec = compose(request, sources, contributions)
            if contributions:
                return spec
            offered = {s.source_instance_key: s.route_ids for s in sources}
            return attrs.evolve(spec, sources=tuple(
                attrs.evolve(s, route_ids=offered[s.source_instance_key]) for s in spec.sources
            ))

        class TestIt(Good):
            compose = staticmethod(all)
        """,
        {"test_sums_stay_within_the_budget"},
    ),
    "ignores its slots": (
        """
        def deaf(request, sources, contributions=()):
            return compose(request, sources)

        class TestIt(Good):
            compose = staticmethod(deaf)
        """,
        SLOTS,
    ),
    "offers actions of what is not writable": (
        """
        def writing(request, sources, contributions=()):
            spec = compose(request, sources, contributions)
            offered = {s.source_instance_key: s.action_ids for s in sources}
            if len(contributions) != 1 or contributions[0].slot != "selection":
                return spec
            return attrs.evolve(spec, sources=tuple(
                attrs.evolve(s, action_ids=offered[s.source_instance_key]) for s in spec.sources
            ))

        class TestIt(Good):
            compose = staticmethod(writing)
        """,
        SLOTS,
    ),
    "captures without a target": (
        """
        def eager(request, sources, contributions=()):
            spec = compose(request, sources, contributions)
            if not any(item.slot == "capture" for item in contributions):
                return spec
            text = "MNEMON OPTIONAL AUTO CAPTURE"
            return attrs.evolve(spec, guidance=spec.guidance or Guidance(system=text))

        class TestIt(Good):
            compose = staticmethod(eager)
        """,
        SLOTS,
    ),
    "takes what is no value of a slot": (
        """
        def trusting(request, sources, contributions=()):
            try:
                return compose(request, sources, contributions)
            except ContractError:
                return compose(request, sources)

        class TestIt(Good):
            compose = staticmethod(trusting)
        """,
        SLOTS,
    ),
    "sorts what it was given": (
        """
        def sorting(request, sources, contributions=()):
            if isinstance(sources, list):
                sources.sort(key=lambda s: s.source_instance_key)
            return compose(request, sources, contributions)

        class TestIt(Good):
            compose = staticmethod(sorting)
        """,
        {"test_inputs_are_left_alone"},
    ),
    "refuses everything": (
        """
        def refusing(request, sources, contributions=()):
            raise ViewRejected("never", "no")

        class TestIt(Good):
            compose = staticmethod(refusing)
        """,
        {
            "test_unavailable_sources_are_not_selected",
            "test_sums_stay_within_the_budget",
            *SLOTS,
        },
    ),
    "took a test away": (
        """
        class TestIt(Good):
            test_repeated_calls_agree = None
        """,
        {"test_contract_is_complete"},
    ),
}


def test_every_test_of_the_contract_has_a_strategy_that_fails_it():
    failing = set().union(*(failing for _, failing in BROKEN.values()))
    assert failing == set(StrategyContract.contract_tests)


@pytest.mark.parametrize("name", BROKEN)
def test_contract_of_a_strategy(pytester, unshrunk, name):
    code, failing = BROKEN[name]
    file = pytester.makepyfile(GOOD + textwrap.dedent(code))
    recorder = pytester.inline_run("-p", "no:cacheprovider", "-q", str(file))
    assert sum(recorder.countoutcomes()) >= 8
    failed = {report.location[2].partition(".")[2] for report in recorder.getfailures()}
    assert {name.partition("[")[0] for name in failed} == failing


def test_factory_that_is_missing_is_named():
    with pytest.raises(NotImplementedError, match="make_strategy"):
        StrategyContract().make_strategy()

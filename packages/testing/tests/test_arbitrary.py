"""What the contract suites draw is what Core may hand out."""

from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ViewSpec
from dsh_mnemon_testing import available_sources, fake_strategy, requests
from dsh_mnemon_testing._judgement import judge
from dsh_mnemon_testing.fakes import STRATEGY_MANIFEST
from hypothesis import find, given
from hypothesis import strategies as st


@given(available_sources())
def test_sources_are_consistent(sources: list[AvailableSource]):
    keys = [source.source_instance_key for source in sources]
    assert len(set(keys)) == len(keys)
    for source in sources:
        assert len(set(source.route_ids)) == len(source.routes)
        for item in (*source.routes, *source.actions):
            assert item.capability in source.capabilities
        if source.availability == "unavailable":
            assert not source.capabilities


@given(available_sources(("narrative",), repeats=False))
def test_roles_are_taken_once(sources: list[AvailableSource]):
    taken = [source.role for source in sources if source.availability != "unavailable"]
    assert len(set(taken)) == len(taken)


def test_sources_and_budgets_are_of_every_sort():
    sets = available_sources()
    assert find(sets, lambda found: not found) == []
    assert find(sets, lambda found: any(s.availability == "unavailable" for s in found))
    assert find(sets, lambda found: any(s.role == "foreign-role" for s in found))
    assert find(sets, lambda found: any(len(s.routes) > 2 and s.actions for s in found))
    assert find(requests(), lambda request: request.budget.max_projection_characters == 1)
    assert find(requests(), lambda request: request.budget.max_projection_characters > 1_000_000)


@given(requests(), st.data())
def test_a_proposal_of_everything_offered_is_judged_well(request, data):
    sources = data.draw(available_sources())
    strategy = fake_strategy({"manifest": STRATEGY_MANIFEST, "compose": {"required": False}})
    spec = strategy.compose(request, sources, ())
    assert isinstance(spec, ViewSpec)
    available = [s for s in sources if s.availability != "unavailable"]
    assert len(judge(strategy, spec, request, sources).chosen) == len(available)

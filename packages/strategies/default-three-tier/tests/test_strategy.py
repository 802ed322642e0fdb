"""The proposal as a whole."""

from collections import Counter

import pytest
from dsh_mnemon_core.errors import ContractError, ViewRejected
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.strategy import ExtensionContribution
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_strategy_default_three_tier import LayeredConfig, layered_strategy
from dsh_mnemon_strategy_default_three_tier._guidance import RUNTIME_PROTOCOL, SCOPED_PROTOCOL
from dsh_mnemon_strategy_default_three_tier.strategy import MANIFEST, compose
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCOPE = OperationScope(storage="custom")
REQUEST = ViewRequest(scope=SCOPE)
ANYTHING = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def extension(slot, value):
    return ExtensionContribution(
        instance_key=f"strategy-extension:{slot}", type_id=slot, slot=slot, value=value
    )


def selecting(*keys, **more):
    return extension("selection", {"sourceKeys": list(keys), **more})


@pytest.fixture
def classic(make_source):
    return [
        make_source("runtime", actions=["mutate"]),
        make_source("documents", routes=["search", "read"], actions=["manage", "create"]),
        make_source(
            "memory-spaces",
            routes=["inspect", "recall", "related", "export-raw"],
            actions=["remember"],
        ),
    ]


@pytest.mark.requirement("layered:manifest")
def test_the_manifest_declares_the_three_roles_and_the_standard_slots():
    assert to_wire(MANIFEST) == {
        "apiVersion": "dsh-mnemon/v1",
        "kind": "strategy",
        "typeId": "default-three-tier",
        "packageName": "dsh-mnemon-strategy-default-three-tier",
        "deterministic": True,
        "supportedSourceRoles": ["working-context", "narrative", "durable-evidence"],
        "maxSources": 32,
        "maxRoutes": 32,
        "maxActions": 32,
        "extensionSlots": ["selection", "projection", "capture"],
    }
    definition = layered_strategy(LayeredConfig())
    assert definition.manifest is MANIFEST
    assert definition.compose is compose


@pytest.mark.requirement("layered:sources:optional")
def test_every_source_is_optional_and_its_mode_follows_its_role(classic):
    spec = compose(REQUEST, classic)
    assert [item.required for item in spec.sources] == [False] * 3
    assert [item.projection.mode for item in spec.sources] == ["eager", "routed", "routed"]


@pytest.mark.requirement("layered:routes")
def test_reading_routes_are_offered_and_others_are_not(classic):
    spec = compose(REQUEST, classic)
    assert [item.route_ids for item in spec.sources] == [
        (),
        ("search", "read"),
        ("inspect", "recall", "related"),
    ]
    assert spec.diagnostics is None


@pytest.mark.requirement("layered:operations:trimmed")
def test_operations_beyond_the_budget_are_dealt_in_rounds_and_reported_once(classic, make_source):
    more = [
        make_source(
            "documents", f"source:d{number}", routes=["search", "read"], actions=["a", "b", "c"]
        )
        for number in range(7)
    ]
    keys = [item.source_instance_key for item in more]
    spec = compose(REQUEST, more, [selecting(*keys)])
    assert [item.route_ids for item in spec.sources] == [("search", "read")] * 7
    counts = [len(item.action_ids) for item in spec.sources]
    assert counts == [3, 3, 2, 2, 2, 2, 2]
    assert spec.sources[6].action_ids == ("a", "b")
    assert [note.code for note in spec.diagnostics] == ["operations-trimmed"]
    assert "30 of 35" in spec.diagnostics[0].message

    tight = ViewRequest(scope=SCOPE, budget=ViewBudget(max_routes=3, max_actions=1))
    spec = compose(tight, classic)
    assert [item.route_ids for item in spec.sources] == [(), ("search", "read"), ("inspect",)]
    assert [item.action_ids for item in spec.sources] == [("mutate",), (), ()]
    assert [note.code for note in spec.diagnostics] == ["operations-trimmed"]


@pytest.mark.requirement("layered:operations:trimmed")
def test_the_manifest_bounds_operations_when_the_budget_is_wider(make_source):
    wide = ViewRequest(scope=SCOPE, budget=ViewBudget(max_routes=1_000, max_actions=1_000))
    source = make_source("documents", actions=[f"a{number}" for number in range(40)])
    spec = compose(wide, [source])
    assert len(spec.sources[0].action_ids) == MANIFEST.max_actions


@pytest.mark.requirement("layered:selection:writable")
def test_only_writable_sources_offer_actions(classic):
    keys = ["source:memory-spaces", "source:runtime"]
    spec = compose(REQUEST, classic, [selecting(*keys, writableSourceKeys=["source:runtime"])])
    assert [item.action_ids for item in spec.sources] == [(), ("mutate",)]
    spec = compose(REQUEST, classic, [selecting(*keys, writableSourceKeys=[])])
    assert [item.action_ids for item in spec.sources] == [(), ()]


@pytest.mark.requirement("layered:projection:narrows")
def test_the_projection_slot_only_narrows(classic):
    def total(characters):
        slots = [extension("projection", {"maxProjectionCharacters": characters})]
        spec = compose(REQUEST, classic, slots)
        return sum(item.projection.max_characters for item in spec.sources)

    assert total(4_096) == 4_096
    assert total(10_000_000) == REQUEST.budget.max_projection_characters


@pytest.mark.requirement("layered:guidance:protocol")
def test_the_protocol_is_the_same_bytes_under_every_budget_and_extension(classic):
    narrow = extension("projection", {"maxProjectionCharacters": 1})
    capture = extension("capture", {"instruction": "x", "actionIds": ["remember"]})
    tight = ViewRequest(scope=SCOPE, budget=ViewBudget(max_projection_characters=7))
    specs = [
        compose(REQUEST, classic),
        compose(tight, classic),
        compose(REQUEST, classic, [narrow]),
        compose(REQUEST, classic, [capture]),
    ]
    assert {spec.guidance.protocol for spec in specs} == {RUNTIME_PROTOCOL}
    scoped = [
        compose(request, classic, [selecting("source:runtime"), *more])
        for request, more in ((REQUEST, []), (tight, [narrow]))
    ]
    assert {spec.guidance.protocol for spec in scoped} == {SCOPED_PROTOCOL}


@pytest.mark.requirement("layered:capture")
def test_capture_stands_in_system_beside_the_protocol(classic):
    capture = extension("capture", {"instruction": "Note it.", "actionIds": ["remember"]})
    guidance = compose(REQUEST, classic, [capture]).guidance
    assert guidance.protocol is RUNTIME_PROTOCOL
    assert guidance.system.startswith("MNEMON OPTIONAL AUTO CAPTURE\nNote it.\n")
    assert "source:memory-spaces" in guidance.system


@pytest.mark.requirement("layered:capture")
def test_capture_follows_what_the_proposal_really_offers(classic):
    capture = extension("capture", {"instruction": "Note it.", "actionIds": ["remember"]})
    keys = ["source:memory-spaces"]
    read_only = compose(REQUEST, classic, [capture, selecting(*keys, writableSourceKeys=[])])
    assert read_only.guidance.system is None
    tight = ViewRequest(scope=SCOPE, budget=ViewBudget(max_actions=2))
    assert compose(tight, classic, [capture]).guidance.system is None


@pytest.mark.requirement("layered:sources:none")
def test_without_sources_the_proposal_is_empty():
    spec = compose(REQUEST, [])
    assert spec.sources == ()
    assert spec.guidance is None
    assert spec.explanation


@pytest.mark.requirement("layered:slots")
def test_wrong_slot_values_are_refused(classic):
    with pytest.raises(ContractError) as caught:
        compose(REQUEST, classic, [extension("mood", {})])
    assert caught.value.code == "slot-unsupported"


TYPES = st.sampled_from(["runtime", "documents", "memory-spaces"])
AVAILABILITY = st.sampled_from(["ready", "degraded", "unavailable"])
IDS = st.lists(st.sampled_from(["search", "read", "recall", "x1", "x2"]), unique=True)


@st.composite
def installed(draw, make_source):
    count = draw(st.integers(0, 6))
    return [
        make_source(
            draw(TYPES),
            f"source:s{number}",
            routes=draw(IDS),
            actions=draw(IDS),
            project=draw(st.booleans()),
            availability=draw(AVAILABILITY),
        )
        for number in range(count)
    ]


@st.composite
def requests(draw):
    budget = ViewBudget(
        max_projection_characters=draw(st.integers(1, 100_000)),
        max_routes=draw(st.integers(1, 20)),
        max_actions=draw(st.integers(1, 20)),
    )
    return ViewRequest(scope=SCOPE, budget=budget)


@pytest.mark.requirement("layered:pure")
@ANYTHING
@given(st.data(), requests())
def test_a_proposal_stays_within_its_request(make_source, data, request):
    sources = data.draw(installed(make_source))
    contributions = []
    if data.draw(st.booleans()):
        keys = [item.source_instance_key for item in sources]
        contributions = [selecting(*data.draw(st.permutations(keys)))]
    roles = Counter(item.role for item in sources if item.availability != "unavailable")
    if not contributions and max(roles.values(), default=0) > 1:
        with pytest.raises(ViewRejected, match="select among"):
            compose(request, sources)
        return
    spec = compose(request, sources, contributions)
    assert spec == compose(request, sources, contributions)
    by_key = {item.source_instance_key: item for item in sources}
    characters = routes = actions = 0
    for item in spec.sources:
        source = by_key[item.source_instance_key]
        assert source.availability != "unavailable"
        assert set(item.route_ids) <= set(source.route_ids)
        assert set(item.action_ids) <= set(source.action_ids)
        if item.projection is not None:
            assert "project" in source.capabilities
            assert item.projection.max_characters >= 1
            characters += item.projection.max_characters
        routes += len(item.route_ids)
        actions += len(item.action_ids)
    assert characters <= request.budget.max_projection_characters
    assert routes <= request.budget.max_routes
    assert actions <= request.budget.max_actions


@pytest.mark.requirement("layered:order")
@ANYTHING
@given(st.data(), requests())
def test_installation_order_decides_nothing(make_source, data, request):
    sources = data.draw(installed(make_source))
    shuffled = data.draw(st.permutations(sources))

    def outcome(given_sources):
        try:
            return to_wire(compose(request, given_sources))
        except ViewRejected as error:
            return (error.code, error.message)

    assert outcome(sources) == outcome(shuffled)

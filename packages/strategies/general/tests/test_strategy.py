"""The proposal as a whole."""

import pytest
from dsh_mnemon_core.errors import ContractError
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.strategy import ExtensionContribution
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_strategy_general import GeneralConfig, general_strategy
from dsh_mnemon_strategy_general._guidance import PROTOCOL
from dsh_mnemon_strategy_general.strategy import MANIFEST

SCOPE = OperationScope(storage="custom")
REQUEST = ViewRequest(scope=SCOPE)


def extension(slot, value):
    return ExtensionContribution(
        instance_key=f"strategy-extension:{slot}", type_id=slot, slot=slot, value=value
    )


def compose(sources, *contributions, config=None, **budget):
    request = ViewRequest(scope=SCOPE, budget=ViewBudget(**budget)) if budget else REQUEST
    return general_strategy(config).compose(request, sources, contributions)


@pytest.fixture
def default(make_source):
    return [
        make_source("memory-spaces", routes=["recall", "related"], actions=["remember"]),
        make_source("runtime", actions=["mutate"]),
        make_source("documents", routes=["search", "read"], actions=["manage", "create"]),
    ]


def keys(spec):
    return [item.source_instance_key for item in spec.sources]


@pytest.mark.requirement("general:manifest")
def test_the_manifest_takes_every_role_and_the_standard_slots():
    assert to_wire(MANIFEST) == {
        "apiVersion": "dsh-mnemon/v1",
        "kind": "strategy",
        "typeId": "general",
        "packageName": "dsh-mnemon-strategy-general",
        "deterministic": True,
        "supportedSourceRoles": ["*"],
        "maxSources": 32,
        "maxRoutes": 64,
        "maxActions": 64,
        "extensionSlots": ["selection", "projection", "capture"],
    }
    definition = general_strategy()
    assert definition.manifest is MANIFEST


@pytest.mark.requirement("general:policy")
def test_there_is_neither_a_turn_policy_nor_a_workflow():
    definition = general_strategy()
    assert definition.create_turn is None
    assert definition.action_workflow is None


@pytest.mark.requirement("general:sources")
def test_residents_come_first_then_keys_and_every_source_is_optional(default):
    spec = compose(default)
    assert keys(spec) == ["source:runtime", "source:documents", "source:memory-spaces"]
    assert [item.projection.mode for item in spec.sources] == ["eager", "routed", "routed"]
    assert not any(item.required for item in spec.sources)


@pytest.mark.requirement("general:sources")
def test_keys_are_ordered_by_code_point(make_source):
    sources = [make_source("documents", f"source:{name}") for name in ("b", "a", "Z", "a/1", "a.1")]
    assert keys(compose(sources)) == [
        *("source:Z", "source:a", "source:a.1", "source:a/1", "source:b")
    ]


@pytest.mark.requirement("general:sources")
def test_at_most_32_are_admitted_and_residents_are_never_the_ones_cut(make_source):
    sources = [make_source("documents", f"source:d{number:02}") for number in range(40)]
    spec = compose([*sources, make_source("runtime", "source:z")])
    assert len(spec.sources) == 32
    assert keys(spec)[:2] == ["source:z", "source:d00"]


@pytest.mark.requirement("general:residents")
def test_configured_residents_replace_those_by_role(default):
    config = GeneralConfig(resident_source_keys=("source:memory-spaces", "source:ghost"))
    spec = compose(default, config=config)
    assert keys(spec) == ["source:memory-spaces", "source:documents", "source:runtime"]
    assert [item.projection.mode for item in spec.sources] == ["eager", "routed", "routed"]
    nobody = compose(default, config=GeneralConfig(resident_source_keys=()))
    assert {item.projection.mode for item in nobody.sources} == {"routed"}


@pytest.mark.requirement("general:selection")
def test_a_selection_sets_the_order_and_skips_what_is_not_there(default, make_source):
    away = make_source("vault", role="x", availability="unavailable")
    names = ["source:documents", "source:ghost", "source:vault", "source:runtime"]
    spec = compose([*default, away], extension("selection", {"sourceKeys": names}))
    assert keys(spec) == ["source:documents", "source:runtime"]
    assert [item.projection.mode for item in spec.sources] == ["routed", "eager"]
    assert [item.action_ids for item in spec.sources] == [("manage", "create"), ("mutate",)]


@pytest.mark.requirement("general:selection")
def test_only_writable_sources_offer_actions(default):
    value = {"sourceKeys": ["source:documents", "source:runtime"], "writableSourceKeys": []}
    spec = compose(default, extension("selection", value))
    assert [item.action_ids for item in spec.sources] == [(), ()]
    assert spec.guidance.routing.count("read-only") == 2


@pytest.mark.requirement("general:selection")
def test_an_empty_selection_admits_nothing(default):
    spec = compose(default, extension("selection", {"sourceKeys": []}))
    assert spec.sources == ()
    assert spec.guidance.system == PROTOCOL


@pytest.mark.requirement("general:shares")
def test_residents_weigh_nine_and_the_slot_only_narrows(default):
    def shares(*contributions, **budget):
        spec = compose(default, *contributions, **budget)
        return [item.projection and item.projection.max_characters for item in spec.sources]

    assert shares() == [53_621, 5_958, 5_957]
    assert shares(extension("projection", {"maxProjectionCharacters": 11})) == [9, 1, 1]
    assert shares(extension("projection", {"maxProjectionCharacters": 10_000_000})) == shares()
    assert shares(max_projection_characters=1) == [1, None, None]


@pytest.mark.requirement("general:operations")
def test_operations_are_dealt_in_rounds_and_never_fail(make_source):
    sources = [
        make_source("documents", f"source:d{number}", routes=["a", "b", "c"], actions=["x", "y"])
        for number in range(4)
    ]
    spec = compose(sources, max_routes=6, max_actions=3)
    assert [item.route_ids for item in spec.sources] == [("a", "b"), ("a", "b"), ("a",), ("a",)]
    assert [item.action_ids for item in spec.sources] == [("x",), ("x",), ("x",), ()]
    assert spec.diagnostics is None
    wide = [
        make_source("documents", f"source:d{number}", routes=[f"r{n}" for n in range(40)])
        for number in range(2)
    ]
    spec = compose(wide, max_routes=1_000)
    assert [len(item.route_ids) for item in spec.sources] == [32, 32]


@pytest.mark.requirement("general:guidance:order")
def test_protocol_instruction_and_capture_stand_in_this_order(default):
    config = GeneralConfig(instruction=" Keep notes short. ")
    capture = extension("capture", {"instruction": "Note it.", "actionIds": ["remember"]})
    system = compose(default, capture, config=config).guidance.system
    protocol, instruction, block = (
        system.index(part) for part in (PROTOCOL, "\n\nKeep notes short.\n\n", "MNEMON OPTIONAL")
    )
    assert (protocol, instruction < block) == (0, True)
    assert "Eligible Sources: source:memory-spaces\n" in system


@pytest.mark.requirement("general:guidance:order")
def test_capture_without_a_target_adds_nothing(default):
    capture = extension("capture", {"instruction": "Note it.", "actionIds": ["append"]})
    guidance = compose(default, capture).guidance
    assert guidance.system == PROTOCOL
    assert guidance.protocol is None
    assert guidance.reminders is None


@pytest.mark.requirement("general:guidance:constant")
def test_the_protocol_is_the_same_bytes_under_every_budget_and_extension(default):
    narrow = extension("projection", {"maxProjectionCharacters": 1})
    chosen = extension("selection", {"sourceKeys": ["source:documents"]})
    specs = [compose(default), compose([]), compose(default, narrow, chosen, max_routes=1)]
    assert {spec.guidance.system for spec in specs} == {PROTOCOL}


@pytest.mark.requirement("general:slots")
def test_wrong_slot_values_are_refused(default):
    for slot, value, code in (
        ("mood", {}, "slot-unsupported"),
        ("projection", {}, "projection-limit-required"),
    ):
        with pytest.raises(ContractError) as caught:
            compose(default, extension(slot, value))
        assert caught.value.code == code
    twice = extension("projection", {"maxProjectionCharacters": 1})
    with pytest.raises(ContractError) as caught:
        compose(default, twice, twice)
    assert caught.value.code == "slot-duplicated"

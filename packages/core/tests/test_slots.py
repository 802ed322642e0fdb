"""`dsh_mnemon_core.slots`: values of the standard slots and the helpers around them."""

import pytest
from dsh_mnemon_core.errors import ContractError, DefinitionError
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.slots import (
    Capture,
    Projection,
    Selection,
    capture_guidance,
    define_memory_view_extension,
    memory_view_extension_values,
    validate_memory_view_extension,
)
from dsh_mnemon_core.source import ActionManifest, AvailableSource
from dsh_mnemon_core.strategy import ExtensionContribution, SourceSelection
from dsh_mnemon_core.wire import to_wire

REQUEST = ViewRequest(scope=OperationScope(storage="custom"))
CAPTURE = {"instruction": " Note it. ", "actionIds": ["remember"]}


def contribution(slot, value):
    return ExtensionContribution(
        instance_key=f"strategy-extension:{slot}", type_id="x", slot=slot, value=value
    )


def source(key, *actions):
    return AvailableSource(
        source_instance_key=key,
        source_type_id="notes",
        role="narrative",
        availability="ready",
        revision="r1",
        actions=tuple(
            ActionManifest(
                id=id_,
                description=id_,
                capability=capability,
                input_schema={"type": "object"},
                authority=authority,
            )
            for id_, capability, authority in actions
        ),
    )


@pytest.mark.parametrize(
    ("slot", "value", "typed", "wire"),
    [
        (
            "selection",
            {"sourceKeys": ["source:b", "source:a"]},
            Selection(source_keys=("source:b", "source:a")),
            {"sourceKeys": ["source:b", "source:a"]},
        ),
        (
            "selection",
            {"sourceKeys": ("source:a",), "writableSourceKeys": ()},
            Selection(source_keys=("source:a",), writable_source_keys=()),
            {"sourceKeys": ["source:a"], "writableSourceKeys": []},
        ),
        (
            "projection",
            {"maxProjectionCharacters": 5.0},
            Projection(max_projection_characters=5),
            {"maxProjectionCharacters": 5},
        ),
        (
            "capture",
            CAPTURE,
            Capture(instruction="Note it.", action_ids=("remember",)),
            {"instruction": "Note it.", "actionIds": ["remember"]},
        ),
        (
            "capture",
            {**CAPTURE, "sourceKeys": []},
            Capture(instruction="Note it.", action_ids=("remember",), source_keys=()),
            {"instruction": "Note it.", "actionIds": ["remember"], "sourceKeys": []},
        ),
    ],
)
def test_valid_values_are_read_and_written_back(slot, value, typed, wire):
    assert validate_memory_view_extension(slot, value) == typed
    assert to_wire(typed) == wire
    assert validate_memory_view_extension(slot, wire) == typed


MANY_KEYS = [f"source:s{number}" for number in range(33)]


@pytest.mark.parametrize(
    ("slot", "value", "code"),
    [
        ("mood", {}, "slot-unsupported"),
        ("selection", [], "not-an-object"),
        ("selection", None, "not-an-object"),
        ("selection", {"sourceKeys": [], "more": 1}, "extension-field-unsupported"),
        ("selection", {}, "source-keys-invalid"),
        ("selection", {"sourceKeys": "source:a"}, "source-keys-invalid"),
        ("selection", {"sourceKeys": [1]}, "source-keys-invalid"),
        ("selection", {"sourceKeys": ["strategy:a"]}, "source-keys-invalid"),
        ("selection", {"sourceKeys": ["source:"]}, "source-keys-invalid"),
        ("selection", {"sourceKeys": ["source:" + "a" * 294]}, "source-keys-invalid"),
        ("selection", {"sourceKeys": MANY_KEYS}, "source-keys-invalid"),
        ("selection", {"sourceKeys": ["source:a", "source:a"]}, "source-keys-duplicated"),
        (
            "selection",
            {"sourceKeys": ["source:a"], "writableSourceKeys": ["source:b"]},
            "writable-not-selected",
        ),
        (
            "selection",
            {"sourceKeys": ["source:a"], "writableSourceKeys": ["source:a", "source:a"]},
            "source-keys-duplicated",
        ),
        ("projection", {}, "projection-limit-required"),
        ("projection", {"maxProjectionCharacters": 0}, "integer-range"),
        ("projection", {"maxProjectionCharacters": 10_000_001}, "integer-range"),
        ("projection", {"maxProjectionCharacters": True}, "integer-range"),
        ("capture", {"actionIds": ["a"]}, "text-required"),
        ("capture", {"instruction": " ", "actionIds": ["a"]}, "text-required"),
        ("capture", {"instruction": "x" * 4001, "actionIds": ["a"]}, "text-too-long"),
        ("capture", {"instruction": "x"}, "capture-actions-invalid"),
        ("capture", {"instruction": "x", "actionIds": []}, "capture-actions-invalid"),
        ("capture", {"instruction": "x", "actionIds": ["A"]}, "capture-actions-invalid"),
        ("capture", {"instruction": "x", "actionIds": ["a", "a"]}, "capture-actions-invalid"),
        (
            "capture",
            {"instruction": "x", "actionIds": [f"a{number}" for number in range(33)]},
            "capture-actions-invalid",
        ),
        ("capture", {**CAPTURE, "sourceKeys": ["nope"]}, "source-keys-invalid"),
    ],
)
def test_wrong_values_are_refused_with_their_code(slot, value, code):
    with pytest.raises(ContractError) as caught:
        validate_memory_view_extension(slot, value)
    assert caught.value.code == code


def test_a_misspelt_field_is_answered_with_the_nearest_name():
    with pytest.raises(ContractError, match="'sourceKeys'"):
        validate_memory_view_extension("selection", {"sourceKey": []})


def test_limits_are_accepted_at_their_bounds():
    longest = "source:" + "a" * 293
    assert validate_memory_view_extension("selection", {"sourceKeys": [longest]})
    assert validate_memory_view_extension("selection", {"sourceKeys": MANY_KEYS[:32]})
    assert validate_memory_view_extension("projection", {"maxProjectionCharacters": 10_000_000})
    assert validate_memory_view_extension("capture", {**CAPTURE, "instruction": "x" * 4000})


def test_selection_writable_defaults_to_every_selected_source():
    assert Selection(source_keys=("source:a",)).writable("source:a")
    limited = Selection(source_keys=("source:a", "source:b"), writable_source_keys=("source:b",))
    assert not limited.writable("source:a")
    assert limited.writable("source:b")


def test_values_are_collected_by_slot():
    values = memory_view_extension_values(
        [
            contribution("projection", {"maxProjectionCharacters": 9}),
            contribution("selection", {"sourceKeys": []}),
        ]
    )
    assert values == {
        "projection": Projection(max_projection_characters=9),
        "selection": Selection(source_keys=()),
    }
    assert memory_view_extension_values([]) == {}


def test_two_contributions_for_one_slot_are_refused():
    with pytest.raises(ContractError) as caught:
        memory_view_extension_values([contribution("capture", CAPTURE)] * 2)
    assert caught.value.code == "slot-duplicated"


def test_an_extension_serves_any_strategy_and_checks_what_it_says():
    answers = [Projection(max_projection_characters=7), {"maxProjectionCharacters": 7}, {}]
    definition = define_memory_view_extension(
        type_id="tight",
        package_name="tight",
        slot="projection",
        contribute=lambda _request, _sources: answers.pop(0),
    )
    assert definition.manifest.strategy_type_id == "*"
    assert definition.manifest.slot == "projection"
    assert definition.contribute(REQUEST, ()) == {"maxProjectionCharacters": 7}
    assert definition.contribute(REQUEST, ()) == {"maxProjectionCharacters": 7}
    with pytest.raises(ContractError) as caught:
        definition.contribute(REQUEST, ())
    assert caught.value.code == "projection-limit-required"


def test_an_extension_may_name_its_strategy():
    definition = define_memory_view_extension(
        type_id="tight",
        package_name="tight",
        slot="projection",
        contribute=lambda _request, _sources: {"maxProjectionCharacters": 7},
        strategy_type_id="general",
    )
    assert definition.manifest.strategy_type_id == "general"


def test_an_extension_of_an_unknown_slot_is_refused_at_once():
    with pytest.raises(DefinitionError) as caught:
        define_memory_view_extension(
            type_id="tight", package_name="tight", slot="mood", contribute=lambda *_: {}
        )
    assert caught.value.code == "slot-not-standard"


def test_capture_guidance_names_targets_and_actions_in_order():
    sources = [
        source("source:a", ("remember", "write", None), ("drop", "forget", None)),
        source("source:b", ("create", "maintain", None)),
        source("source:c", ("remember", "archive", None)),
        source("source:d", ("remember", "write", "ops")),
        source("source:e", ("remember", "write", None)),
        source("source:f", ("remember", "write", None)),
    ]
    selections = [
        SourceSelection(
            source_instance_key=item.source_instance_key,
            action_ids=None if item.source_instance_key == "source:e" else item.action_ids,
        )
        for item in reversed(sources[:5])
    ]
    capture = Capture(instruction="Note it.", action_ids=("remember", "create", "drop"))
    block = capture_guidance(capture, selections, sources)
    lines = block.splitlines()
    assert lines[:4] == [
        "MNEMON OPTIONAL AUTO CAPTURE",
        "Note it.",
        "Eligible Sources: source:b, source:a",
        "Actions: remember, create, drop",
    ]
    assert "receipt" in lines[4]


@pytest.mark.parametrize("keys", [(), ("source:other",)])
def test_capture_guidance_is_silent_without_a_target(keys):
    sources = [source("source:a", ("remember", "write", None))]
    selections = [SourceSelection(source_instance_key="source:a", action_ids=("remember",))]
    capture = Capture(instruction="x", action_ids=("remember",), source_keys=keys)
    assert capture_guidance(capture, selections, sources) is None
    anywhere = Capture(instruction="x", action_ids=("remember",))
    assert "source:a" in capture_guidance(anywhere, selections, sources)

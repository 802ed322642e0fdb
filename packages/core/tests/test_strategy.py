import pytest
from dsh_mnemon_core.errors import DefinitionError, InputError
from dsh_mnemon_core.strategy import (
    ExtensionDefinition,
    ExtensionManifest,
    StrategyDefinition,
    StrategyManifest,
)
from dsh_mnemon_core.wire import from_wire, to_wire

STRATEGY = {
    "typeId": "plain",
    "packageName": "plain",
    "deterministic": True,
    "supportedSourceRoles": ["narrative"],
    "maxSources": 1,
    "maxRoutes": 1000,
    "maxActions": 1,
}
EXTENSION = {
    "typeId": "extra",
    "packageName": "extra",
    "strategyTypeId": "*",
    "slot": "capture",
    "deterministic": True,
}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"deterministic": 1}, "deterministic-required"),
        ({"deterministic": None}, "deterministic-required"),
        ({"kind": "source"}, "kind-mismatch"),
        ({"apiVersion": "1"}, "api-version-unsupported"),
        ({"supportedSourceRoles": "narrative"}, "not-an-array"),
        ({"supportedSourceRoles": ["a", "a"]}, "id-duplicated"),
        ({"supportedSourceRoles": ["*", "*"]}, "wildcard-role-not-alone"),
        ({"supportedSourceRoles": ["a", "*"]}, "wildcard-role-not-alone"),
        ({"maxSources": 0}, "integer-range"),
        ({"maxRoutes": 1001}, "integer-range"),
        ({"maxActions": None}, "integer-range"),
        ({"extensionSlots": "ab"}, "not-an-array"),
        ({"extensionSlots": ["a", "a"]}, "id-duplicated"),
        ({"extensionSlot": []}, "key-unknown"),
        ({"deterministic": False, "maxSources": 0}, "deterministic-required"),
    ],
)
def test_strategy_manifest_refuses(changes, code):
    with pytest.raises((DefinitionError, InputError)) as caught:
        from_wire(StrategyManifest, {**STRATEGY, **changes})
    assert caught.value.code == code


def test_strategy_manifest_on_the_wire():
    wire = to_wire(from_wire(StrategyManifest, STRATEGY))
    assert wire == {"apiVersion": "dsh-mnemon/v1", "kind": "strategy", **STRATEGY}
    assert from_wire(StrategyManifest, {**STRATEGY, "extensionSlots": []}).extension_slots == ()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"slot": "own"}, "slot-not-standard"),
        ({"slot": "Own"}, "id-format"),
        ({"strategyTypeId": None}, "text-not-string"),
        ({"kind": "strategy"}, "kind-mismatch"),
        ({"apiVersion": None}, "api-version-unsupported"),
        ({"deterministic": False}, "deterministic-required"),
    ],
)
def test_extension_manifest_refuses(changes, code):
    with pytest.raises(DefinitionError) as caught:
        from_wire(ExtensionManifest, {**EXTENSION, **changes})
    assert caught.value.code == code


def test_custom_slot_needs_a_named_strategy():
    made = from_wire(ExtensionManifest, {**EXTENSION, "slot": "own", "strategyTypeId": "plain"})
    assert (made.slot, made.strategy_type_id) == ("own", "plain")


def test_definitions_need_functions():
    strategy = from_wire(StrategyManifest, STRATEGY)
    extension = from_wire(ExtensionManifest, EXTENSION)
    for wrong in (
        lambda: StrategyDefinition(manifest=strategy, compose=None),
        lambda: StrategyDefinition(manifest=strategy, compose=len, create_turn=7),
        lambda: ExtensionDefinition(manifest=extension, contribute="x"),
    ):
        with pytest.raises(DefinitionError) as caught:
            wrong()
        assert caught.value.code == "callback-missing"
    assert StrategyDefinition(manifest=strategy, compose=len).create_turn is None

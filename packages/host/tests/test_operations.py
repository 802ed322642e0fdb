import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.config import HostConfig
from dsh_mnemon_host.settings import MISSING, Operation, read_operations
from dsh_mnemon_host.settings.operations import apply, keep_unknown, value_at


def test_operations_are_read_from_json():
    ops = [
        {"op": "set", "path": ["a", "b.c"], "value": [1]},
        {"op": "unset", "path": "a.b"},
        Operation(("x",), 1),
    ]
    assert read_operations(ops) == (
        Operation(("a", "b.c"), (1,)),
        Operation(("a", "b"), MISSING),
        Operation(("x",), 1),
    )
    assert repr(MISSING) == "MISSING"


@pytest.mark.parametrize(
    "ops",
    [
        [],
        [{"op": "set", "path": ["a"]}],
        [{"op": "unset", "path": ["a"], "value": 1}],
        [{"op": "move", "path": ["a"]}],
        [{"op": "unset", "path": []}],
        [{"op": "unset", "path": ""}],
        [{"op": "unset", "path": "a..b"}],
        [{"op": "unset", "path": [1]}],
        [{"op": "unset", "path": 7}],
        [{"op": "unset", "path": "a", "extra": 1}],
        [7],
    ],
)
def test_bad_operations(ops):
    with pytest.raises(InputError) as caught:
        read_operations(ops)
    assert caught.value.code == "settings-operation-invalid"


def test_a_value_must_be_json():
    with pytest.raises(InputError):
        read_operations([{"op": "set", "path": "a", "value": {1, 2}}])


def test_applying():
    document = {"a": {"b": 1, "c": {"d": 2}}, "e": None}
    ops = [
        Operation(("a", "b"), 3),
        Operation(("a", "c", "d")),
        Operation(("e", "f", "g"), {"h": [1]}),
        Operation(("nothing", "there")),
        Operation(("a", "b", "deeper")),
    ]
    assert apply(document, ops) == {"a": {"b": 3}, "e": {"f": {"g": {"h": [1]}}}}
    assert document == {"a": {"b": 1, "c": {"d": 2}}, "e": None}


def test_setting_inside_something_else_is_refused():
    for value in (1, "x", [1], False):
        with pytest.raises(InputError) as caught:
            apply({"a": value}, [Operation(("a", "b"), 1)])
        assert caught.value.code == "settings-operation-invalid"


def test_places():
    assert value_at({"a": {"b": None}}, ("a", "b")) is None
    assert value_at({"a": {"b": None}}, ("a", "c")) is MISSING
    assert value_at({"a": [1]}, ("a", "0")) is MISSING
    assert value_at(7, ()) == 7


def test_unknown_keys_survive_a_replaced_section():
    old = {"enabled": True, "modle": "typo", "model": "m"}
    kept = keep_unknown(HostConfig, ("embedding",), old, {"enabled": False})
    assert kept == {"modle": "typo", "enabled": False}


def test_unknown_keys_survive_at_every_depth():
    old = {"layers": {"runtime": {"enabled": True, "x": 1}, "notes": {"y": 2}}, "z": 3}
    new = {"layers": {"runtime": {"enabled": False}}}
    kept = keep_unknown(HostConfig, ("memoryTopology",), old, new)
    assert kept == {"z": 3, "layers": {"runtime": {"x": 1, "enabled": False}}}


def test_an_open_mapping_is_replaced_whole():
    path = ("memoryView", "entries", "x", "config")
    assert keep_unknown(HostConfig, path, {"a": 1}, {"b": 2}) == {"b": 2}
    assert keep_unknown(HostConfig, ("embedding",), None, {"enabled": True}) == {"enabled": True}
    assert keep_unknown(HostConfig, ("embedding",), {"x": 1}, 7) == 7

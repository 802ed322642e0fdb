import copy
import pickle
from collections import OrderedDict
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import MappingProxyType

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import (
    FrozenDict,
    assert_json,
    canonical,
    configuration_digest,
    digest,
    json_clone,
    json_equal,
    thaw,
)


def refusal(value):
    with pytest.raises(InputError) as caught:
        assert_json(value)
    return caught.value.code


def nested(depth):
    value = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numbers_are_finite(value):
    assert refusal([value]) == "json-non-finite"


@pytest.mark.parametrize(
    "value",
    [
        len,
        int,
        b"a",
        bytearray(b"a"),
        {1},
        frozenset(),
        date(2026, 1, 2),
        datetime(2026, 1, 2),
        time(3),
        timedelta(1),
        1j,
        Decimal(1),
        2**53,
        -(2**53),
    ],
    ids=repr,
)
def test_other_scalars_have_no_json_form(value):
    assert refusal({"a": value}) == "json-non-json-value"


@pytest.mark.parametrize("value", [object(), {1: "a"}, {None: 1}])
def test_objects_are_plain_mappings_with_text_keys(value):
    assert refusal(value) == "json-non-json-object"


@pytest.mark.parametrize("value", ["\ud800", {"\ud800": 1}, [{"a": "x\udfff"}]])
def test_text_is_unicode(value):
    assert refusal(value) == "text-not-unicode"


def test_cycles_are_refused_and_shared_parts_are_not():
    shared = [1]
    assert_json([shared, {"a": shared}])
    ring = []
    ring.append([ring])
    assert refusal(ring) == "json-cycle"


@pytest.mark.parametrize(("depth", "fits"), [(48, True), (49, False)])
def test_depth_counts_from_the_outermost_value(depth, fits):
    if fits:
        assert_json(nested(depth))
    else:
        assert refusal(nested(depth)) == "json-too-deep"


def test_largest_exact_integers_pass():
    assert_json([2**53 - 1, -(2**53 - 1), True, None, 0.5])


@pytest.mark.requirement("core:json:frozen")
def test_clone_shares_nothing_and_cannot_be_changed():
    given = {"a": [1, {"b": 2}]}
    frozen = json_clone(given)
    given["a"].append(3)
    assert frozen == {"a": (1, {"b": 2})}
    for change in (
        lambda: frozen.__setitem__("a", 1),
        lambda: frozen.__delitem__("a"),
        lambda: frozen.update(a=1),
        lambda: frozen.setdefault("c", 1),
        lambda: frozen.pop("a"),
        lambda: frozen.popitem(),
        lambda: frozen.clear(),
        lambda: frozen.__ior__({"c": 1}),
    ):
        with pytest.raises(TypeError, match="frozen"):
            change()
    assert isinstance(frozen["a"][1], FrozenDict)


def test_clone_takes_any_mapping_and_any_sequence():
    assert json_clone(OrderedDict(a=MappingProxyType({"b": [()]}))) == {"a": {"b": ((),)}}


def test_frozen_objects_are_values():
    frozen = json_clone({"a": [1, {"b": 2}]})
    same = json_clone({"a": [1, {"b": 2}]})
    assert {frozen: "x"}[same] == "x"
    assert copy.copy(frozen) is copy.deepcopy(frozen) is frozen
    assert pickle.loads(pickle.dumps(frozen)) == frozen


def test_thaw_gives_a_copy_to_change():
    frozen = json_clone({"a": [1, {"b": 2}]})
    plain = thaw(frozen)
    plain["a"][1]["b"] = 3
    assert plain == {"a": [1, {"b": 3}]}
    assert frozen == {"a": (1, {"b": 2})}


@pytest.mark.parametrize("value", [object(), {1: 2}, "\ud800", {"\ud800": 1}, 2**60])
def test_canonical_form_of_what_is_no_json(value):
    with pytest.raises(InputError) as caught:
        canonical(value)
    assert caught.value.code == "json-non-json-value"


def test_digests_follow_the_canonical_text():
    assert canonical({"b": 1.0, "a": ("\u20ac",)}) == '{"a":["\u20ac"],"b":1}'
    assert digest({"a": 1, "b": 2}) == digest({"b": 2.0, "a": 1})
    assert configuration_digest({}) == f"config:{digest({})}"


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        (False, 0, False),
        (True, True, True),
        (None, None, True),
        ("a", "a", True),
        ([1, (2,)], (1, [2]), True),
        ([1], [1, 2], False),
        ([1, 2], [1, True], False),
        ({"a": 1}, FrozenDict(a=1.0), True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": [True]}, {"a": [1]}, False),
        ({}, [], False),
    ],
)
def test_json_equality_knows_numbers_and_booleans_apart(left, right, equal):
    assert json_equal(left, right) is equal

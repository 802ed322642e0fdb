import re

import attrs
import pytest
from dsh_mnemon_core.checks import (
    array,
    at_most,
    defaulted,
    distinct,
    identifier,
    integer,
    one_of,
    optional_text,
    record,
    same,
    string_array,
    subset,
    text,
    truncate,
    well_formed,
)
from dsh_mnemon_core.errors import DefinitionError, InputError

LONE = "a\ud800"


def refusal(call, *args, **more):
    with pytest.raises(InputError) as caught:
        call(*args, **more)
    return caught.value.code


def test_text_is_trimmed_and_counted_in_code_points():
    assert text("  \U0001f600\U0001f600 ", "x", 2) == "\U0001f600\U0001f600"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "text-not-string"),
        (7, "text-not-string"),
        (" \n ", "text-required"),
        ("abc", "text-too-long"),
        (LONE, "text-not-unicode"),
    ],
)
def test_text_refuses(value, code):
    assert refusal(text, value, "x", 2) == code


def test_readers_raise_the_kind_they_are_given():
    with pytest.raises(DefinitionError):
        text(None, "x", 1, kind=DefinitionError)
    with pytest.raises(DefinitionError):
        distinct(["a", "a"], "x", kind=DefinitionError)


def test_well_formed_returns_the_text_unchanged():
    assert well_formed(" ä ", "x") == " ä "
    assert refusal(well_formed, LONE, "x") == "text-not-unicode"


def test_names_of_another_form_have_their_own_code():
    form = {"maximum": 3, "pattern": re.compile("[.]+"), "code": "no-dots"}
    assert identifier(" .. ", "x", **form) == ".."
    assert refusal(identifier, "a", "x", **form) == "no-dots"
    assert refusal(identifier, "....", "x", **form) == "text-too-long"


def test_one_of_returns_the_known_name_and_names_all_of_them():
    assert one_of("b", ("a", "b"), "x", "odd") == "b"
    for value in ("c", None, ["a"]):
        assert refusal(one_of, value, ("a", "b"), "x", "odd") == "odd"
    with pytest.raises(InputError, match="a, b"):
        one_of("c", ("a", "b"), "x", "odd")
    assert refusal(one_of, "a", (), "x", "odd") == "odd"


def test_subset_wants_distinct_known_names():
    assert subset(["b", "a"], ("a", "b", "c"), "x", "odd") == ("b", "a")
    assert refusal(subset, ["a", "d"], ("a",), "x", "odd") == "odd"
    assert refusal(subset, ["a", "a"], ("a",), "x", "odd") == "id-duplicated"


def test_same_accepts_only_what_is_expected():
    same(1, 1, "x", "odd")
    assert refusal(same, 2, 1, "x", "odd") == "odd"


def test_at_most_includes_its_limit():
    at_most(2, 2, "things", "many")
    assert refusal(at_most, 3, 2, "things", "many") == "many"


def test_a_defaulted_field_is_read_like_any_other():
    @attrs.frozen
    class Box:
        size: int = defaulted(integer, "size", 1, 9, default=4, kind=DefinitionError)

    assert (Box().size, Box(2.0).size) == (4, 2)
    with pytest.raises(DefinitionError):
        Box(10)


@pytest.mark.parametrize("value", [None, "", "  "])
def test_optional_text_takes_blank_for_absent(value):
    assert optional_text(value, "x", 1) is None


def test_optional_text_judges_what_is_there():
    assert optional_text(" a ", "x", 1) == "a"
    assert refusal(optional_text, 7, "x", 1) == "text-not-string"


def test_identifier_is_lower_case_and_starts_with_a_letter():
    assert identifier(" a-1 ", "x") == "a-1"
    for bad in ("1a", "A", "a_b", "a\n-"):
        assert refusal(identifier, bad, "x") == "id-format"


@pytest.mark.parametrize(("value", "expected"), [(1, 1), (3.0, 3), (5, 5)])
def test_integer_includes_its_bounds(value, expected):
    read = integer(value, "x", 1, 5)
    assert read == expected
    assert type(read) is int


@pytest.mark.parametrize(
    "value", [0, 6, True, 1.5, "1", None, float("nan"), float("inf"), [1]], ids=repr
)
def test_integer_refuses(value):
    assert refusal(integer, value, "x", 1, 5) == "integer-range"


def test_integer_falls_back_only_for_an_absent_value():
    assert integer(None, "x", 1, 5, fallback=9) == 9
    assert refusal(integer, 0, "x", 1, 5, fallback=9) == "integer-range"


def test_record_wants_an_object():
    assert record({"a": 1}) == {"a": 1}
    assert refusal(record, [1]) == "not-an-object"


def test_array_takes_lists_and_tuples_only():
    assert array([1], "x") == array((1,), "x") == (1,)
    for bad in ("ab", {"a": 1}, None, iter([1])):
        assert refusal(array, bad, "x") == "not-an-array"


def test_string_array_drops_blanks_and_keeps_duplicates():
    assert string_array([" a ", "", "a"], "x") == ("a", "a")


@pytest.mark.parametrize("value", ["a", ["a", 1], ["a"] * 3], ids=repr)
def test_string_array_refuses(value):
    assert refusal(string_array, value, "x", 2) == "string-array-invalid"


def test_distinct_names_what_repeats():
    assert distinct(["b", "a"], "x") == ("b", "a")
    assert refusal(distinct, ["a", "b", "a"], "x") == "id-duplicated"
    assert refusal(distinct, ["a", "a"], "x", code="other") == "other"


@pytest.mark.parametrize(
    ("maximum", "clipped"), [(-1, ""), (0, ""), (1, "…"), (3, "ab…"), (4, "abcd"), (5, "abcd")]
)
def test_truncate_counts_its_ellipsis(maximum, clipped):
    assert truncate("abcd", maximum) == clipped

import json

from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.values import canonical, digest, json_clone, json_equal, thaw
from hypothesis import given
from hypothesis import strategies as st

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
NUMBERS = st.one_of(
    st.integers(-(2**53) + 1, 2**53 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_freezing_and_thawing_gives_the_same_value(value):
    assert thaw(json_clone(value)) == value
    assert json_clone(json_clone(value)) == json_clone(value)


@given(JSON)
def test_canonical_text_is_json_of_an_equal_value_and_canonical_again(value):
    text = canonical(json_clone(value))
    read = json.loads(text, parse_int=float)  # as ECMAScript reads numbers
    assert json_equal(read, value)
    assert canonical(read) == text


@given(JSON, JSON)
def test_equal_values_are_those_of_equal_digest(left, right):
    assert json_equal(left, right) is (digest(left) == digest(right))


@given(JSON)
def test_order_of_keys_decides_nothing(value):
    def turned(item):
        if isinstance(item, dict):
            return {key: turned(part) for key, part in reversed(item.items())}
        return [turned(part) for part in item] if isinstance(item, list) else item

    assert canonical(turned(value)) == canonical(value)


def code_of(call, value):
    try:
        call(value)
    except MnemonError as error:
        return error.code
    return None


@given(st.recursive(JSON | st.binary() | st.floats() | st.text(), st.lists, max_leaves=6))
def test_what_passes_the_check_is_what_has_a_canonical_form(value):
    assert (code_of(json_clone, value) is None) is (code_of(canonical, value) is None)

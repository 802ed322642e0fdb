import pytest
from dsh_mnemon_core._engine.schema import check_input
from dsh_mnemon_core.errors import DefinitionError, InputError
from dsh_mnemon_core.values import FrozenDict

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string", "minLength": 1},
        "limit": {"type": "integer"},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}},
    },
    "required": ["query"],
    "additionalProperties": False,
    "$defs": {"tag": {"enum": ["a", 1]}},
}


def refusal(value, schema=SCHEMA):
    with pytest.raises(InputError) as caught:
        check_input(schema, value, "source:a/search")
    assert caught.value.code == "input-invalid"
    return caught.value


def test_a_fitting_input_is_frozen():
    given = {"query": "x", "tags": ["a", 1]}
    frozen = check_input(SCHEMA, given, "x")
    assert frozen == {"query": "x", "tags": ("a", 1)}
    assert isinstance(frozen, FrozenDict)
    given["query"] = "y"
    assert frozen["query"] == "x"


def test_whole_floats_are_integers():
    assert check_input(SCHEMA, {"query": "x", "limit": 1.0}, "x")["limit"] == 1.0


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({}, []),
        ({"query": ""}, ["query"]),
        ({"query": "x", "limit": True}, ["limit"]),
        ({"query": "x", "tags": ["a", "b"]}, ["tags", "1"]),
        ([], []),
    ],
)
def test_a_refusal_says_where(value, path):
    error = refusal(value)
    assert error.details["path"] == path
    assert error.message.startswith(f"source:a/search: {'/'.join(path) or 'input'}: ")


def test_an_unknown_key_names_the_nearest_known_one():
    assert "did you mean 'query'" in refusal({"query": "x", "qery": "x"}).message
    assert "did you mean" not in refusal({"x": 1}, {"additionalProperties": False}).message


@pytest.mark.parametrize("schema", [True, None, "string", 7])
def test_a_schema_that_is_no_object_accepts_anything(schema):
    assert check_input(schema, {"any": [1]}, "x") == {"any": (1,)}


def test_an_input_is_json_first():
    with pytest.raises(InputError) as caught:
        check_input(True, {"a": {1}}, "x")
    assert caught.value.code == "json-non-json-value"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "thing"},
        {"$ref": "#/$defs/lost"},
    ],
)
def test_a_bad_schema_is_the_plugins_fault(schema):
    with pytest.raises(DefinitionError) as caught:
        check_input(schema, {}, "x")
    assert caught.value.code == "input-schema-invalid"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # what a fetching validator raises
def test_no_schema_is_ever_fetched(tmp_path):
    other = tmp_path / "other.json"
    other.write_text("true", encoding="utf-8")
    with pytest.raises(DefinitionError) as caught:
        check_input({"$ref": other.as_uri()}, {}, "x")
    assert caught.value.code == "input-schema-invalid"

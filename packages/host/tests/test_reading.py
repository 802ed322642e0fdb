"""Tool arguments as real clients send them."""

import json
from typing import Annotated, Literal

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_host.tools.reading import input_schema, read_arguments, tolerate
from pydantic import AliasChoices, BaseModel, ConfigDict, Field


class Sample(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    kind: Literal["preference", "fact"] | None = None
    note: Annotated[str, Field(min_length=1)] | None = None
    remark: str | None = None
    old_text: Annotated[
        str | None, Field(validation_alias=AliasChoices("old_text", "oldText"), description="Old.")
    ] = None
    count: int | None = None
    weight: float | None = None
    sure: bool | None = None
    tags: tuple[str, ...] | None = None
    ids: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    extra: dict[str, object] | None = None


def read(**arguments):
    read = read_arguments(Sample, {"name": "n", **arguments}, "sample")
    return {key: getattr(read, key) for key in read.model_fields_set - {"name"}}


def refused(arguments, model=Sample):
    with pytest.raises(InputError) as caught:
        read_arguments(model, arguments, "sample")
    return caught.value


@pytest.mark.requirement("host:tools:tolerant")
@pytest.mark.parametrize(
    "field", ["kind", "note", "remark", "old_text", "oldText", "count", "tags", "extra"]
)
def test_null_counts_as_absent(field):
    assert read(**{field: None}) == {}


@pytest.mark.requirement("host:tools:tolerant")
@pytest.mark.parametrize("field", ["kind", "note", "count", "weight", "sure", "ids", "extra"])
@pytest.mark.parametrize("value", ["", []], ids=["text", "list"])
def test_an_empty_value_that_its_schema_refuses_counts_as_absent(field, value):
    assert read(**{field: value}) == {}


def test_an_empty_value_that_its_schema_accepts_means_something():
    assert read(tags=[], remark="") == {"tags": (), "remark": ""}
    assert read(tags="[]") == {"tags": ()}
    assert read(ids="[]") == {}
    assert read(extra={}) == {"extra": {}}
    assert read(count=0, sure=False) == {"count": 0, "sure": False}


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        ("tags", '["a", "b"]', ("a", "b")),
        ("count", "7", 7),
        ("weight", "0.5", 0.5),
        ("weight", "1", 1),
        ("sure", "true", True),
        ("extra", '{"a": [1, null]}', {"a": (1, None)}),
    ],
)
def test_a_text_that_holds_exactly_the_json_is_parsed(field, text, value):
    assert read(**{field: text}) == {field: value}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tags", "a, b"),
        ("tags", "7"),
        ("tags", "null"),
        ("tags", "[" * 100_000),
        ("tags", ["a", None]),
        ("count", "7.5"),
        ("count", "true"),
        ("count", "1" * 5000),
        ("count", 7.5),
        ("weight", "true"),
        ("sure", "1"),
        ("sure", "yes"),
        ("extra", "[]x"),
        ("extra", '["a"]'),
        ("remark", 7),
        ("remark", ["x"]),
        ("kind", "facts"),
    ],
    ids=lambda value: f"{type(value).__name__} {value!s:.9}",
)
def test_what_does_not_fit_is_refused_with_field_and_shape(field, value):
    error = refused({"name": "n", field: value})
    assert error.code == "input-invalid"
    assert error.details == {"field": field}
    assert error.message.startswith(f"sample: {field}")
    assert '; accepted: {"type": ' in error.message


def test_a_text_field_is_never_parsed():
    texts = ("7", "null", "[]", '{"a": 1}', "true", '"quoted"', " ")
    for text in texts:
        assert read(remark=text) == {"remark": text}
        assert read_arguments(Sample, {"name": text}, "sample").name == text


def test_a_required_field_is_never_dropped():
    assert refused({}).details == {"field": "name"}
    assert refused({"name": None}).details == {"field": "name"}
    assert read_arguments(Sample, {"name": ""}, "sample").name == ""


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        ({"nme": "n"}, "did you mean 'name'"),
        ({"name": "n", "oldtext": "x"}, "did you mean 'old_text'"),
        ({"name": "n", "zzz": None}, "it takes name, kind, note"),
        ({"name": "n", "kind": "preferences"}, "did you mean 'preference'"),
    ],
)
def test_a_wrong_name_gets_the_nearest_known_one(arguments, hint):
    assert hint in refused(arguments).message


@pytest.mark.requirement("host:tools:proposed")
@pytest.mark.parametrize("key", ["oldTex", "oldtext", "old_txt"])
def test_a_wrong_name_gets_the_published_spelling_only(key):
    message = refused({"name": "n", key: "x"}).message
    assert "did you mean 'old_text'" in message
    assert "oldText" not in message.replace(key, "")


def test_both_spellings_are_read_and_reported_as_one():
    assert read(oldText="x") == read(old_text="x") == {"old_text": "x"}
    assert refused({"name": "n", "oldText": 7}).details == {"field": "old_text"}


def test_a_model_without_fields_takes_nothing():
    class Nothing(BaseModel):
        model_config = ConfigDict(extra="forbid", frozen=True)

    assert read_arguments(Nothing, {}, "sample") == read_arguments(Nothing, None, "sample")
    assert "no arguments" in refused({"x": 1}, Nothing).message
    assert input_schema(Nothing) == {
        "type": "object",
        "properties": {},
        "additionalProperties": False,
    }


@pytest.mark.parametrize("arguments", ["{}", [], 7])
def test_arguments_are_an_object(arguments):
    assert refused(arguments).code == "input-invalid"


@pytest.mark.requirement("host:tools:unicode")
@pytest.mark.parametrize(
    "arguments",
    [{"name": "\ud800"}, {"name": "n", "\ud800": 1}, {"name": "n", "tags": '["\\ud800"]'}],
    ids=["value", "key", "escaped"],
)
def test_lone_surrogates_are_refused(arguments):
    assert refused(arguments).code == "text-not-unicode"


def test_the_schema_says_what_a_client_may_send():
    schema = input_schema(Sample)
    assert schema["required"] == ["name"]
    assert schema["additionalProperties"] is False
    assert list(schema["properties"]) == list(Sample.model_fields)
    assert schema["properties"]["kind"] == {"enum": ["preference", "fact"], "type": "string"}
    assert schema["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["old_text"] == {"description": "Old.", "type": "string"}
    json.dumps(schema)
    schema["properties"].clear()
    assert input_schema(Sample)["properties"]


# -- schemas of others ----------------------------------------------------------------------------


def tolerated(schema, **given):
    return tolerate(schema, json_clone(given))


def test_a_foreign_schema_is_read_by_its_types():
    schema = {
        "required": ["q"],
        "properties": {
            "q": {"type": "string"},
            "nullable": {"type": ["integer", "null"]},
            "either": {"type": ["string", "array"]},
            "any": {},
            "odd": True,
            "chosen": {"enum": ["a", ""]},
            "state": {"type": "string", "enum": ["on", "off"]},
            "blank": {"type": "string", "enum": ["", "x"]},
            "some": {"type": "array", "minItems": 1},
        },
    }
    assert tolerated(schema, q=None) == {"q": None}
    assert tolerated(schema, nullable=None) == {"nullable": None}
    assert tolerated(schema, nullable="7") == {"nullable": 7}
    assert tolerated(schema, either="[]", any="[]") == {"either": "[]", "any": "[]"}
    assert tolerated(schema, either=[], any=None, odd=None, chosen="") == {
        "either": (),
        "any": None,
        "odd": None,
        "chosen": "",
    }
    assert tolerated(schema, state="", some=[], blank="") == {"blank": ""}
    assert tolerated(schema, state=None, some="[1]") == {"some": (1,)}
    assert tolerated(schema, unknown=None) == {"unknown": None}
    assert tolerated({}, x=None) == {"x": None}
    assert tolerated({"properties": None, "required": None}, x="") == {"x": ""}

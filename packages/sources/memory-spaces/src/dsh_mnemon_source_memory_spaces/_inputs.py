"""Inputs as pydantic models: what is published of them, and how a bad one is refused (D8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Final, TypeAlias, TypeVar, cast

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import thaw
from dsh_mnemon_core.wire import nearest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic.alias_generators import to_camel

__all__ = (
    "BLANK",
    "LISTED",
    "WHOLE",
    "Input",
    "Name",
    "SpaceIds",
    "input_schema",
    "limited",
    "read_input",
)

_SHOWN: Final = (
    "type",
    "description",
    "enum",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "maxItems",
)


class Input(BaseModel):
    """An input of an operation, keys in camelCase; unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        alias_generator=to_camel,
        validate_by_name=False,
        validate_by_alias=True,
        allow_inf_nan=False,
        defer_build=True,  # most are never used in a process; importing them all takes long
    )


def _blank(value: object) -> object:
    return None if isinstance(value, str) and not value.strip() else value


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _strings(value: object) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    items = cast("Sequence[object]", value)
    stripped = [item.strip() if isinstance(item, str) else item for item in items]
    return [item for item in stripped if item != ""]


BLANK: Final = BeforeValidator(_blank)
"""An optional text that is blank counts as absent."""

LISTED: Final = BeforeValidator(_strings)
"""Strings of a list are stripped and blank ones dropped."""

WHOLE: Final = BeforeValidator(_whole)
"""With ``strict``: an integer; ``1.0`` is one, ``true`` and ``"1"`` are none."""


def limited(maximum: int) -> Any:
    """Return the constraint of Text(``maximum``): stripped, not empty."""
    return StringConstraints(strip_whitespace=True, min_length=1, max_length=maximum)


Name: TypeAlias = Annotated[str, limited(500)]
"""The id of a Memory Space or of an item."""

SpaceIds: TypeAlias = Annotated[tuple[Name, ...], Field(max_length=1_000), LISTED]
"""Ids of Memory Spaces."""

Model = TypeVar("Model", bound=BaseModel)


# -- what is published ----------------------------------------------------------------------------


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Derive the JSON Schema that callers see; optional properties are absent, never null."""
    derived = model.model_json_schema(by_alias=True)
    definitions: Mapping[str, Any] = derived.get("$defs", {})
    return _object(derived, definitions)


def _object(derived: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    properties = cast("Mapping[str, Any]", derived["properties"])
    required = {"required": derived["required"]} if "required" in derived else {}
    return {
        "type": "object",
        **required,
        "additionalProperties": False,
        "properties": {
            name: _property(described, definitions) for name, described in properties.items()
        },
    }


def _property(described: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    options = cast("Sequence[Mapping[str, Any]]", described.get("anyOf", [described]))
    merged = {**described, **next(item for item in options if item.get("type") != "null")}
    if "$ref" in merged:
        named = definitions[str(merged["$ref"]).rsplit("/", 1)[-1]]
        about = {"description": described["description"]} if "description" in described else {}
        return {**_object(named, definitions), **about}
    shown: dict[str, Any] = {key: merged[key] for key in _SHOWN if key in merged}
    if merged.get("type") == "array":
        # A constraint that stands behind a validator is derived as one of strings.
        for derived, key in (("minLength", "minItems"), ("maxLength", "maxItems")):
            if derived in shown:
                shown[key] = shown.pop(derived)
        shown["items"] = _property(merged["items"], definitions)
    return shown


# -- how it is read -------------------------------------------------------------------------------

_CODES: Final = {
    "missing": "field-required",
    "string_type": "text-not-string",
    "string_too_short": "text-required",
    "string_too_long": "text-too-long",
    "string_unicode": "text-not-unicode",
    "int_type": "integer-range",
    "greater_than_equal": "number-range",
    "less_than_equal": "number-range",
    "float_type": "number-range",
    "float_parsing": "number-range",
    "finite_number": "number-range",
    "bool_type": "boolean-required",
    "bool_parsing": "boolean-required",
    "tuple_type": "array-required",
    "too_long": "array-too-long",
    "too_short": "array-empty",
    "model_type": "not-an-object",
    "model_attributes_type": "not-an-object",
    "dict_type": "not-an-object",
}

_DEMANDS: Final = {
    "missing": "is required",
    "string_type": "must be a string",
    "string_too_short": "is required",
    "string_too_long": "is too long (max {max_length} characters)",
    "string_unicode": "must be well-formed Unicode",
    "int_type": "must be a whole number",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "literal_error": "must be {expected}",
    "tuple_type": "must be a list",
    "too_long": "has too many items (max {max_length})",
    "too_short": "must have an item",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "dict_type": "must be an object",
}
"""What is asked of a field, by the kind of pydantic's complaint; braces take from its context."""


def read_input(model: type[Model], value: object, label: str = "the operation") -> Model:
    """Read an input; nothing at all counts as an empty object.

    Args:
        model: The model of the input.
        value: JSON, frozen or plain.
        label: The operation, for the message.

    Raises:
        InputError: The first thing that does not fit, with its field in ``details.field``:
            ``not-an-object``, ``key-unknown``, ``field-required``, ``text-required``,
            ``text-too-long``, ``text-not-string``, ``text-not-unicode``, ``number-range``,
            ``integer-range``, ``array-required``, ``array-too-long``, ``<field>-unsupported`` for
            a choice that does not exist, else ``value-invalid``.
    """
    try:
        return model.model_validate({} if value is None else thaw(value))
    except ValidationError as error:
        raise _refusal(error, model, label) from None


def _refusal(error: ValidationError, model: type[BaseModel], label: str) -> InputError:
    problem = error.errors(include_url=False, include_input=False)[0]
    place = problem["loc"]
    if not place:
        return InputError("not-an-object", f"the input of {label} must be an object")
    field = ".".join(str(part) for part in place)
    details = {"field": field}
    if problem["type"] == "extra_forbidden":
        hint = nearest(field, _keys(model))
        return InputError("key-unknown", f"{label} has no field {field!r}{hint}", details=details)
    names = [part for part in place if isinstance(part, str)]
    unsupported = f"{_dashed(names[-1])}-unsupported"
    codes = {**_CODES, "literal_error": unsupported}
    code = codes.get(problem["type"], "value-invalid")
    return InputError(code, f"{_shown(place)} {_demand(problem)}", details=details)


def _shown(place: Sequence[int | str]) -> str:
    """Return a field as it is spoken of: ``name`` for ``request.name``, ``item 2 of tags``."""
    shown = ""
    for part in place[1:] if place[0] == "request" and len(place) > 1 else place:
        name = f"item {part + 1}" if isinstance(part, int) else part
        shown = f"{name} of {shown}" if shown else name
    return shown


def _demand(problem: Mapping[str, Any]) -> str:
    """Return what a value has to be, as it goes on after the name of the field."""
    context: Mapping[str, Any] = problem.get("ctx", {})
    if problem["type"] == "value_error":
        return str(context["error"])
    demand = _DEMANDS.get(problem["type"])
    return f"is refused: {problem['msg']}" if demand is None else demand.format_map(context)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _dashed(name: str) -> str:
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).replace("_", "-")

"""Reading tool arguments as real clients send them, and the schemas they are told (D8, D59)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, TypeVar, cast

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import FrozenDict, JsonObject, json_clone, thaw
from dsh_mnemon_core.wire import nearest
from pydantic import BaseModel, ValidationError

__all__ = ("input_schema", "read_arguments", "tolerate")

M = TypeVar("M", bound=BaseModel)

_PARSED: Final[Mapping[str, type | tuple[type, ...]]] = {
    "array": list,
    "object": dict,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}
_EMPTY: Final[Mapping[type, tuple[str, str]]] = {
    type(None): ("null", ""),
    str: ("string", "minLength"),
    tuple: ("array", "minItems"),
}
"""Type of an empty value, and the keyword that would refuse it."""


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Derive the JSON Schema of a tool's arguments from its model.

    Titles are left out, and an optional field has the schema of its value: it is absent when
    unset, never null.
    """
    plain: dict[str, Any] = thaw(_schema(model))
    return plain


@cache
def _schema(model: type[BaseModel]) -> FrozenDict:
    derived = model.model_json_schema(by_alias=True)
    properties = {name: _field(item) for name, item in derived.get("properties", {}).items()}
    return FrozenDict(
        json_clone(
            {
                "type": "object",
                "properties": properties,
                **({"required": derived["required"]} if derived.get("required") else {}),
                "additionalProperties": False,
            }
        )
    )


def _field(described: JsonObject) -> dict[str, Any]:
    options = described.get("anyOf", [described])
    chosen = next(item for item in options if item.get("type") != "null")
    merged = {**described, **chosen}
    return {key: merged[key] for key in merged if key not in ("title", "default", "anyOf")}


def read_arguments(model: type[M], arguments: object, tool: str) -> M:
    """Read a tool's arguments tolerantly, then validate them strictly.

    Args:
        model: Model of the arguments.
        arguments: What a client sent; ``None`` counts as no arguments.
        tool: Name of the tool, for messages.

    Raises:
        InputError: ``input-invalid``, naming the field, the accepted shape and the nearest name;
            ``text-not-unicode`` and the other codes of values that are no JSON.
    """
    if not isinstance(arguments, (Mapping, type(None))):
        raise InputError("input-invalid", f"{tool}: the arguments must be a JSON object")
    given: JsonObject = json_clone(cast("object", arguments or {}), f"{tool} arguments")
    names, schema = _names(model), _schema(model)
    for key in given:
        if key not in names:
            raise InputError(
                "input-invalid",
                f"{tool} has no field {key!r}{nearest(key, schema['properties'])}; "
                f"it takes {', '.join(schema['properties']) or 'no arguments'}",
                details={"field": key},
            )
    try:
        return model.model_validate(tolerate(schema, given, names))
    except ValidationError as error:
        raise _refusal(error, schema, names, tool) from None


@cache
def _names(model: type[BaseModel]) -> FrozenDict:
    """Map every accepted spelling of a field to its published one."""
    names: dict[str, str] = {}
    for name, field in model.model_fields.items():
        public = field.serialization_alias or field.alias or name
        aliases = getattr(field.validation_alias, "choices", [field.validation_alias])
        for spelling in (public, *(item for item in aliases if isinstance(item, str))):
            names[spelling] = public
    return FrozenDict(names)


def tolerate(
    schema: JsonObject, given: JsonObject, names: Mapping[str, str] | None = None
) -> FrozenDict:
    """Correct what clients send although no schema says so (D59); nothing is refused here.

    Where a field takes arrays, objects, numbers or booleans and no text, a text that holds exactly
    such JSON is parsed. An optional field that is null, an empty text or an empty array is left
    out, unless its schema accepts the empty value; where it does, the value means something.

    Args:
        schema: JSON Schema of an object.
        given: Frozen JSON, as it was sent.
        names: Other spellings of fields by the published one.
    """
    properties: JsonObject = schema.get("properties") or {}
    required = schema.get("required") or ()
    kept: dict[str, Any] = {}
    for key, value in given.items():
        name = (names or {}).get(key, key)
        field: Any = properties.get(name)
        read = _parsed(value, field)
        if name in required or not _absent(read, field):
            kept[key] = read
    return FrozenDict(kept)


def _types(field: Any) -> tuple[str, ...]:
    """Return the types a schema names; none where it describes its values in another way."""
    named: Any = cast("JsonObject", field).get("type") if isinstance(field, Mapping) else None
    return (named,) if isinstance(named, str) else tuple(named or ())


def _parsed(value: Any, field: Any) -> Any:
    types = _types(field)
    if not isinstance(value, str) or "string" in types:
        return value
    try:
        parsed: Any = json.loads(value)
    except (ValueError, RecursionError):
        return value
    fits = any(
        isinstance(parsed, _PARSED[kind]) and isinstance(parsed, bool) == (kind == "boolean")
        for kind in types
        if kind in _PARSED
    )
    return json_clone(cast("object", parsed), "a text that holds JSON") if fits else value


def _absent(value: Any, field: Any) -> bool:
    types = _types(field)
    if value or not types or type(value) not in _EMPTY:
        return False
    kind, least = _EMPTY[type(value)]
    means_something = kind in types and not field.get(least)
    return not means_something or value not in field.get("enum", (value,))


def _refusal(
    error: ValidationError, schema: JsonObject, names: Mapping[str, str], tool: str
) -> InputError:
    problem = error.errors(include_url=False, include_context=False)[0]
    path = [str(part) for part in problem["loc"]]
    field = names.get(path[0], path[0])
    described: JsonObject = schema["properties"].get(field, {})
    shape = {key: thaw(described[key]) for key in ("type", "enum", "items") if key in described}
    given, options = problem["input"], cast("list[str]", shape.get("enum", []))
    hint = nearest(given, options) if isinstance(given, str) else ""
    return InputError(
        "input-invalid",
        f"{tool}: {'.'.join([field, *path[1:]])}: {problem['msg']}{hint}; "
        f"accepted: {json.dumps(shape, ensure_ascii=False)}",
        details={"field": field},
    )

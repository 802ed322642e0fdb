"""Reading tool arguments as real clients send them, and the schemas they are told (D8, D59)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.wire import nearest
from pydantic import BaseModel, ValidationError

__all__ = ("input_schema", "read_arguments")

M = TypeVar("M", bound=BaseModel)

_EMPTY: Final[tuple[Any, ...]] = (None, "", [], ())
_PARSED: Final[dict[str, type | tuple[type, ...]]] = {
    "array": list,
    "object": dict,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
}


def input_schema(model: type[BaseModel]) -> dict[str, Any]:
    """Derive the JSON Schema of a tool's arguments from its model.

    Titles are left out, and an optional field has the schema of its value: it is absent when
    unset, never null.
    """
    derived = model.model_json_schema(by_alias=True)
    return {
        "type": "object",
        "properties": {name: _field(item) for name, item in derived.get("properties", {}).items()},
        **({"required": derived["required"]} if derived.get("required") else {}),
        "additionalProperties": False,
    }


def _field(described: Mapping[str, Any]) -> dict[str, Any]:
    options = described.get("anyOf", [described])
    chosen = next(item for item in options if item.get("type") != "null")
    merged = {**described, **chosen}
    return {key: merged[key] for key in merged if key not in ("title", "default", "anyOf")}


def read_arguments(model: type[M], arguments: object, tool: str) -> M:
    """Read a tool's arguments tolerantly, then validate them strictly.

    For an optional field null, an empty text and an empty array count as absent, unless the model
    lists the field in ``MEANINGFUL_WHEN_EMPTY``. Where the schema says array, object, number or
    boolean, a string that holds exactly such JSON is parsed; a string field never is.

    Raises:
        InputError: ``input-invalid``, naming the field, the accepted shape and the nearest name.
    """
    if not isinstance(arguments, Mapping):
        raise InputError("input-invalid", f"{tool}: the arguments must be a JSON object")
    given = cast("Mapping[str, Any]", json_clone(arguments, f"{tool} arguments"))
    schema = input_schema(model)
    known: Mapping[str, Any] = schema["properties"]
    names = _names(model)
    for key in given:
        if key not in names:
            raise InputError(
                "input-invalid",
                f"{tool} has no field {key!r}{nearest(key, names)}; it takes {', '.join(known)}",
                details={"field": key},
            )
    required = schema.get("required", [])
    meaningful: frozenset[str] = getattr(model, "MEANINGFUL_WHEN_EMPTY", frozenset())
    kept = {
        key: _parsed(item, known.get(names[key], {}))
        for key, item in given.items()
        if not _empty(item) or names[key] in required or (names[key] in meaningful and item == ())
    }
    try:
        return model.model_validate(kept)
    except ValidationError as error:
        raise _refusal(error, known, tool) from None


def _empty(value: object) -> bool:
    return any(value == item for item in _EMPTY)


def _names(model: type[BaseModel]) -> dict[str, str]:
    """Map every accepted spelling of a field to its published one."""
    names: dict[str, str] = {}
    for name, field in model.model_fields.items():
        public = field.serialization_alias or field.alias or name
        aliases = getattr(field.validation_alias, "choices", [field.validation_alias])
        for spelling in (public, *(item for item in aliases if isinstance(item, str))):
            names[spelling] = public
    return names


def _parsed(value: Any, schema: Mapping[str, Any]) -> Any:
    wanted = _PARSED.get(str(schema.get("type")))
    if wanted is None or not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value)
    except ValueError:
        return value
    fits = isinstance(parsed, wanted) and isinstance(parsed, bool) == (wanted is bool)
    return json_clone(parsed, "argument") if fits else value


def _refusal(error: ValidationError, known: Mapping[str, Any], tool: str) -> InputError:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    path = [str(part) for part in problem["loc"]]
    field = path[0] if path else "arguments"
    shape = {k: v for k, v in known.get(field, {}).items() if k in ("type", "enum", "items")}
    accepted = f"; accepted: {json.dumps(shape, ensure_ascii=False)}" if shape else ""
    return InputError(
        "input-invalid",
        f"{tool}: {'.'.join(path) or field}: {problem['msg']}{accepted}",
        details={"field": field},
    )

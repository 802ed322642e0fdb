"""Input validation against offered schemas (spec/core.md §9.1, D8)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from dsh_mnemon_core.errors import DefinitionError, InputError
from dsh_mnemon_core.values import canonical, json_clone, thaw
from dsh_mnemon_core.wire import nearest

if TYPE_CHECKING:
    from jsonschema import ValidationError
    from jsonschema.protocols import Validator


def check_input(schema: Any, value: Any, label: str) -> Any:
    """Validate an input as JSON Schema Draft 2020-12 and return its frozen clone.

    Args:
        schema: JSON Schema; one that is no object accepts anything.
        value: The caller's input.
        label: The route or action, for the message.

    Raises:
        InputError: ``input-invalid``, saying where and what was wrong.
        DefinitionError: ``input-schema-invalid``, when the plugin's schema itself is none or
            refers to what it does not contain; nothing is ever fetched.
    """
    frozen = json_clone(value, "input")
    if not isinstance(schema, Mapping):
        return frozen
    error = _first_error(canonical(cast("object", schema)), thaw(frozen))
    if error is not None:
        path = [str(part) for part in error.absolute_path]
        raise InputError(
            "input-invalid",
            f"{label}: {'/'.join(path) or 'input'}: {error.message}{_hint(error)}",
            details={"path": path},
        )
    return frozen


# The validator is imported below: a command that reads no input should not pay for it.


def _first_error(schema: str, value: Any) -> ValidationError | None:
    from referencing.exceptions import Unresolvable

    try:
        return next(_validator(schema).iter_errors(value), None)
    except Unresolvable as error:
        raise _bad_schema(error) from None


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    plain = json.loads(schema)
    try:
        Draft202012Validator.check_schema(plain)
    except SchemaError as error:
        raise _bad_schema(error) from None
    return Draft202012Validator(plain, registry=Registry())


def _bad_schema(error: Exception) -> DefinitionError:
    return DefinitionError("input-schema-invalid", f"bad input schema: {error}")


def _hint(error: Any) -> str:
    """Name the nearest known key when an unknown one was the fault."""
    if error.validator != "additionalProperties":
        return ""
    known = error.schema.get("properties", {})
    return nearest(next(key for key in error.instance if key not in known), known)

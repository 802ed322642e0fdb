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
    from jsonschema.protocols import Validator


def check_input(schema: Any, value: Any, label: str) -> Any:
    """Validate an input as JSON Schema Draft 2020-12 and return its frozen clone.

    Args:
        schema: JSON Schema; one that is no object accepts anything.
        value: The caller's input.
        label: The route or action, for the message.

    Raises:
        InputError: ``input-invalid``, saying where and what was wrong.
        DefinitionError: ``input-schema-invalid``, when the plugin's schema itself is none.
    """
    frozen = json_clone(value, "input")
    if not isinstance(schema, Mapping):
        return frozen
    text = canonical(cast("object", schema))
    error = next(_validator(text).iter_errors(thaw(frozen)), None)
    if error is not None:
        where = "/".join(str(part) for part in error.absolute_path) or "input"
        raise InputError(
            "input-invalid",
            f"{label}: {where}: {error.message}{_hint(error)}",
            details={"path": [str(part) for part in error.absolute_path]},
        )
    return frozen


@lru_cache(maxsize=256)
def _validator(schema: str) -> Validator:
    # Imported here: a command that reads no input should not pay for the validator.
    from jsonschema import Draft202012Validator, SchemaError

    plain = json.loads(schema)
    try:
        Draft202012Validator.check_schema(plain)
    except SchemaError as error:
        raise DefinitionError(
            "input-schema-invalid", f"bad input schema: {error.message}"
        ) from None
    return Draft202012Validator(plain)


def _hint(error: Any) -> str:
    """Name the nearest known key when an unknown one was the fault."""
    if error.validator != "additionalProperties":
        return ""
    known = error.schema.get("properties", {})
    unknown = next((key for key in error.instance if key not in known), "")
    return nearest(unknown, known)

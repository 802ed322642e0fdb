"""What the Runtime Source offers: manifest and input of ``mutate`` (spec/sources.md §2.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import ActionManifest, SourceManifest
from dsh_mnemon_core.wire import nearest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from dsh_mnemon_source_runtime.contracts import Action, Importance, Mutation, Target

__all__ = ("INPUT_SCHEMA", "MANIFEST", "MutationInput", "read_mutation")

_MAX_CHARACTERS: Final = 100_000
_MAX_BRANCHES: Final = 100


class MutationInput(BaseModel):
    """Input of ``mutate`` as a caller writes it; the published schema is derived from it.

    ``old_text`` is read like ``oldText``. Rules that depend on the store come later.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    action: Action
    target: Target
    content: str | None = Field(None, max_length=_MAX_CHARACTERS)
    old_text: str | None = Field(
        None,
        max_length=_MAX_CHARACTERS,
        validation_alias=AliasChoices("oldText", "old_text"),
        description=(
            "For replace and remove: the whole text of the entry you mean, or a part that no other"
            " entry of the same target contains. A single entry that equals it wins."
        ),
    )
    importance: Importance | None = None
    branches: tuple[Any, ...] | None = Field(None, max_length=_MAX_BRANCHES)


def _property(described: dict[str, Any]) -> dict[str, Any]:
    """Reduce a derived property to what a caller needs; optional ones are absent, never null."""
    options = described.get("anyOf", [described])
    merged = {**described, **next(item for item in options if item.get("type") != "null")}
    return {key: merged[key] for key in ("type", "description", "enum") if key in merged}


def _input_schema() -> dict[str, Any]:
    derived = MutationInput.model_json_schema()
    properties = derived["properties"].items()
    return {
        "type": derived["type"],
        "required": derived["required"],
        "additionalProperties": derived["additionalProperties"],
        "properties": {name: _property(described) for name, described in properties},
    }


INPUT_SCHEMA: Final = _input_schema()
"""JSON Schema of the input of ``mutate``, key order included."""

MANIFEST: Final = SourceManifest(
    type_id="runtime",
    package_name="dsh-mnemon-source-runtime",
    role="working-context",
    capabilities=("status", "project", "write"),
    consistency="exact-snapshot",
    actions=(
        ActionManifest(
            id="mutate",
            description=(
                "Add, replace or remove one short entry of USER.md (target user: who the user is"
                " and how they like to work) or MEMORY.md (target memory: facts about the project)."
            ),
            capability="write",
            input_schema=INPUT_SCHEMA,
        ),
    ),
    management={
        "label": "Runtime Memory",
        "description": "Short entries that every turn starts with: USER.md and MEMORY.md.",
    },
)
"""Manifest of the Source: no routes, one action (D34)."""

_CODES: Final = {
    "action": "action-unsupported",
    "target": "target-unsupported",
    "importance": "importance-unsupported",
    "content": "text-not-string",
    "oldText": "text-not-string",
    "old_text": "text-not-string",
    "branches": "branches-invalid",
}
_TYPES: Final = {
    "string_too_long": "text-too-long",
    "string_unicode": "text-not-unicode",
    "too_long": "branches-too-many",
}


def read_mutation(value: object) -> Mutation:
    """Read the input of ``mutate``.

    Args:
        value: A JSON object as `INPUT_SCHEMA` describes it; ``old_text`` is read where there is no
            ``oldText``.

    Raises:
        InputError: ``not-an-object``, ``key-unknown``, ``action-unsupported``,
            ``target-unsupported``, ``importance-unsupported``, ``text-not-string``,
            ``text-too-long``, ``text-not-unicode``, ``branches-invalid`` or
            ``branches-too-many``; ``details.field`` names the field.
    """
    given = value
    if isinstance(value, Mapping) and "oldText" in value:
        fields = cast("Mapping[str, object]", value)
        given = {key: item for key, item in fields.items() if key != "old_text"}
    try:
        read = MutationInput.model_validate(given)
    except ValidationError as error:
        raise _refusal(error) from None
    return Mutation(**dict(read))


def _refusal(error: ValidationError) -> InputError:
    problem = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if not problem["loc"]:
        return InputError("not-an-object", "the input of mutate must be an object")
    field = str(problem["loc"][0])
    details = {"field": field}
    if problem["type"] == "extra_forbidden":
        hint = nearest(field, [*_CODES])
        return InputError("key-unknown", f"mutate has no field {field!r}{hint}", details=details)
    code = _TYPES.get(problem["type"], _CODES[field])
    return InputError(code, f"{field}: {problem['msg']}", details=details)

"""What every section of the configuration has in common (host.md §2.2)."""

from __future__ import annotations

import ast
import inspect
import re
from itertools import pairwise
from textwrap import dedent
from typing import Annotated, Any, TypeAlias, cast

from dsh_mnemon_core.values import FrozenDict
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

__all__ = (
    "ComponentId",
    "FrozenMap",
    "OffOr",
    "Printable",
    "Section",
    "StoreId",
    "Switch",
    "printable",
    "unique",
)

ID_PATTERN = r"^[a-z][a-z0-9-]{0,127}$"
STORE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def printable(value: str) -> str:
    """Refuse text with control characters."""
    if _CONTROL.search(value):
        raise PydanticCustomError("setting-format", "holds a control character")
    return value


def unique(values: tuple[str, ...]) -> tuple[str, ...]:
    """Drop repeated members; the first one keeps its place."""
    return tuple(dict.fromkeys(values))


def _off(value: object) -> object:
    """Read a bare ``off`` of YAML 1.1, which arrives as ``False``, as the word it was."""
    return "off" if value is False else value


def _frozen(value: Any) -> Any:
    return FrozenDict(value)


ComponentId: TypeAlias = Annotated[
    str, StringConstraints(strip_whitespace=True, pattern=ID_PATTERN)
]
"""Id of a Source type, Strategy, Provider or component."""

StoreId: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, pattern=STORE_PATTERN)]
"""Id of a store or of a custom pack."""

Printable = AfterValidator(printable)
"""Refuses control characters."""

OffOr = BeforeValidator(_off)
"""Lets the word ``off`` through, however the YAML reader of a profile understood it."""

FrozenMap = AfterValidator(_frozen)
"""Keeps a mapping of a frozen model from being changed."""

Switch: TypeAlias = Annotated[bool, Field(strict=True)]
"""True or false; no numbers, no words."""


def _trimmed(key: object, value: object) -> object:
    if not isinstance(value, str):
        return value
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise PydanticCustomError(
                "text-not-unicode",
                "holds a lone surrogate, which is not Unicode text",
                {"key": str(key)},
            ) from None
    return value.strip()


def _docstrings(section: type[BaseModel]) -> dict[str, str]:
    """Return the text below each field of a class, by field; none where there is no source."""
    try:
        tree = ast.parse(dedent(inspect.getsource(section)))
    except (OSError, TypeError, SyntaxError):
        return {}
    return {
        field.target.id: inspect.cleandoc(below.value.value)
        for definition in tree.body
        if isinstance(definition, ast.ClassDef) and definition.name == section.__name__
        for field, below in pairwise(definition.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


class Section(BaseModel):
    """A mapping of settings: frozen, camelCase, unknown keys refused.

    Texts are trimmed; a known key that holds an empty text or null counts as unset. The text below
    a field describes it in the JSON Schema.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        hide_input_in_errors=True,
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_unset(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        known = {field.alias for field in cls.model_fields.values()}
        trimmed = {k: _trimmed(k, v) for k, v in cast("dict[object, object]", value).items()}
        return {k: v for k, v in trimmed.items() if not (k in known and v in (None, ""))}

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler, /
    ) -> JsonSchemaValue:
        # Not ``use_attribute_docstrings``, which reads the source of every section at each start.
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, described in _docstrings(cls).items():
            shown = properties[cls.model_fields[name].alias or name]
            if handler.resolve_ref_schema(shown).get("description") != described:
                shown["description"] = described
        return schema

"""What every section of the configuration has in common (host.md §2.2)."""

from __future__ import annotations

import re
from typing import Annotated, Any, TypeAlias, cast

from dsh_mnemon_core.values import FrozenDict
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

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


class Section(BaseModel):
    """A mapping of settings: frozen, camelCase, unknown keys refused.

    Texts are trimmed; a known key that holds an empty text or null counts as unset.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        use_attribute_docstrings=True,
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

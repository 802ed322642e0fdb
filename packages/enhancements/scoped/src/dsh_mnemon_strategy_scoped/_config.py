"""Settings of the Scoped enhancement."""

from __future__ import annotations

from typing import Annotated, Self, TypeAlias

from dsh_mnemon_core.configuration import reading
from dsh_mnemon_core.slots import Selection, read_source_keys
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

__all__ = ("ScopedConfig",)

_Keys: TypeAlias = Annotated[
    Annotated[tuple[str, ...], Field(max_length=32)] | None,
    BeforeValidator(reading(read_source_keys)),
]


class ScopedConfig(BaseModel):
    """What a profile may set, keys in camelCase; an unknown key is refused.

    Attributes:
        source_keys: At most 32 distinct instance keys in order of priority; absent means every
            Source of the three product roles, and an empty list selects nothing.
        writable_source_keys: Those of them that may offer actions; absent means all, and an empty
            list makes the View read-only.

    Source: spec/core.md §17.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    source_keys: _Keys = None
    writable_source_keys: _Keys = None

    @model_validator(mode="after")
    def _writable_ones_are_selected(self) -> Self:
        if self.source_keys is not None:
            reading(self.selection)(self.source_keys)
        return self

    def selection(self, source_keys: tuple[str, ...]) -> Selection:
        """Return the slot value for these Sources.

        Raises:
            ContractError: ``writable-not-selected``.
        """
        return Selection(source_keys=source_keys, writable_source_keys=self.writable_source_keys)

"""Settings of the General Strategy."""

from __future__ import annotations

from typing import Annotated, Any

from dsh_mnemon_core.checks import optional_text
from dsh_mnemon_core.configuration import reading
from dsh_mnemon_core.slots import MAX_INSTRUCTION, read_source_keys
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ("GeneralConfig",)


def _instruction(value: Any) -> str | None:
    return optional_text(value, "instruction", MAX_INSTRUCTION)


class GeneralConfig(BaseModel):
    """What a profile may set, keys in camelCase; an unknown key is refused.

    Attributes:
        resident_source_keys: At most 32 distinct instance keys of the Sources whose text stands in
            the context itself; absent means every Source of role ``working-context``, and an empty
            list means none.
        instruction: A word of the person's own for the model, at most 4 000 characters; blank
            counts as none.

    Source: spec/core.md §16.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    resident_source_keys: Annotated[
        Annotated[tuple[str, ...], Field(max_length=32)] | None,
        BeforeValidator(reading(read_source_keys)),
    ] = None
    instruction: Annotated[
        Annotated[str, Field(max_length=MAX_INSTRUCTION)] | None,
        BeforeValidator(reading(_instruction)),
    ] = None

"""Settings of the Light context enhancement."""

from __future__ import annotations

from typing import Annotated, Any, Final

from dsh_mnemon_core.checks import integer
from dsh_mnemon_core.configuration import reading
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ("LightContextConfig",)

_MOST: Final = 10_000_000


def _characters(value: Any) -> int:
    return integer(value, "maxProjectionCharacters", 1, _MOST)


class LightContextConfig(BaseModel):
    """What a profile may set, keys in camelCase; an unknown key is refused.

    Attributes:
        max_projection_characters: Characters that all projected texts of a View may have together,
            1..10 000 000.

    Source: spec/core.md §17.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    max_projection_characters: Annotated[
        int, BeforeValidator(reading(_characters)), Field(ge=1, le=_MOST)
    ] = 4_096

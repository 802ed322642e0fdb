"""Configuration of one mnemon-native child (spec/README.md D46)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

__all__ = ("Config",)


class Config(BaseModel):
    """Settings of one child, keys in camelCase.

    Attributes:
        engine: ``embedded`` works on the files itself; ``cli`` runs a ``mnemon`` binary.
        ranking: Serves mode ``smart`` of the embedded engine: ``hybrid`` is ours, ``compatible``
            ranks as the command line tool does.
        max_insights: Above so many insights the weakest are pruned; 0 = never.
    """

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, populate_by_name=True
    )

    engine: Literal["embedded", "cli"] = "embedded"
    ranking: Literal["hybrid", "compatible"] = "hybrid"
    max_insights: Annotated[int, Field(ge=0, strict=True)] = 0

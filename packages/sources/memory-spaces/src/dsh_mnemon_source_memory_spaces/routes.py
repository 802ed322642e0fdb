"""The reads Memory Spaces offer, and the input of each (spec/sources.md §4.6)."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from dsh_mnemon_core.sdk import RouteManifest
from pydantic import Field

from dsh_mnemon_source_memory_spaces._inputs import (
    BLANK,
    WHOLE,
    Input,
    Name,
    SpaceIds,
    input_schema,
    limited,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    Category,
    EdgeType,
    Intent,
    RecallMode,
)

__all__ = ("ROUTES", "InspectInput", "RecallInput", "RelatedInput", "Speaker")

Speaker = Literal["user", "agent", "external"]
"""Who said what is remembered."""

CATEGORY: Final = "Only memories of this kind."
SPEAKER: Final = "Only what this side said."


class InspectInput(Input):
    """Input of ``inspect``."""

    section: Literal["directory", "health"] = Field(
        description=(
            "directory: which Memory Spaces there are, what each is for and can do;"
            " health: what works and what does not."
        )
    )


class RecallInput(Input):
    """Input of ``recall``; filters narrow, and the route's own ceiling may narrow ``limit``."""

    query: Annotated[str, limited(2_000)] = Field(
        description="What you want to know, in words that the memory itself may contain."
    )
    mode: RecallMode = Field(
        "smart", description="smart ranks by meaning; keyword and basic match words only."
    )
    limit: Annotated[int, Field(strict=True, ge=1, le=20), WHOLE] | None = Field(
        None, description="Most results, 10 unless given."
    )
    category: Annotated[Category | None, BLANK] = Field(None, description=CATEGORY)
    source: Annotated[Speaker | None, BLANK] = Field(None, description=SPEAKER)
    intent: Annotated[Intent | None, BLANK] = Field(
        None, description="What the question is after: a cause, a time, a name, anything."
    )
    memory_body_ids: SpaceIds | None = Field(
        None, description="Ids of the Memory Spaces to ask; all active ones unless given."
    )


class RelatedInput(Input):
    """Input of ``related``."""

    id: Name = Field(description="Id of a memory that recall returned.")
    depth: Annotated[int, Field(strict=True, ge=1, le=5), WHOLE] = Field(
        2, description="How many links to follow."
    )
    edge: Annotated[EdgeType | None, BLANK] = Field(None, description="Only links of this kind.")
    memory_body_id: Annotated[Name | None, BLANK] = Field(
        None, description="The Memory Space of that memory."
    )


ROUTES: Final = (
    RouteManifest(
        id="inspect",
        description="Show the Memory Spaces there are, or whether they work.",
        capability="status",
        input_schema=input_schema(InspectInput),
        max_calls=4,
        max_results=1,
        max_characters=12_000,
    ),
    RouteManifest(
        id="recall",
        description="Search the active Memory Spaces for what was kept in earlier sessions.",
        capability="recall",
        input_schema=input_schema(RecallInput),
        max_calls=4,
        max_results=20,
        max_characters=16_000,
    ),
    RouteManifest(
        id="related",
        description="Follow the links of a memory that recall returned.",
        capability="related",
        input_schema=input_schema(RelatedInput),
        max_calls=4,
        max_results=20,
        max_characters=16_000,
    ),
)
"""The routes, in the order of the manifest."""

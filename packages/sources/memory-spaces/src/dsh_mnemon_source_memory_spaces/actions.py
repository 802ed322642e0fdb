"""The changes Memory Spaces offer, their inputs, and the manifest (spec/sources.md §4.1, §4.9)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from dsh_mnemon_core.sdk import ActionManifest, SourceManifest
from pydantic import AfterValidator, Field

from dsh_mnemon_source_memory_spaces._inputs import (
    BLANK,
    LISTED,
    WHOLE,
    Input,
    Name,
    input_schema,
    limited,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.items import (
    Category,
    EdgeType,
    RememberRequest,
)
from dsh_mnemon_source_memory_spaces.routes import ROUTES, Speaker

__all__ = (
    "ACTIONS",
    "MANIFEST",
    "ForgetInput",
    "LinkInput",
    "ManageSpacesInput",
    "RememberInput",
    "SelectionInput",
    "SpaceInput",
    "Words",
)

_SPACE: Final = "The Memory Space; it may be left out where there is only one."


def _no_comma(values: tuple[str, ...]) -> tuple[str, ...]:
    if any("," in value for value in values):
        raise ValueError("must not contain a comma")
    return values


Words: TypeAlias = Annotated[tuple[str, ...], LISTED, AfterValidator(_no_comma)]
"""Tags or entities; a list that names them joins them with commas."""


class SpaceInput(Input):
    """What a new Memory Space is to be."""

    name: Annotated[str, limited(100)] = Field(description="Short title.")
    description: Annotated[str, limited(1_000)] = Field(
        description="What belongs in it; this is what later writes are routed by."
    )
    active: bool | None = Field(None, description="Whether recall reads it at once.")
    provider_id: Annotated[Name | None, BLANK] = Field(
        None, description="Which Provider holds it; the configured one unless given."
    )


class SelectionInput(Input):
    """The Provider chosen for a new Space where the rules leave several."""

    provider_id: Name
    reason: Annotated[str, limited(1_000)]
    confidence: Literal["high", "medium", "low"]


class ManageSpacesInput(Input):
    """Input of ``manage-spaces``: which fields are needed depends on the operation."""

    operation: Literal["create", "update", "merge"]
    request: SpaceInput | None = Field(None, description="For create.")
    selection: SelectionInput | None = Field(
        None, description="For create where placement is automatic and several Providers are left."
    )
    memory_body_id: Annotated[Name | None, BLANK] = Field(
        None, description="For update: the Space to change."
    )
    name: Annotated[Annotated[str, limited(100)] | None, BLANK] = None
    description: Annotated[Annotated[str, limited(1_000)] | None, BLANK] = None
    active: bool | None = None
    target_memory_body_id: Annotated[Name | None, BLANK] = Field(
        None, description="For merge: the Space that receives."
    )
    source_memory_body_ids: Annotated[tuple[Name, ...], Field(max_length=20), LISTED] | None = (
        Field(
            None, description="For merge: the Spaces whose memories are copied; nothing is deleted."
        )
    )
    deactivate_sources: bool = Field(
        True, description="For merge: whether the copied Spaces stop being read."
    )


class RememberInput(Input):
    """One memory to keep, as ``remember`` takes it."""

    content: Annotated[str, limited(8_192)] = Field(
        description="One self-contained statement that makes sense without this conversation;"
        " white space around it is dropped."
    )
    category: Category = "general"
    importance: Annotated[int, Field(strict=True, ge=1, le=5), WHOLE] = 3
    tags: Annotated[Words, Field(max_length=20)] = ()
    entities: Annotated[Words, Field(max_length=50)] = Field(
        (), description="Names it is about: people, projects, systems."
    )
    source: Speaker = "user"
    memory_body_id: Annotated[Name | None, BLANK] = Field(None, description=_SPACE)

    def request(self, *, exact: bool = False) -> RememberRequest:
        """Return what a Provider is asked to keep."""
        return RememberRequest(
            content=self.content,
            category=self.category,
            importance=self.importance,
            source=self.source,
            tags=self.tags,
            entities=self.entities,
            exact=exact,
        )


class LinkInput(Input):
    """Input of ``link``."""

    source_id: Name = Field(description="Id of a memory that recall returned.")
    target_id: Name = Field(description="Id of another one of the same Memory Space.")
    memory_body_id: Annotated[Name | None, BLANK] = Field(None, description=_SPACE)
    type: EdgeType = "semantic"
    weight: Annotated[float, Field(ge=0, le=1, strict=True)] = 0.5
    reason: Annotated[Annotated[str, limited(1_000)] | None, BLANK] = None


class ForgetInput(Input):
    """Input of ``forget``."""

    id: Name = Field(description="Id of a memory that recall returned.")
    memory_body_id: Annotated[Name | None, BLANK] = Field(None, description=_SPACE)


def _action(id: str, capability: Any, model: type[Input], description: str) -> ActionManifest:
    return ActionManifest(
        id=id,
        capability=capability,
        description=description,
        input_schema=input_schema(model),
    )


ACTIONS: Final = (
    _action(
        "manage-spaces",
        "write",
        ManageSpacesInput,
        "Create a Memory Space, change its title, description or activation, or copy native ones"
        " together.",
    ),
    _action(
        "remember",
        "write",
        RememberInput,
        "Keep one lasting statement in a Memory Space.",
    ),
    _action("link", "link", LinkInput, "Join two memories of one Memory Space."),
    _action("forget", "forget", ForgetInput, "Remove one memory that recall returned."),
)
"""The actions, in the order of the manifest."""

MANIFEST: Final = SourceManifest(
    type_id="memory-spaces",
    package_name="dsh-mnemon-source-memory-spaces",
    role="durable-evidence",
    capabilities=("status", "project", "recall", "related", "write", "link", "forget"),
    consistency="namespace-pinned-live-read",
    routes=ROUTES,
    actions=ACTIONS,
    management={
        "label": "Memory Spaces",
        "description": "Long-term memory in named Spaces, each held by a Provider.",
    },
)
"""Manifest of the Source (§4.1)."""

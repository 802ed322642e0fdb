"""``mnemon_memory_bodies`` and the tools that manage Memory Spaces (host.md §8.4, §8.5)."""

from __future__ import annotations

import json
from typing import Annotated, Any, Final, Literal, cast

from dsh_mnemon_core.evidence import Evidence
from dsh_mnemon_core.wire import to_wire
from pydantic import BaseModel, ConfigDict, Field

from dsh_mnemon_host.bindings import SPACES_INSPECT, SPACES_MANAGE
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools.operation import act, read, receipt_result
from dsh_mnemon_host.work.actions import Actions

__all__ = (
    "BODIES_DESCRIPTION",
    "CREATE_DESCRIPTION",
    "MERGE_DESCRIPTION",
    "UPDATE_DESCRIPTION",
    "BodiesInput",
    "CreateInput",
    "MergeInput",
    "UpdateInput",
    "create_space",
    "inspect",
    "list_spaces",
    "merge_spaces",
    "update_space",
)

BODIES_DESCRIPTION: Final = (
    "List the Memory Spaces this View knows, with what each can do. For managing them, or before "
    "a write that needs a certain capability; recall needs no list, it asks every active Space."
)
CREATE_DESCRIPTION: Final = (
    "Create a Memory Space for a lasting subject that needs memories of its own, when the user "
    "wants one. providerId, reason and confidence only where the persistence strategy is automatic."
)
UPDATE_DESCRIPTION: Final = (
    "Rename or describe a Memory Space, or switch it on or off for recall (active). Nothing "
    "stored in it changes."
)
MERGE_DESCRIPTION: Final = (
    "Copy the memories of some Memory Spaces into another of the same native engine, when the user "
    "asks for it. The sources keep everything and are switched off unless deactivateSources=false."
)

Name = Annotated[str, Field(min_length=1, max_length=100)]
Description = Annotated[str, Field(min_length=1, max_length=1000)]
SpaceId = Annotated[str, Field(min_length=1)]


class BodiesInput(BaseModel):
    """Arguments of ``mnemon_memory_bodies``: none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class CreateInput(BaseModel):
    """Arguments of ``mnemon_memory_body_create``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: Annotated[Name, Field(description="Short name of the subject.")]
    description: Annotated[Description, Field(description="What belongs in it, one sentence.")]
    provider_id: Annotated[
        SpaceId | None, Field(alias="providerId", description="Chosen Provider; automatic mode.")
    ] = None
    reason: Annotated[
        Description | None, Field(description="Why that Provider; automatic mode.")
    ] = None
    confidence: Annotated[
        Literal["high", "medium", "low"] | None, Field(description="How sure; automatic mode.")
    ] = None


class UpdateInput(BaseModel):
    """Arguments of ``mnemon_memory_body_update``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    memory_body_id: Annotated[
        SpaceId, Field(alias="memoryBodyId", description="Id of the Memory Space.")
    ]
    name: Annotated[Name | None, Field(description="New name.")] = None
    description: Annotated[Description | None, Field(description="New description.")] = None
    active: Annotated[bool | None, Field(description="Whether recall reads it.")] = None


class MergeInput(BaseModel):
    """Arguments of ``mnemon_memory_body_merge``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    target_memory_body_id: Annotated[
        SpaceId, Field(alias="targetMemoryBodyId", description="Space that receives the memories.")
    ]
    source_memory_body_ids: Annotated[
        tuple[SpaceId, ...],
        Field(
            alias="sourceMemoryBodyIds",
            min_length=1,
            max_length=20,
            description="Spaces whose memories are copied.",
        ),
    ]
    deactivate_sources: Annotated[
        bool | None,
        Field(alias="deactivateSources", description="Switch the sources off; true if left out."),
    ] = None


async def inspect(execution: Execution, section: Literal["directory", "health"]) -> dict[str, Any]:
    """Read one section through the View's ``inspect`` route."""
    return _inspected(await read(execution, SPACES_INSPECT, {"section": section}))


def _inspected(evidence: Evidence) -> dict[str, Any]:
    """Return the Strategy's output, else the one JSON item, else why there is none."""
    if evidence.output is not None:
        return cast("dict[str, Any]", to_wire(evidence.output))
    if len(evidence.items) == 1:
        return cast("dict[str, Any]", json.loads(evidence.items[0].text))
    return {"unavailable": evidence.unavailable or "Memory Spaces did not answer"}


async def list_spaces(execution: Execution, _arguments: BodiesInput) -> dict[str, Any]:
    """List the Spaces: ``{items, persistenceStrategy, total, activeCount, omittedCount}``."""
    return await inspect(execution, "directory")


async def create_space(
    actions: Actions, execution: Execution, arguments: CreateInput
) -> dict[str, Any]:
    """Create a Space, where the persistence strategy places it."""
    chosen = arguments.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        include={"provider_id", "reason", "confidence"},
    )
    input: dict[str, Any] = {
        "operation": "create",
        "request": {"name": arguments.name, "description": arguments.description},
        **({"selection": chosen} if chosen else {}),
    }
    return receipt_result(await act(actions, execution, SPACES_MANAGE, input))


async def update_space(
    actions: Actions, execution: Execution, arguments: UpdateInput
) -> dict[str, Any]:
    """Change name, description or activation of a Space."""
    return await _manage(actions, execution, "update", arguments)


async def merge_spaces(
    actions: Actions, execution: Execution, arguments: MergeInput
) -> dict[str, Any]:
    """Copy Spaces into another."""
    return await _manage(actions, execution, "merge", arguments)


async def _manage(
    actions: Actions, execution: Execution, operation: str, arguments: BaseModel
) -> dict[str, Any]:
    input = arguments.model_dump(mode="json", by_alias=True, exclude_none=True)
    receipt = await act(actions, execution, SPACES_MANAGE, {"operation": operation, **input})
    return receipt_result(receipt)

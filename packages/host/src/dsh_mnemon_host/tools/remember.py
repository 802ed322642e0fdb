"""``mnemon_remember``, ``mnemon_link``, ``mnemon_forget``: long-term writes (host.md §8.5)."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from dsh_mnemon_host.bindings import (
    SPACES_FORGET,
    SPACES_LINK,
    SPACES_REMEMBER,
    NamedOperation,
)
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools.operation import act, receipt_result
from dsh_mnemon_host.vocabulary import Category, Edge, Speaker
from dsh_mnemon_host.work.actions import Actions

__all__ = (
    "FORGET_DESCRIPTION",
    "LINK_DESCRIPTION",
    "REMEMBER_DESCRIPTION",
    "ForgetInput",
    "LinkInput",
    "RememberInput",
    "forget",
    "link",
    "remember",
)

REMEMBER_DESCRIPTION: Final = (
    "Keep one self-contained memory in a long-term Memory Space: a decision with its reason, a "
    "fact, an insight that a later session may need. Not what was just read from memory, no "
    "guesses, no progress notes, no secrets. Name the Memory Space unless exactly one is in view. "
    "completion=committed in memoryReceipt means durable; action=skipped with an id means that the "
    "very same memory was there already; anything else is not proven yet."
)
LINK_DESCRIPTION: Final = (
    "Join two memories of one Memory Space that were recalled in this turn, when the user or the "
    "evidence says that they belong together. causal runs from cause to effect."
)
FORGET_DESCRIPTION: Final = (
    "Forget one recalled memory, only because the user wants it gone or it is plainly wrong. The "
    "answer says whether it was hidden (soft) or erased (hard)."
)

_UNUSABLE: Final = frozenset(
    {
        "auto_pruned", "auto_pruned_ids", "causal_candidates", "effective_importance",
        "edges_created", "embedded", "memoryCapabilities", "semantic_candidates",
    }
)  # fmt: skip
"""What an engine says of its own work; a model can do nothing with it."""

Id: TypeAlias = Annotated[str, Field(min_length=1, max_length=1000)]
Space: TypeAlias = Annotated[
    Annotated[str, Field(min_length=1)] | None,
    Field(alias="memoryBodyId", description="Id of the Memory Space."),
]


class RememberInput(BaseModel):
    """Arguments of ``mnemon_remember``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    content: Annotated[
        str, Field(min_length=1, max_length=8192, description="The memory, whole sentences.")
    ]
    category: Annotated[
        Category | None,
        Field(description="What kind of memory it is; general when left out."),
    ] = None
    importance: Annotated[
        int | None, Field(ge=1, le=5, description="5 must never be lost; 3 when left out.")
    ] = None
    tags: Annotated[
        tuple[str, ...] | None, Field(max_length=20, description="Short labels without commas.")
    ] = None
    entities: Annotated[
        tuple[str, ...] | None,
        Field(max_length=50, description="People, projects, systems it is about; no commas."),
    ] = None
    source: Annotated[
        Speaker | None,
        Field(description="Who said it; agent when left out."),
    ] = None
    memory_body_id: Space = None


class LinkInput(BaseModel):
    """Arguments of ``mnemon_link``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    source_id: Annotated[Id, Field(alias="sourceId", description="Recalled id the link starts at.")]
    target_id: Annotated[Id, Field(alias="targetId", description="Recalled id it points to.")]
    type: Annotated[
        Edge | None,
        Field(description="Kind of link; semantic when left out."),
    ] = None
    weight: Annotated[
        float | None, Field(ge=0, le=1, strict=False, description="Strength; 0.5 when left out.")
    ] = None
    reason: Annotated[
        Annotated[str, Field(max_length=1000)] | None,
        Field(description="Why they belong together."),
    ] = None
    memory_body_id: Space = None


class ForgetInput(BaseModel):
    """Arguments of ``mnemon_forget``."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    id: Annotated[Id, Field(description="Id of a recalled row.")]
    memory_body_id: Space = None


async def remember(
    actions: Actions, execution: Execution, arguments: RememberInput
) -> dict[str, Any]:
    """Keep a memory; ``source`` is the agent unless it says otherwise."""
    return await _write(actions, execution, SPACES_REMEMBER, arguments, {"source": "agent"})


async def link(actions: Actions, execution: Execution, arguments: LinkInput) -> dict[str, Any]:
    """Join two recalled memories."""
    return await _write(actions, execution, SPACES_LINK, arguments, {})


async def forget(actions: Actions, execution: Execution, arguments: ForgetInput) -> dict[str, Any]:
    """Forget one recalled memory."""
    return await _write(actions, execution, SPACES_FORGET, arguments, {})


async def _write(
    actions: Actions,
    execution: Execution,
    named: NamedOperation,
    arguments: BaseModel,
    defaults: dict[str, Any],
) -> dict[str, Any]:
    input = arguments.model_dump(mode="json", by_alias=True, exclude_none=True)
    answer = receipt_result(await act(actions, execution, named, {**defaults, **input}))
    return {key: value for key, value in answer.items() if key not in _UNUSABLE}

"""The list of tools that can be published (host.md §8.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeVar

from pydantic import BaseModel

from dsh_mnemon_host.agent_host import AgentRef, ToolContext, ToolHints, ToolSpec
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools import (
    document_manage,
    documents,
    generic,
    recall,
    remember,
    runtime_memory,
    spaces,
    status,
)
from dsh_mnemon_host.tools.reading import input_schema, read_arguments
from dsh_mnemon_host.work.actions import Actions
from dsh_mnemon_host.work.document_work import DocumentWork

__all__ = ("build_tools",)

M = TypeVar("M", bound=BaseModel)

Pinned = Callable[[AgentRef], Execution]

_READS: Final = ToolHints(read_only=True)
_READS_AGAIN: Final = ToolHints(read_only=True, idempotent=True)
_ADDS: Final = ToolHints(read_only=False)
_CHANGES: Final = ToolHints(read_only=False, destructive=True)


def build_tools(
    pinned: Pinned, actions: Actions, documents_work: DocumentWork
) -> tuple[ToolSpec, ...]:
    """Return every tool, read tools first.

    Args:
        pinned: Returns the execution pinned to an Agent's own turn, or raises `TurnError`.
        actions: Executes offered actions; it refuses by itself while writes are off.
        documents_work: Runs what a change of a document may need around it.
    """
    return (*_read_tools(pinned, actions), *_write_tools(pinned, actions, documents_work))


def _read_tools(pinned: Pinned, actions: Actions) -> tuple[ToolSpec, ...]:
    def tool(
        name: str,
        description: str,
        model: type[M],
        run: Callable[[Execution, M], Awaitable[dict[str, Any]]],
        hints: ToolHints = _READS,
    ) -> ToolSpec:
        return _tool(name, description, model, run, pinned, hints)

    return (
        tool("mnemon_recall", recall.RECALL_DESCRIPTION, recall.RecallInput, recall.recall),
        tool("mnemon_related", recall.RELATED_DESCRIPTION, recall.RelatedInput, recall.related),
        tool(
            "mnemon_document_search",
            documents.SEARCH_DESCRIPTION,
            documents.SearchInput,
            documents.search_documents,
        ),
        tool(
            "mnemon_document_read",
            documents.READ_DESCRIPTION,
            documents.ReadInput,
            documents.read_document,
            _READS_AGAIN,
        ),
        tool(
            "mnemon_memory_bodies",
            spaces.BODIES_DESCRIPTION,
            spaces.BodiesInput,
            spaces.list_spaces,
            _READS_AGAIN,
        ),
        tool(
            "mnemon_status",
            status.DESCRIPTION,
            status.StatusInput,
            partial(status.read_status, actions),
            _READS_AGAIN,
        ),
        tool(
            "mnemon_view_route",
            generic.ROUTE_DESCRIPTION,
            generic.ViewRouteInput,
            generic.read_route,
        ),
    )


def _write_tools(
    pinned: Pinned, actions: Actions, documents_work: DocumentWork
) -> tuple[ToolSpec, ...]:
    def tool(
        name: str,
        description: str,
        model: type[M],
        run: Callable[[Actions, Execution, M], Awaitable[dict[str, Any]]],
        hints: ToolHints = _ADDS,
    ) -> ToolSpec:
        return _tool(name, description, model, partial(run, actions), pinned, hints)

    return (
        tool(
            "mnemon_runtime_memory",
            runtime_memory.DESCRIPTION,
            runtime_memory.RuntimeMemoryInput,
            runtime_memory.write_runtime_memory,
            _CHANGES,
        ),
        tool(
            "mnemon_document_create",
            documents.CREATE_DESCRIPTION,
            documents.CreateInput,
            documents.create_document,
        ),
        tool(
            "mnemon_document_manage",
            document_manage.DESCRIPTION,
            document_manage.ManageInput,
            partial(document_manage.manage_document, documents_work),
            _CHANGES,
        ),
        tool(
            "mnemon_remember",
            remember.REMEMBER_DESCRIPTION,
            remember.RememberInput,
            remember.remember,
        ),
        tool("mnemon_link", remember.LINK_DESCRIPTION, remember.LinkInput, remember.link),
        tool(
            "mnemon_forget",
            remember.FORGET_DESCRIPTION,
            remember.ForgetInput,
            remember.forget,
            _CHANGES,
        ),
        tool(
            "mnemon_memory_body_create",
            spaces.CREATE_DESCRIPTION,
            spaces.CreateInput,
            spaces.create_space,
        ),
        tool(
            "mnemon_memory_body_update",
            spaces.UPDATE_DESCRIPTION,
            spaces.UpdateInput,
            spaces.update_space,
            ToolHints(read_only=False, idempotent=True),
        ),
        tool(
            "mnemon_memory_body_merge",
            spaces.MERGE_DESCRIPTION,
            spaces.MergeInput,
            spaces.merge_spaces,
        ),
        tool(
            "mnemon_view_action",
            generic.ACTION_DESCRIPTION,
            generic.ViewActionInput,
            generic.run_action,
            _CHANGES,
        ),
    )


def _tool(
    name: str,
    description: str,
    model: type[M],
    run: Callable[[Execution, M], Awaitable[dict[str, Any]]],
    pinned: Pinned,
    hints: ToolHints,
) -> ToolSpec:
    async def handle(arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        return await run(pinned(context.agent), read_arguments(model, arguments, name))

    return ToolSpec(
        name=name,
        description=description,
        input_schema=input_schema(model),
        handler=handle,
        hints=hints,
        writes=not hints.read_only,
    )

"""The list of tools that can be published (host.md §8.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

import attrs
from pydantic import BaseModel

from dsh_mnemon_host.agent_host import AgentRef, ToolContext, ToolHints, ToolSpec
from dsh_mnemon_host.bindings import ACTIONS, ROUTES
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

Pinned: TypeAlias = Callable[[AgentRef], Execution]
Answer: TypeAlias = Awaitable[dict[str, Any]]

_READS: Final = ToolHints(read_only=True)
_READS_AGAIN: Final = ToolHints(read_only=True, idempotent=True)
_ADDS: Final = ToolHints(read_only=False)
_SETS: Final = ToolHints(read_only=False, idempotent=True)
_CHANGES: Final = ToolHints(read_only=False, destructive=True)


@attrs.frozen
class _Means:
    """What tools work with; see `build_tools`."""

    actions: Actions
    documents: DocumentWork
    problems: Callable[[], Sequence[str]]


@attrs.frozen
class _Row:
    """One tool; ``bind`` returns what runs it, given what it works with."""

    name: str
    description: str
    model: type[BaseModel]
    hints: ToolHints
    bind: Callable[[_Means], Callable[[Execution, Any], Answer]]


def _reads(
    name: str,
    description: str,
    model: type[M],
    run: Callable[[Execution, M], Answer],
    hints: ToolHints = _READS,
) -> _Row:
    return _Row(name, description, model, hints, lambda _means: run)


def _acts(
    name: str,
    description: str,
    model: type[M],
    run: Callable[[Actions, Execution, M], Answer],
    hints: ToolHints = _ADDS,
) -> _Row:
    return _Row(name, description, model, hints, lambda means: partial(run, means.actions))


def _manages(
    name: str,
    description: str,
    model: type[M],
    run: Callable[[DocumentWork, Actions, Execution, M], Answer],
    hints: ToolHints = _CHANGES,
) -> _Row:
    return _Row(
        name,
        description,
        model,
        hints,
        lambda means: partial(run, means.documents, means.actions),
    )


def _read_status(means: _Means) -> Callable[[Execution, Any], Answer]:
    return partial(status.read_status, means.actions, means.problems)


_FOR_ALL: Final = ("mnemon_status", "mnemon_view_route", "mnemon_view_action")
_SERVES: Final = {
    tool: named.type_id
    for named in (*ROUTES, *ACTIONS)
    for tool in named.tools.split(" / ")
    if tool not in _FOR_ALL
}
"""Type of the Source that a tool serves."""

# One row a tool, whatever its length: this is a table.
# fmt: off
_TOOLS: Final = (
    _reads("mnemon_recall", recall.RECALL_DESCRIPTION, recall.RecallInput, recall.recall),
    _reads("mnemon_related", recall.RELATED_DESCRIPTION, recall.RelatedInput, recall.related),
    _reads("mnemon_document_search", documents.SEARCH_DESCRIPTION, documents.SearchInput,
           documents.search_documents),
    _reads("mnemon_document_read", documents.READ_DESCRIPTION, documents.ReadInput,
           documents.read_document, _READS_AGAIN),
    _reads("mnemon_memory_bodies", spaces.BODIES_DESCRIPTION, spaces.BodiesInput,
           spaces.list_spaces, _READS_AGAIN),
    _Row("mnemon_status", status.DESCRIPTION, status.StatusInput, _READS_AGAIN, _read_status),
    _reads("mnemon_view_route", generic.ROUTE_DESCRIPTION, generic.ViewRouteInput,
           generic.read_route),
    _acts("mnemon_runtime_memory", runtime_memory.DESCRIPTION, runtime_memory.RuntimeMemoryInput,
          runtime_memory.write_runtime_memory, _CHANGES),
    _acts("mnemon_document_create", documents.CREATE_DESCRIPTION, documents.CreateInput,
          documents.create_document),
    _manages("mnemon_document_manage", document_manage.DESCRIPTION, document_manage.ManageInput,
             document_manage.manage_document),
    _acts("mnemon_remember", remember.REMEMBER_DESCRIPTION, remember.RememberInput,
          remember.remember),
    _acts("mnemon_link", remember.LINK_DESCRIPTION, remember.LinkInput, remember.link),
    _acts("mnemon_forget", remember.FORGET_DESCRIPTION, remember.ForgetInput,
          remember.forget, _CHANGES),
    _acts("mnemon_memory_body_create", spaces.CREATE_DESCRIPTION, spaces.CreateInput,
          spaces.create_space),
    _acts("mnemon_memory_body_update", spaces.UPDATE_DESCRIPTION, spaces.UpdateInput,
          spaces.update_space, _SETS),
    _acts("mnemon_memory_body_merge", spaces.MERGE_DESCRIPTION, spaces.MergeInput,
          spaces.merge_spaces),
    _acts("mnemon_view_action", generic.ACTION_DESCRIPTION, generic.ViewActionInput,
          generic.run_action, _CHANGES),
)
# fmt: on


def build_tools(
    pinned: Pinned,
    actions: Actions,
    documents_work: DocumentWork,
    problems: Callable[[], Sequence[str]],
) -> tuple[ToolSpec, ...]:
    """Return every tool, read tools first.

    Args:
        pinned: Returns the execution pinned to an Agent's own turn, or raises `TurnError`.
        actions: Executes offered actions; it refuses by itself while writes are off.
        documents_work: Runs what a change of a document may need around it.
        problems: Says which settings that were made are not in force, and why.
    """
    means = _Means(actions, documents_work, problems)
    return tuple(_tool(row, row.bind(means), pinned) for row in _TOOLS)


def _tool(row: _Row, run: Callable[[Execution, Any], Answer], pinned: Pinned) -> ToolSpec:
    async def handle(arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        return await run(pinned(context.agent), read_arguments(row.model, arguments, row.name))

    return ToolSpec(
        name=row.name,
        description=row.description,
        input_schema=input_schema(row.model),
        handler=handle,
        hints=row.hints,
        writes=not row.hints.read_only,
        source_type=_SERVES.get(row.name),
    )

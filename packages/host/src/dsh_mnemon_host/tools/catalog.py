"""The list of tools that can be published (host.md §8.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeVar

from pydantic import BaseModel

from dsh_mnemon_host.agent_host import AgentRef, ToolContext, ToolHints, ToolSpec
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools import generic, runtime_memory, status
from dsh_mnemon_host.tools.reading import input_schema, read_arguments
from dsh_mnemon_host.work.actions import Actions

__all__ = ("build_tools",)

M = TypeVar("M", bound=BaseModel)

Pinned = Callable[[AgentRef], Execution]


def build_tools(pinned: Pinned, actions: Actions) -> tuple[ToolSpec, ...]:
    """Return every tool, read tools first.

    Args:
        pinned: Returns the execution pinned to an Agent's own turn, or raises `TurnError`.
        actions: Executes offered actions; it refuses by itself while writes are off.
    """
    return (
        _tool(
            "mnemon_status",
            status.DESCRIPTION,
            status.StatusInput,
            partial(status.read_status, actions),
            pinned,
            ToolHints(read_only=True, idempotent=True),
        ),
        _tool(
            "mnemon_view_route",
            generic.ROUTE_DESCRIPTION,
            generic.ViewRouteInput,
            generic.read_route,
            pinned,
            ToolHints(read_only=True),
        ),
        _tool(
            "mnemon_runtime_memory",
            runtime_memory.DESCRIPTION,
            runtime_memory.RuntimeMemoryInput,
            partial(runtime_memory.write_runtime_memory, actions),
            pinned,
            ToolHints(read_only=False, destructive=True),
        ),
        _tool(
            "mnemon_view_action",
            generic.ACTION_DESCRIPTION,
            generic.ViewActionInput,
            partial(generic.run_action, actions),
            pinned,
            ToolHints(read_only=False, destructive=True),
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

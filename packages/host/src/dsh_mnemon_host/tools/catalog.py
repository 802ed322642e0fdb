"""The list of tools that a configuration publishes (host.md §8.1, D49)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
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


def build_tools(pinned: Pinned, actions: Actions, *, write_enabled: bool) -> tuple[ToolSpec, ...]:
    """Return the tools of a configuration, read tools first.

    Args:
        pinned: Returns the execution pinned to an Agent's own turn, or raises `TurnError`.
        actions: Executes offered actions.
        write_enabled: False leaves the write tools out; the refusal at call time stays for
            clients that saw the longer list.
    """

    async def view_route(execution: Execution, arguments: generic.ViewRouteInput) -> Any:
        return await generic.read_route(execution, arguments)

    async def view_action(execution: Execution, arguments: generic.ViewActionInput) -> Any:
        return await generic.run_action(actions, execution, arguments)

    async def runtime(execution: Execution, arguments: runtime_memory.RuntimeMemoryInput) -> Any:
        return await runtime_memory.write_runtime_memory(actions, execution, arguments)

    async def health(execution: Execution, _arguments: status.StatusInput) -> Any:
        return await status.read_status(execution)

    tools = (
        _tool(
            "mnemon_status",
            status.DESCRIPTION,
            status.StatusInput,
            health,
            pinned,
            ToolHints(read_only=True, idempotent=True),
        ),
        _tool(
            "mnemon_view_route",
            generic.ROUTE_DESCRIPTION,
            generic.ViewRouteInput,
            view_route,
            pinned,
            ToolHints(read_only=True),
        ),
        _tool(
            "mnemon_runtime_memory",
            runtime_memory.DESCRIPTION,
            runtime_memory.RuntimeMemoryInput,
            runtime,
            pinned,
            ToolHints(read_only=False, destructive=True),
        ),
        _tool(
            "mnemon_view_action",
            generic.ACTION_DESCRIPTION,
            generic.ViewActionInput,
            view_action,
            pinned,
            ToolHints(read_only=False, destructive=True),
        ),
    )
    return tuple(tool for tool in tools if write_enabled or not tool.writes)


def _tool(
    name: str,
    description: str,
    model: type[M],
    run: Callable[[Execution, M], Awaitable[Any]],
    pinned: Pinned,
    hints: ToolHints,
) -> ToolSpec:
    async def handle(arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        execution = pinned(context.agent)
        answer: dict[str, Any] = await run(execution, read_arguments(model, arguments, name))
        return answer

    return ToolSpec(
        name=name,
        description=description,
        input_schema=input_schema(model),
        handler=handle,
        hints=hints,
        writes=not hints.read_only,
    )

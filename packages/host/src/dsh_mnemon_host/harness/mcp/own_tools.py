"""What MCP adds of its own: two tools, one resource, one prompt (host.md §23.2 B, D51)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.agent_host import ToolHints

__all__ = (
    "CONTEXT",
    "CONTEXT_URI",
    "END_TURN",
    "INSTRUCTIONS",
    "OWN_TOOLS",
    "PROMPT_DESCRIPTION",
    "RESOURCE_DESCRIPTION",
    "OwnTool",
    "read_nothing",
)

CONTEXT: Final = "mnemon_context"
END_TURN: Final = "mnemon_end_turn"
CONTEXT_URI: Final = "mnemon://context"

INSTRUCTIONS: Final = (
    "Lasting memory of this user and this workspace. Call mnemon_context once at the start of "
    "every task: it answers how to use memory and what is remembered, and keeps that state for "
    "the whole task. Call mnemon_end_turn when the task is done."
)
"""What a client may tell its model about the server as a whole."""

RESOURCE_DESCRIPTION: Final = (
    "The memory context of the current task, as mnemon_context last answered it: how to use "
    "memory, and what is remembered for this user and workspace."
)
PROMPT_DESCRIPTION: Final = "Give the model the memory context of the current task."


@attrs.frozen(kw_only=True)
class OwnTool:
    """A tool without arguments that steers virtual turns."""

    name: str
    description: str
    hints: ToolHints

    @property
    def input_schema(self) -> Mapping[str, Any]:
        """JSON Schema of an empty object."""
        return {"type": "object", "properties": {}, "additionalProperties": False}


OWN_TOOLS: Final = (
    OwnTool(
        name=CONTEXT,
        description=(
            "Begin a task with memory: closes the former memory turn, takes a new snapshot, and "
            "answers how to use memory and what it holds for this user and workspace. Call it "
            "once when a task starts, before you answer. What it shows stays the same until it is "
            "called again. It changes nothing that is stored."
        ),
        hints=ToolHints(read_only=True),
    ),
    OwnTool(
        name=END_TURN,
        description=(
            "Close the memory turn of a finished task, so that the next task starts with fresh "
            "memory and full budgets. It changes nothing that is stored; when no turn is open it "
            "does nothing."
        ),
        hints=ToolHints(read_only=True, idempotent=True),
    ),
)
"""In the order they are listed, before the Host's tools."""


def read_nothing(arguments: Mapping[str, Any], tool: str) -> None:
    """Refuse arguments of a tool that takes none.

    Raises:
        InputError: ``input-invalid``.
    """
    if arguments:
        raise InputError("input-invalid", f"{tool} takes no arguments, so leave them out")

"""Tools, answers and refusals as MCP spells them (host.md §8.2, §21)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.values import thaw
from dsh_mnemon_core.wire import to_wire
from mcp import types

from dsh_mnemon_host.agent_host import ToolHints, ToolSpec
from dsh_mnemon_host.harness.mcp.own_tools import OwnTool
from dsh_mnemon_host.turn.context_report import ContextReport

__all__ = ("INTERNAL_ERROR", "answered", "described", "listed", "refused")

INTERNAL_ERROR: Final = MnemonError(
    "internal-error", "The memory server failed on this call; its log says more."
)
"""Stands for every exception that is no error of ours; what it says stays in the log."""

_PREFIX: Final = "mnemon_"


def listed(tool: ToolSpec | OwnTool) -> types.Tool:
    """Return a tool as it is listed; its schema is published unchanged."""
    title = tool.name.removeprefix(_PREFIX).replace("_", " ").capitalize()
    return types.Tool(
        name=tool.name,
        title=title,
        description=tool.description,
        input_schema=thaw(tool.input_schema),
        annotations=_annotations(tool.hints, title),
    )


def _annotations(hints: ToolHints, title: str) -> types.ToolAnnotations:
    return types.ToolAnnotations(
        title=title,
        read_only_hint=hints.read_only,
        destructive_hint=hints.destructive,
        idempotent_hint=hints.idempotent,
        open_world_hint=False,
    )


def answered(value: Mapping[str, Any]) -> types.CallToolResult:
    """Return a tool's JSON object: as text, indented by two spaces, and as structure."""
    plain: dict[str, Any] = to_wire(value)
    return _result(json.dumps(plain, ensure_ascii=False, indent=2), plain)


def described(report: ContextReport) -> types.CallToolResult:
    """Return a context: the text for the model, and the same as structure.

    The structure leaves the tools out; the client has listed them itself.
    """
    structure = report.to_json()
    del structure["tools"]
    return _result(report.text(), structure)


def refused(error: MnemonError) -> types.CallToolResult:
    """Return an error: one sentence with its code, and ``{code, message, details, retryable?}``."""
    wire = error.to_wire()
    structure: dict[str, Any] = to_wire({**wire, "details": wire.get("details", {})})
    return _result(f"{error.message} ({error.code})", structure, is_error=True)


def _result(
    text: str, structure: dict[str, Any], *, is_error: bool = False
) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=text)], structured_content=structure, is_error=is_error
    )

"""``mnemon_status``: a compact health aggregate for a model (host.md §8.4)."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any, Final

from dsh_mnemon_core.view import View
from pydantic import BaseModel, ConfigDict

from dsh_mnemon_host.executions import Execution

__all__ = ("DESCRIPTION", "StatusInput", "read_status")

DESCRIPTION: Final = (
    "Tell whether memory is healthy right now. Use it only after a memory tool failed, or when "
    "the user asks how memory is doing; it finds nothing and proves nothing about contents."
)

_ERROR_LIMIT = 1000


class StatusInput(BaseModel):
    """Arguments of ``mnemon_status``: none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def read_status(execution: Execution) -> dict[str, Any]:
    """Summarize the pinned View's Sources.

    Returns:
        ``{healthy, error?, version, writeEnabled, memorySpaces, providers, omittedProviderCount,
        sources: [{source, available}]}``. Without a Memory Spaces Source its counts are zero and
        ``healthy`` says whether every installed Source is available.
    """
    view = execution.context.view
    problems = _problems(view)
    unavailable = {item.contribution_instance_key for item in view.diagnostics or ()}
    revisions: dict[str, str] = view.consistency.source_revisions
    sources = [
        {"source": key, "available": revision != "unavailable" and key not in unavailable}
        for key, revision in revisions.items()
    ]
    healthy = not problems and all(item["available"] for item in sources)
    counts = dict.fromkeys(("total", "active", "healthy", "unhealthy", "providerDisabled"), 0)
    return {
        "healthy": healthy,
        **({"error": problems[:_ERROR_LIMIT]} if problems else {}),
        "version": version("dsh-mnemon-host"),
        "writeEnabled": execution.graph.config.config.write_enabled,
        "memorySpaces": counts,
        "providers": [],
        "omittedProviderCount": 0,
        "sources": sources,
    }


def _problems(view: View) -> str:
    return "; ".join(item.message for item in view.diagnostics or ())

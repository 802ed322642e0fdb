"""``mnemon_status``: a compact health aggregate for a model (host.md §8.4)."""

from __future__ import annotations

from collections.abc import Mapping
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


async def read_status(execution: Execution) -> dict[str, Any]:
    """Summarize the Sources as they are now, and what the pinned View had to do without.

    Returns:
        ``{healthy, error?, version, writeEnabled, memorySpaces, providers, omittedProviderCount,
        sources: [{source, available, reason?}]}``. Without a Memory Spaces Source its counts are zero and
        ``healthy`` says whether every installed Source is available.
    """
    catalog = await execution.graph.attachment.management_catalog(execution.context.scope)
    sources = [
        {
            "source": item["sourceInstanceKey"],
            "available": item["availability"] != "unavailable",
            **_reason(item),
        }
        for item in catalog["sources"]
    ]
    problems = _problems(execution.context.view)
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


def _reason(source: Mapping[str, Any]) -> dict[str, str]:
    """Return why a Source is unavailable, without a path."""
    reason = (source.get("hints") or {}).get("reason")
    return {"reason": str(reason)} if source["availability"] == "unavailable" and reason else {}


def _problems(view: View) -> str:
    return "; ".join(item.message for item in view.diagnostics or ())

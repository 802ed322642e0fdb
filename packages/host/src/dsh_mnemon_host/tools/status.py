"""``mnemon_status``: a compact health aggregate for a model (host.md §8.4)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final

from dsh_mnemon_core.errors import MnemonError
from pydantic import BaseModel, ConfigDict

from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.work.actions import Actions

__all__ = ("DESCRIPTION", "StatusInput", "read_status")

DESCRIPTION: Final = (
    "Tell whether memory is healthy right now. Use it only after a memory tool failed, or when "
    "the user asks how memory is doing; it finds nothing and proves nothing about contents."
)

_ERROR_LIMIT: Final = 1000
_REASON_LIMIT: Final = 300
_OFF: Final = "unavailable"


class StatusInput(BaseModel):
    """Arguments of ``mnemon_status``: none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


async def read_status(
    actions: Actions, execution: Execution, _arguments: StatusInput
) -> dict[str, Any]:
    """Summarize the Sources as they are now, and what the pinned View had to do without.

    Returns:
        ``{healthy, error?, version, writeEnabled, memorySpaces, providers, omittedProviderCount,
        sources: [{source, available, reason?}]}``. Without a Memory Spaces Source its counts are
        zero; ``healthy`` says whether every installed Source is available, now and in the View.
    """
    view = execution.context.view
    revisions: Mapping[str, str] = view.consistency.source_revisions
    outages = [
        item.message
        for item in view.diagnostics or ()
        if item.contribution_instance_key in revisions
    ]
    now, failure = await _look(execution)
    sources = [_source(key, revision, now.get(key)) for key, revision in revisions.items()]
    silent = [f"{item['source']} is unavailable" for item in sources if not item["available"]]
    error = "; ".join((*failure, *outages, *silent))
    counts = dict.fromkeys(("total", "active", "healthy", "unhealthy", "providerDisabled"), 0)
    return {
        "healthy": not error,
        **({"error": error[:_ERROR_LIMIT]} if error else {}),
        "version": version("dsh-mnemon-host"),
        "writeEnabled": actions.writable(execution),
        "memorySpaces": counts,
        "providers": [],
        "omittedProviderCount": 0,
        "sources": sources,
    }


async def _look(execution: Execution) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the Sources that can be looked at apart from the View, by key, or what failed."""
    try:
        catalog = await execution.graph.attachment.management_catalog(execution.context.scope)
    except MnemonError as error:
        return {}, (error.message,)
    return {item["sourceInstanceKey"]: item for item in catalog["sources"]}, ()


def _source(key: str, revision: str, now: Mapping[str, Any] | None) -> dict[str, Any]:
    available = (revision if now is None else now["availability"]) != _OFF
    hints: Mapping[str, Any] = (now or {}).get("hints", {})
    reason = hints.get("reason")
    # The reason is a Source's own sentence; it names no path.
    shown = {"reason": str(reason)[:_REASON_LIMIT]} if reason and not available else {}
    return {"source": key, "available": available, **shown}

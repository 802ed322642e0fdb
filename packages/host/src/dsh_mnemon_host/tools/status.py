"""``mnemon_status``: a compact health aggregate for a model (host.md §8.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, Final

from dsh_mnemon_core.errors import MnemonError
from pydantic import BaseModel, ConfigDict

from dsh_mnemon_host.bindings import SPACES_INSPECT
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.tools.operation import offers_route
from dsh_mnemon_host.tools.spaces import inspect
from dsh_mnemon_host.work.actions import Actions

__all__ = ("DESCRIPTION", "StatusInput", "read_status")

DESCRIPTION: Final = (
    "Tell whether memory is healthy right now. Use it only after a memory tool failed, or when "
    "the user asks how memory is doing; it finds nothing and proves nothing about contents."
)

_ERROR_LIMIT: Final = 1000
_REASON_LIMIT: Final = 300
_OFF: Final = "unavailable"
_NO_SPACES: Final[Mapping[str, Any]] = {
    "memorySpaces": dict.fromkeys(
        ("total", "active", "healthy", "unhealthy", "providerDisabled"), 0
    ),
    "providers": [],
    "omittedProviderCount": 0,
}


class StatusInput(BaseModel):
    """Arguments of ``mnemon_status``: none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


async def read_status(
    actions: Actions,
    problems: Callable[[], Sequence[str]],
    execution: Execution,
    _arguments: StatusInput,
) -> dict[str, Any]:
    """Summarize the Sources as they are now, and what the pinned View had to do without.

    Args:
        actions: Tells whether writes are on.
        problems: Says which settings that were made are not in force, and why.
        execution: The open turn.

    Returns:
        ``{healthy, error?, version, commandFound, writeEnabled, memorySpaces, providers,
        omittedProviderCount, aggregate?, sources: [{source, available, reason?}]}``. The counts are
        those of the Memory Spaces, zero without such a Source; ``commandFound`` says whether there
        is a native engine; ``healthy`` whether the settings are in force, every installed Source is
        available, now and in the View, and every Memory Space that was asked answers. A Provider
        that is not installed is no fault (D27).
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
    spaces = await _spaces(execution)
    error = "; ".join((*problems(), *failure, *outages, *silent, *_faults(spaces)))
    return {
        "healthy": not error,
        **({"error": error[:_ERROR_LIMIT]} if error else {}),
        "version": version("dsh-mnemon-host"),
        "commandFound": spaces.get("commandFound") is True,
        "writeEnabled": actions.writable(execution),
        **{key: spaces.get(key, value) for key, value in _NO_SPACES.items()},
        **({"aggregate": spaces["aggregate"]} if "aggregate" in spaces else {}),
        "sources": sources,
    }


async def _spaces(execution: Execution) -> dict[str, Any]:
    """Return the health of Memory Spaces as the View's route tells it, or why there is none."""
    if not offers_route(execution, SPACES_INSPECT):
        return {}
    try:
        return await inspect(execution, "health")
    except MnemonError as error:
        return {"unavailable": error.message}


def _faults(spaces: Mapping[str, Any]) -> Iterator[str]:
    """Say what is wrong with Memory Spaces, if anything is."""
    if "unavailable" in spaces:
        yield str(spaces["unavailable"])
    counts: Mapping[str, Any] = spaces.get("memorySpaces", {})
    if spaces.get("healthy") is False or counts.get("unhealthy"):
        yield str(spaces.get("error", "a Memory Space does not answer"))


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

"""The Providers below a Source's entry, which the profile lists in its configuration (D27)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.composition.entries import Entry
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.source_session import SourceSession, ask

__all__ = ("read_children",)

_STATES: Final[Mapping[str, str]] = {"ready": "active"}


async def read_children(
    entry: Entry, graph: RuntimeGraph, workspace: str | None
) -> list[dict[str, Any]]:
    """Return the Providers of an entry, in the order of its configuration.

    Returns:
        ``[{id, packageName, state, code?, diagnostic?}]``. A Source that runs says how each of them
        stands: ``active``, ``absent`` when its package is not installed, or ``failed``; where it
        fails to say so, they are ``unknown``, with the reason. Below one that does not run, or that
        has no Providers of its own, they stand as it does.
    """
    listed = entry.config.get("providers") or ()
    if not isinstance(listed, (list, tuple)):
        return []
    problem = None
    if entry.state == "active":
        session = SourceSession(graph=graph, key=f"source:{entry.id}", scope=graph.scope(workspace))
        services, problem = await ask(partial(_services, session))
        if services is not None:
            return services
    state = (
        {"state": entry.state}
        if problem is None
        else {"state": "unknown", "code": problem.code, "diagnostic": problem.message}
    )
    uses = (_use(item) for item in cast("Sequence[Any]", listed))
    return [{"id": use, "packageName": _package(use), **state} for use in uses]


async def _services(session: SourceSession) -> list[dict[str, Any]]:
    services = to_wire(await session.read("provider-services"))["services"]
    return [_told(service) for service in services]


def _told(service: Mapping[str, Any]) -> dict[str, Any]:
    state = str(service["state"])
    problem = {"diagnostic": service["reason"]} if "reason" in service else {}
    return {
        "id": service["providerId"],
        "packageName": service.get("packageName") or _package(service["use"]),
        "state": _STATES.get(state, state),
        **problem,
    }


def _use(declared: Any) -> str:
    if isinstance(declared, Mapping):
        return str(cast("Mapping[str, Any]", declared).get("use"))
    return str(declared)


def _package(use: str) -> str:
    """Return the distribution that is expected to provide an importable name."""
    return use.partition(".")[0].replace("_", "-")

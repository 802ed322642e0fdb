"""The Providers below a Source's entry, which the profile lists in its configuration (D27)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.composition.entries import Entry
from dsh_mnemon_host.graph import RuntimeGraph
from dsh_mnemon_host.source_session import SourceSession, ask

__all__ = ("child_names", "package_of", "read_children")

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
    listed = _listed(entry)
    if not listed:
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
    uses = (_use(item) for item in listed)
    return [{"id": use, "packageName": package_of(use), **state} for use in uses]


def child_names(entry: Entry) -> set[str]:
    """Return what people may call the Providers of an entry; nothing of them is asked."""
    names: set[str] = set()
    for item in _listed(entry):
        use = _use(item)
        package = package_of(use)
        names |= {use, package, package.removeprefix("dsh-mnemon-provider-")}
        if isinstance(item, Mapping) and "instanceId" in item:
            names.add(str(cast("Mapping[str, Any]", item)["instanceId"]))
    return names


def _listed(entry: Entry) -> Sequence[Any]:
    listed = entry.config.get("providers") or ()
    return cast("Sequence[Any]", listed) if isinstance(listed, (list, tuple)) else ()


async def _services(session: SourceSession) -> list[dict[str, Any]]:
    services = to_wire(await session.read("provider-services"))["services"]
    return [_told(service) for service in services]


def _told(service: Mapping[str, Any]) -> dict[str, Any]:
    state = str(service["state"])
    problem = {"diagnostic": service["reason"]} if "reason" in service else {}
    return {
        "id": service["providerId"],
        "packageName": service.get("packageName") or package_of(service["use"]),
        "state": _STATES.get(state, state),
        **problem,
    }


def _use(declared: Any) -> str:
    if isinstance(declared, Mapping):
        return str(cast("Mapping[str, Any]", declared).get("use"))
    return str(declared)


def package_of(use: str) -> str:
    """Return the distribution that is expected to provide an importable name."""
    return use.partition(".")[0].replace("_", "-")

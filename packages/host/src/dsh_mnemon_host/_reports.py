"""What the Sources of the default types tell of themselves, through management."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.composition.children import package_of
from dsh_mnemon_host.people import People
from dsh_mnemon_host.source_session import ask

__all__ = ("read_reports",)


async def read_reports(people: People, *, thorough: bool) -> dict[str, Any]:
    """Ask every Source of a default type for its condition.

    Args:
        people: Opens the management planes.
        thorough: Whether Providers are asked and every document is read.

    Returns:
        ``{runtime?, stores?, spaces?, documents?, silent?}``: ``runtime`` holds use and hand edits
        of the default Runtime Source, ``stores`` what its ``diagnose`` says of every root, also
        while a store is damaged; ``spaces`` the Memory Spaces and their ``providers``, as far as
        known or as they answer; ``documents``, only when thorough, the documents that cannot be
        read. What is not installed is left out; ``silent`` lists ``{area, code, message,
        details?}`` of what is there and could not tell.
    """
    questions: dict[str, Callable[[People], Awaitable[Any]]] = {
        "runtime": _runtime,
        "stores": _stores,
        "spaces": partial(_spaces, operation="status" if thorough else "status-summary"),
    }
    if thorough:
        questions["documents"] = _documents
    told: dict[str, Any] = {}
    silent: list[dict[str, Any]] = []
    for area, question in questions.items():
        answer, problem = await ask(partial(question, people))
        if answer is not None:
            told[area] = answer
        elif problem is not None:
            silent.append({"area": area, **problem.to_wire()})
    return {**told, "silent": silent} if silent else told


async def _runtime(people: People) -> dict[str, Any]:
    session = await people.source("runtime")
    snapshot = await session.read("snapshot")
    edits = await session.read("edits")
    return {"targets": to_wire(snapshot["targets"]), "edits": to_wire(edits)}


async def _stores(people: People) -> list[dict[str, Any]]:
    session = await people.source("runtime")
    return [dict(to_wire(store)) for store in await session.read("diagnose")]


async def _spaces(people: People, *, operation: str) -> dict[str, Any]:
    session = await people.source("memory-spaces")
    told = to_wire(await session.read(operation, {}))
    services = to_wire(await session.read("provider-services", {}))["services"]
    keys = ("providerId", "packageName", "state", "code", "reason", "enabled")
    providers = [
        {key: item[key] for key in keys if key in item}
        | ({} if "packageName" in item else {"packageName": package_of(item["use"])})
        for item in services
    ]
    shown = ("id", "name", "active", "providerId", "status", "error", "note")
    bodies = [{key: item[key] for key in shown if key in item} for item in told["bodies"]]
    exposed = {"exposed": told["exposed"]} if "exposed" in told else {}
    return {**told["memorySpaces"], "providers": providers, "bodies": bodies, **exposed}


async def _documents(people: People) -> dict[str, Any]:
    session = await people.source("documents")
    told = to_wire(await session.read("diagnose"))
    known = ("unhealthy", "unindexed", "changed", "pending")
    return {key: told[key] for key in known if key in told}

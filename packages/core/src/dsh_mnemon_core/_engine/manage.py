"""The management plane: human operations, apart from every View (spec/core.md §12)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import attrs

from dsh_mnemon_core._engine.facts import UNAVAILABLE, Known, read_facts
from dsh_mnemon_core._engine.generation import Generation
from dsh_mnemon_core._engine.proposal import sorted_diagnostics
from dsh_mnemon_core._foreign import asking, judging
from dsh_mnemon_core.checks import identifier, one_of, text
from dsh_mnemon_core.errors import ContractError, ManagementError, SourceFault
from dsh_mnemon_core.identity import read_instance_key
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import AvailableSource, ManagementRequest, ManagementResult, Manages
from dsh_mnemon_core.values import FrozenDict, json_clone
from dsh_mnemon_core.wire import to_wire


async def management_catalog(generation: Generation, scope: OperationScope) -> dict[str, Any]:
    """List every Source with a management descriptor.

    Returns:
        JSON ``{generationId, sources: [{sourceInstanceKey, sourceTypeId, packageName, role,
        availability, revision, capabilities, management, hints?}], diagnostics}``; Sources in
        installation order, diagnostics sorted. Host ceilings are not applied.
    """
    known = await read_facts(generation, scope, "management.catalog", ceilings=False)
    return {
        "generationId": generation.id,
        "sources": [_row(item) for item in known if item.live.manifest.management is not None],
        "diagnostics": [to_wire(d) for d in sorted_diagnostics(i.diagnostic for i in known)],
    }


def _row(item: Known) -> dict[str, Any]:
    source = item.available
    row = {
        "sourceInstanceKey": source.source_instance_key,
        "sourceTypeId": source.source_type_id,
        "packageName": item.live.manifest.package_name,
        "role": source.role,
        "availability": source.availability,
        "revision": source.revision,
        "capabilities": list(source.capabilities),
        "management": to_wire(item.live.manifest.management),
    }
    return row if source.hints is None else {**row, "hints": to_wire(source.hints)}


async def management_revision(
    generation: Generation, source_instance_key: str, scope: OperationScope
) -> str:
    """Return the current facts revision of one Source.

    Raises:
        ManagementError: ``management-unsupported`` when there is no such Source.
    """
    return (await _facts(generation, source_instance_key, scope, "revision")).revision


async def execute_management(
    generation: Generation, request: ManagementRequest
) -> ManagementResult:
    """Perform one management operation; the Source fences a mutation once more itself.

    Raises:
        ManagementError: ``management-mode-unsupported``, ``management-unconfirmed``,
            ``management-unsupported``, ``management-source-unavailable`` or
            ``management-revision-conflict``.
        SourceFault: ``source-manage-raised``.
    """
    key = read_instance_key(request.source_instance_key, "source")
    operation = identifier(request.operation, "management operation", kind=ManagementError)
    one_of(
        request.mode,
        ("read", "mutate"),
        "mode",
        "management-mode-unsupported",
        kind=ManagementError,
    )
    if request.mode == "mutate" and (
        request.confirmed is not True or not (request.expected_revision or "").strip()
    ):
        raise ManagementError(
            "management-unconfirmed", "a mutation needs confirmation and the revision it changes"
        )
    source = generation.source(key)
    described = source is not None and source.manifest.management is not None
    if source is None or not described or not isinstance(source.runtime, Manages):
        raise ManagementError("management-unsupported", f"{key} has no management plane")
    sent = json_clone(request.input, "management input")
    if request.mode == "mutate":
        await _fence(generation, request, key)
    ask = partial(source.runtime.manage, attrs.evolve(request, operation=operation, input=sent))
    result = await asking(SourceFault, "source-manage-raised", f"{key} failed to {operation}", ask)
    if not isinstance(result, ManagementResult):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ContractError("not-an-object", f"{key} answered no ManagementResult")
    with judging(ContractError, "management-malformed", f"answer of {key}"):
        return ManagementResult(
            revision=text(result.revision, "revision", 500),
            value=json_clone(result.value, "value"),
        )


async def _fence(generation: Generation, request: ManagementRequest, key: str) -> None:
    facts = await _facts(generation, key, request.scope, "mutate")
    if facts.availability == UNAVAILABLE:
        known = isinstance(facts.hints, Mapping)
        hints = cast("Mapping[str, Any]", facts.hints) if known else FrozenDict()
        reason = f": {hints['reason']}" if "reason" in hints else ""
        raise ManagementError(
            "management-source-unavailable", f"{key} is unavailable{reason}", details=hints
        )
    if facts.revision != request.expected_revision:
        raise ManagementError(
            "management-revision-conflict",
            f"{key} has changed since revision {request.expected_revision}",
            details={"expected": request.expected_revision, "current": facts.revision},
        )


async def _facts(
    generation: Generation, key: str, scope: OperationScope, purpose: str
) -> AvailableSource:
    known = await read_facts(generation, scope, f"management.{purpose}", ceilings=False, only=key)
    if not known:
        raise ManagementError("management-unsupported", f"{key} is not installed")
    return known[0].available

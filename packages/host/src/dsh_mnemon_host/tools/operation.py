"""Executing the operation a named tool serves, and showing what came of it (host.md §8.2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from dsh_mnemon_core.errors import AuthorityError, SourceFault
from dsh_mnemon_core.evidence import Evidence, EvidenceItem, Receipt
from dsh_mnemon_core.view import ActionOffer
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.bindings import NamedOperation, execution_types, named_offer, named_route
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.work.actions import Actions

__all__ = ("act", "offer_of", "offers_route", "read", "receipt_result", "row", "shown_or")


def offers_route(execution: Execution, named: NamedOperation) -> bool:
    """Tell whether the pinned View offers the route of a named tool."""
    return named_route(execution.context.view, execution_types(execution), named) is not None


async def read(execution: Execution, named: NamedOperation, input: Mapping[str, Any]) -> Evidence:
    """Execute the route of the default Source of a type.

    Raises:
        AuthorityError: ``route-unavailable``: the View offers no such route.
        MnemonError: What Core, the Strategy or the Source refuses.
    """
    route = named_route(execution.context.view, execution_types(execution), named)
    if route is None:
        raise AuthorityError(
            "route-unavailable",
            f"this turn's View offers no {named.operation_id} on {named.type_id}{_why(named)}",
        )
    async with execution.work():
        return await execution.graph.turns.execute_route(
            execution.context.turn_id, route.id, dict(input)
        )


def offer_of(execution: Execution, named: NamedOperation) -> ActionOffer:
    """Return the offer of the default Source of a type.

    Raises:
        AuthorityError: ``action-unavailable``.
    """
    offer = named_offer(execution.context.view, execution_types(execution), named)
    if offer is None:
        raise AuthorityError(
            "action-unavailable",
            f"this turn's View offers no {named.operation_id} on {named.type_id}{_why(named)}",
        )
    return offer


def _why(named: NamedOperation) -> str:
    """Say what usually is the matter where a Source has nothing to offer yet."""
    if named.type_id != "memory-spaces":
        return ""
    return (
        ": there is no active Memory Space in it; mnemon_memory_body_create makes one, and a new "
        "one can be read from the next turn on"
    )


async def act(
    actions: Actions, execution: Execution, named: NamedOperation, input: Mapping[str, Any]
) -> Receipt:
    """Execute the action of the default Source of a type.

    Raises:
        AuthorityError: ``writes-disabled``, ``action-unavailable``.
        SourceFault: The Receipt says that nothing was done; the code is the one of the refusal in
            it, else ``write-failed``.
        MnemonError: What the Source or its workflow refuses.
    """
    actions.check_writable(execution)
    receipt = await actions.execute(execution, offer_of(execution, named).id, dict(input))
    if receipt.completion == "failed":
        # An answer that looks like any other would be taken for a memory that is kept.
        raise _refusal(receipt_result(receipt))
    return receipt


def _refusal(result: dict[str, Any]) -> SourceFault:
    """Return why a write failed: a Source says so as ``{code, message}``, or as text."""
    said = result.get("error") or result.get("message")
    fault = _object(said)
    why = fault.get("message", "it did not say why") if fault else said or "it did not say why"
    code = str(fault.get("code", "write-failed"))
    return SourceFault(code, f"nothing was changed: {why}", details=result)


def receipt_result(receipt: Receipt) -> dict[str, Any]:
    """Spread a Receipt's details and never hide how durable the change is (§8.2)."""
    details = _object(to_wire(receipt.details))
    result = _object(details.get("result", details))
    proof: dict[str, str] = {"status": receipt.status, "completion": receipt.completion}
    if receipt.committed_at is not None:
        proof["committedAt"] = receipt.committed_at
    revision = {} if receipt.revision is None else {"revision": receipt.revision}
    return {**result, **revision, "memoryReceipt": proof}


def shown_or(evidence: Evidence, otherwise: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Strategy's own output, else the given shape (core.md §11.1)."""
    answer: dict[str, Any] = to_wire(
        dict(otherwise) if evidence.output is None else evidence.output
    )
    return answer


def row(item: EvidenceItem) -> dict[str, Any]:
    """Show an item: its provenance, then ``id``, ``content``, and what else is present."""
    shown = {**_object(to_wire(item.provenance)), "id": item.id, "content": item.text}
    if item.score is not None:
        shown["score"] = item.score
    if item.revision is not None:
        shown["revision"] = item.revision
    return shown


def _object(value: Any) -> dict[str, Any]:
    """Return an object, empty when the Source answered something else."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}

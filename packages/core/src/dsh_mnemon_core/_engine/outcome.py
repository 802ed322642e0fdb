"""Evidence and Receipts, judged (spec/core.md §9.3, §10)."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import cast, get_args

import attrs

from dsh_mnemon_core._foreign import judging
from dsh_mnemon_core.checks import one_of, optional_text, record, text, well_formed
from dsh_mnemon_core.errors import EvidenceInvalid, ReceiptInvalid
from dsh_mnemon_core.evidence import Completion, Evidence, EvidenceItem, Receipt, Status
from dsh_mnemon_core.instant import iso_utc, parse_utc
from dsh_mnemon_core.values import json_clone
from dsh_mnemon_core.view import ActionOffer, View, ViewRoute


def admit_evidence(
    evidence: Evidence, view: View, route: ViewRoute, consistency: str, now: datetime
) -> Evidence:
    """Check the binding and admit whole items within the route's ceilings.

    An item that would pass the character ceiling is skipped whole and takes no result slot; a
    later, smaller one may still fit.

    Raises:
        EvidenceInvalid: ``evidence-unbound`` or ``evidence-invalid``.
    """
    with judging(EvidenceInvalid, "evidence-invalid", f"evidence for {route.id}", keep_codes=False):
        bound = (evidence.view_id, evidence.route_id, evidence.source_instance_key)
        if bound != (view.id, route.id, route.source_instance_key):
            raise EvidenceInvalid("evidence-unbound", f"evidence for {route.id} is bound elsewhere")
        return _admit(evidence, route, consistency, now)


def _admit(evidence: Evidence, route: ViewRoute, consistency: str, now: datetime) -> Evidence:
    admitted: list[EvidenceItem] = []
    used, truncated = 0, bool(evidence.truncated)
    for offered in evidence.items:
        if len(admitted) == route.max_results:
            truncated = True
            break
        item = _item(offered)
        if used + len(item.text) > route.max_characters:
            truncated = True
            continue
        used += len(item.text)
        admitted.append(item)
    observed = cast("object", evidence.observed_at)  # foreign code may send anything
    known = isinstance(observed, str) and observed.strip()
    return attrs.evolve(
        evidence,
        id=text(evidence.id, "evidence id", 500),
        observed_at=evidence.observed_at if known else iso_utc(now),
        items=tuple(admitted),
        truncated=truncated,
        consistency=consistency,
        unavailable=optional_text(evidence.unavailable, "unavailable", 2000),
        metadata=json_clone(evidence.metadata, "metadata"),
        output=json_clone(evidence.output, "output"),
        extra=json_clone(record(evidence.extra), "evidence"),
    )


def _item(item: EvidenceItem) -> EvidenceItem:
    content, score = cast("object", item.text), cast("object", item.score)
    if not isinstance(content, str):
        raise EvidenceInvalid("evidence-invalid", "an evidence item has no text")
    if isinstance(score, bool) or not isinstance(score, (int, float, NoneType)):
        raise EvidenceInvalid("evidence-invalid", "an evidence score is no number")
    return EvidenceItem(
        id=text(item.id, "item id", 500),
        text=well_formed(content, "item text"),
        provenance=json_clone(item.provenance, "provenance"),
        score=json_clone(score, "score"),
        revision=json_clone(item.revision, "item revision"),
        extra=json_clone(record(item.extra), "item"),
    )


def check_receipt(receipt: Receipt, view: View, offer: ActionOffer) -> Receipt:
    """Check a Receipt's binding and that its claims agree (§10, D21); return it frozen.

    Raises:
        ReceiptInvalid: With one of the receipt codes of §23, or that of the field that is wrong.
    """
    with judging(ReceiptInvalid, "receipt-invalid", f"receipt for {offer.id}"):
        bound = (receipt.view_id, receipt.offer_id, receipt.source_instance_key)
        if bound != (view.id, offer.id, offer.source_instance_key):
            raise ReceiptInvalid("receipt-unbound", f"receipt for {offer.id} is bound elsewhere")
        _check_claims(receipt)
        return attrs.evolve(
            receipt,
            id=text(receipt.id, "receipt id", 500),
            revision=optional_text(receipt.revision, "receipt revision", 500),
            details=json_clone(receipt.details, "receipt details"),
        )


def _check_claims(receipt: Receipt) -> None:
    status, completion, stamp = receipt.status, receipt.completion, receipt.committed_at
    one_of(status, get_args(Status), "status", "receipt-status-invalid")
    one_of(completion, get_args(Completion), "completion", "receipt-completion-invalid")
    if completion == "committed":
        if status != "succeeded" or parse_utc(stamp) is None:
            raise ReceiptInvalid(
                "receipt-commit-invalid", "committed needs status succeeded and a commit time"
            )
    elif stamp is not None:
        raise ReceiptInvalid("receipt-commit-invalid", f"{completion} must have no commit time")
    if (completion == "failed" and status == "succeeded") or (
        completion == "cancelled" and status != "cancelled"
    ):
        raise ReceiptInvalid("receipt-status-conflict", f"{completion} contradicts {status}")

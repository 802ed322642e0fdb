from typing import get_args

import pytest
from dsh_mnemon_core.evidence import Completion, Evidence, EvidenceItem, Receipt, Status
from dsh_mnemon_core.wire import from_wire, to_wire

EVIDENCE = {
    "id": "e",
    "viewId": "view:1",
    "routeId": "source:a/search",
    "sourceInstanceKey": "source:a",
    "observedAt": "2026-01-02T03:04:05.678Z",
    "items": [{"id": "1", "text": "one", "provenance": {}, "tier": "high"}],
    "truncated": False,
    "cursor": "next",
}


def test_vocabulary():
    assert get_args(Status) == ("succeeded", "partial", "failed", "cancelled")
    assert get_args(Completion) == (
        "accepted",
        "candidate",
        "committed",
        "partial",
        "failed",
        "cancelled",
        "unknown",
    )


def test_fields_of_a_source_stand_beside_the_named_ones():
    evidence = from_wire(Evidence, EVIDENCE)
    assert evidence.extra == {"cursor": "next"}
    assert evidence.items[0].extra == {"tier": "high"}
    assert to_wire(evidence) == EVIDENCE


@pytest.mark.requirement("core:optional:absent")
def test_absent_score_and_commit_time_have_no_key():
    assert to_wire(EvidenceItem(id="1", text="one")) == {"id": "1", "text": "one", "provenance": {}}
    receipt = Receipt(
        id="r",
        view_id="v",
        offer_id="o",
        source_instance_key="source:a",
        status="partial",
        completion="unknown",
    )
    assert {"committedAt", "revision", "details"}.isdisjoint(to_wire(receipt))


@pytest.mark.requirement("core:optional:absent")
def test_an_extra_field_never_stands_in_for_a_named_one():
    item = EvidenceItem(id="1", text="one", extra={"score": None, "text": "two", "tier": "low"})
    assert to_wire(item) == {"id": "1", "text": "one", "provenance": {}, "tier": "low"}

import math

import attrs
import pytest
from dsh_mnemon_core._engine.outcome import admit_evidence, check_receipt
from dsh_mnemon_core.errors import EvidenceInvalid, ReceiptInvalid
from dsh_mnemon_core.evidence import Evidence, EvidenceItem, Receipt
from dsh_mnemon_core.values import FrozenDict
from hypothesis import given
from hypothesis import strategies as st

STAMP = "2026-01-02T03:04:05.678Z"


@pytest.fixture
async def view(bench):
    return await bench.view(bench.generation(bench.source()))


@pytest.fixture
def admit(view, frozen_now):
    """Return a function that judges evidence of the View's route: ``admit(items, **fields)``."""
    route = view.routes[0]

    def call(items=(), *, results=3, characters=10, **fields):
        bounded = attrs.evolve(route, max_results=results, max_characters=characters)
        plain = {
            "id": "e",
            "view_id": view.id,
            "route_id": route.id,
            "source_instance_key": "source:alpha",
            "items": items,
        }
        evidence = Evidence(**{**plain, **fields})
        return admit_evidence(evidence, view, bounded, "exact-snapshot", frozen_now())

    return call


@pytest.fixture
def check(view):
    """Return a function that judges a receipt of the View's action: ``check(**fields)``."""

    def call(**fields):
        plain = {
            "id": "r",
            "view_id": view.id,
            "offer_id": "source:alpha/save",
            "source_instance_key": "source:alpha",
            "status": "succeeded",
            "completion": "accepted",
        }
        return check_receipt(Receipt(**{**plain, **fields}), view, view.action_offers[0])

    return call


def item(id="1", text="one", **fields):
    return EvidenceItem(id=id, text=text, **fields)


def ids(evidence):
    return [item.id for item in evidence.items]


class TestEvidence:
    async def test_it_is_stamped_with_time_and_consistency(self, admit):
        evidence = admit((item(),))
        assert (evidence.observed_at, evidence.consistency) == (STAMP, "exact-snapshot")
        assert not evidence.truncated
        assert admit(observed_at="2025-01-01T00:00:00.000Z").observed_at.startswith("2025")
        for odd in (" ", None, 7):
            assert admit(observed_at=odd).observed_at == STAMP

    async def test_a_claimed_consistency_does_not_count(self, admit):
        assert admit(consistency="invented").consistency == "exact-snapshot"

    @pytest.mark.parametrize(
        "fields",
        [
            {"view_id": "view:other"},
            {"route_id": "source:alpha/other"},
            {"source_instance_key": "source:beta"},
        ],
    )
    async def test_it_is_bound_to_view_route_and_source(self, admit, fields):
        with pytest.raises(EvidenceInvalid) as caught:
            admit(**fields)
        assert caught.value.code == "evidence-unbound"

    @pytest.mark.requirement("core:evidence:whole-items")
    async def test_an_oversized_item_is_skipped_whole_and_takes_no_slot(self, admit):
        items = (item("big", "x" * 11), item("a", "x" * 6), item("b", "x" * 5), item("c", "x" * 4))
        evidence = admit(items, results=2)
        assert ids(evidence) == ["a", "c"]
        assert evidence.items[0].text == "x" * 6
        assert evidence.truncated

    async def test_more_items_than_results_are_truncated(self, admit):
        items = tuple(item(str(number), "x") for number in range(3))
        assert not admit(items, results=3).truncated
        cut = admit(items, results=2)
        assert (ids(cut), cut.truncated) == (["0", "1"], True)
        assert admit((item(),), truncated=True).truncated

    @pytest.mark.parametrize(
        "bad",
        [
            item(text=None),
            item(text=b"one"),
            item(text="\ud800"),
            item(id=" "),
            item(id="x" * 501),
            item(score=math.nan),
            item(score=math.inf),
            item(score=True),
            item(score="1"),
            item(score=10**400),
            item(provenance={1}),
            item(revision=b"r"),
            item(extra={"a": {1}}),
            item(extra=["a"]),
            "one",
            None,
        ],
    )
    async def test_a_malformed_item_invalidates_it(self, admit, bad):
        with pytest.raises(EvidenceInvalid) as caught:
            admit((bad,))
        assert caught.value.code == "evidence-invalid"

    @pytest.mark.parametrize(
        "fields",
        [
            {"id": ""},
            {"items": None},
            {"unavailable": "x" * 2001},
            {"metadata": {1}},
            {"output": b"x"},
            {"extra": [1]},
            {"extra": {"a": {1}}},
        ],
    )
    async def test_malformed_fields_invalidate_it(self, admit, fields):
        with pytest.raises(EvidenceInvalid) as caught:
            admit(**fields)
        assert caught.value.code == "evidence-invalid"

    async def test_something_else_is_no_evidence(self, view, frozen_now):
        for answer in (None, {"viewId": view.id}):
            with pytest.raises(EvidenceInvalid) as caught:
                admit_evidence(answer, view, view.routes[0], "exact-snapshot", frozen_now())
            assert caught.value.code == "evidence-invalid"

    async def test_what_a_source_adds_is_kept_and_frozen(self, admit):
        evidence = admit(
            [item(score=1, revision="r", provenance={"a": [1]}, extra={"tier": "high"})],
            extra={"cursor": ["c"]},
            metadata={"total": 9},
            output={"results": []},
            unavailable=" part ",
        )
        (kept,) = evidence.items
        assert (kept.score, kept.revision, kept.extra) == (1, "r", {"tier": "high"})
        assert kept.provenance == FrozenDict(a=(1,))
        assert evidence.extra == {"cursor": ("c",)}
        assert evidence.output == {"results": ()}
        assert evidence.unavailable == "part"

    async def test_items_beyond_the_ceiling_are_not_judged(self, admit):
        assert ids(admit((item(), None), results=1)) == ["1"]


class TestReceipt:
    @pytest.mark.parametrize(
        "fields",
        [
            {"view_id": "view:other"},
            {"offer_id": "source:alpha/other"},
            {"source_instance_key": "source:beta"},
        ],
    )
    async def test_it_is_bound_to_view_offer_and_source(self, check, fields):
        with pytest.raises(ReceiptInvalid) as caught:
            check(**fields)
        assert caught.value.code == "receipt-unbound"

    @pytest.mark.requirement("core:receipt:claims")
    @pytest.mark.parametrize(
        ("status", "completion", "committed_at", "code"),
        [
            ("succeeded", "committed", STAMP, None),
            ("succeeded", "accepted", None, None),
            ("succeeded", "candidate", None, None),
            ("succeeded", "unknown", None, None),
            ("partial", "unknown", None, None),
            ("partial", "failed", None, None),
            ("failed", "failed", None, None),
            ("cancelled", "failed", None, None),
            ("cancelled", "cancelled", None, None),
            ("done", "accepted", None, "receipt-status-invalid"),
            (["succeeded"], "accepted", None, "receipt-status-invalid"),
            ("succeeded", "done", None, "receipt-completion-invalid"),
            ("succeeded", "committed", None, "receipt-commit-invalid"),
            ("succeeded", "committed", "soon", "receipt-commit-invalid"),
            ("partial", "committed", STAMP, "receipt-commit-invalid"),
            ("succeeded", "accepted", STAMP, "receipt-commit-invalid"),
            ("cancelled", "cancelled", STAMP, "receipt-commit-invalid"),
            ("succeeded", "failed", None, "receipt-status-conflict"),
            ("succeeded", "cancelled", None, "receipt-status-conflict"),
            ("failed", "cancelled", None, "receipt-status-conflict"),
        ],
    )
    async def test_its_claims_agree(self, check, status, completion, committed_at, code):
        fields = {"status": status, "completion": completion, "committed_at": committed_at}
        if code is None:
            assert check(**fields).committed_at == committed_at
            return
        with pytest.raises(ReceiptInvalid) as caught:
            check(**fields)
        assert caught.value.code == code

    @pytest.mark.parametrize(
        ("fields", "code"),
        [
            ({"id": " "}, "text-required"),
            ({"id": "x" * 501}, "text-too-long"),
            ({"revision": 7}, "text-not-string"),
            ({"details": {1}}, "json-non-json-value"),
        ],
        ids=["no-id", "long-id", "revision", "details"],
    )
    async def test_malformed_fields_invalidate_it(self, check, fields, code):
        with pytest.raises(ReceiptInvalid) as caught:
            check(**fields)
        assert caught.value.code == code

    async def test_something_else_is_no_receipt(self, view):
        with pytest.raises(ReceiptInvalid) as caught:
            check_receipt(None, view, view.action_offers[0])
        assert caught.value.code == "receipt-invalid"

    async def test_it_is_normalized_and_frozen(self, check):
        receipt = check(id=" r ", revision=" ", details={"a": [1]})
        assert (receipt.id, receipt.revision, receipt.details) == ("r", None, {"a": (1,)})


TEXTS = st.lists(st.text("ab\U0001f600", max_size=6), max_size=8)


@pytest.mark.requirement("core:evidence:whole-items")
async def test_admission_never_passes_a_ceiling_and_never_cuts(view, frozen_now):
    @given(texts=TEXTS, results=st.integers(1, 6), characters=st.integers(1, 12))
    def holds(texts, results, characters):
        route = attrs.evolve(view.routes[0], max_results=results, max_characters=characters)
        items = tuple(item(str(number), text) for number, text in enumerate(texts))
        offered = Evidence(
            id="e",
            view_id=view.id,
            route_id=route.id,
            source_instance_key="source:alpha",
            items=items,
        )
        admitted = admit_evidence(offered, view, route, "exact-snapshot", frozen_now())
        kept = [items[int(one.id)] for one in admitted.items]
        assert [one.text for one in kept] == [one.text for one in admitted.items]
        assert [int(one.id) for one in kept] == sorted(int(one.id) for one in kept)
        used = sum(len(one.text) for one in kept)
        assert len(kept) <= results
        assert used <= characters
        assert admitted.truncated is (len(kept) < len(items))
        # Whatever was left out did not fit when its turn came.
        room, left = characters, results
        for one in items:
            if one in kept:
                room, left = room - len(one.text), left - 1
            else:
                assert left == 0 or len(one.text) > room

    holds()

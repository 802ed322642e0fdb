"""Archiving rules beyond the recorded cases (sources.md §5.3, §5.4)."""

import attrs
import pytest
from dsh_mnemon_host.work.archive import (
    cold_paths,
    destination,
    is_committed,
    routing_batches,
    routing_excerpt,
)

RECEIPT = {
    "completion": "committed",
    "status": "succeeded",
    "committedAt": "2026-01-01T00:00:00.000Z",
}


@attrs.frozen
class Row:
    content: str
    importance: str = "normal"
    branches: tuple[str, ...] | None = None


@pytest.mark.parametrize(
    ("result", "proven"),
    [
        ({}, False),
        ({"id": "m1"}, False),
        ({"success": True}, False),
        ({"committed": True}, True),
        ({"durable": True}, True),
        ({"durable": False, "action": "added"}, False),
        ({"success": False, "action": "added"}, False),
        ({"action": " Added "}, True),
        ({"action": 5}, False),
        ({"imported": 0}, False),
        ({"imported": True}, False),
        ({"committed": 1}, False),
        ({"durable": 1.0, "id": "m1"}, False),
        (None, False),
        ("added", False),
        ([{"action": "added"}], False),
        ({"stored": 2, "status": "queued"}, False),
        ({"action": "added", "errors": ["x"]}, False),
        ({"action": "added", "memoryReceipt": {**RECEIPT, "committedAt": "soon"}}, False),
        ({"action": "skipped", "memoryReceipt": RECEIPT}, True),
        ({**RECEIPT, "status": "partial"}, False),
        ({**RECEIPT, "completion": "accepted"}, False),
    ],
)
def test_only_a_terminal_change_without_objection_is_proof(result, proven):
    assert is_committed(result) is proven


@pytest.mark.parametrize(
    ("ids", "item"),
    [
        ({"id": "", "eventId": "e"}, "item:e"),
        ({"taskId": "t", "operationId": "o"}, "item:o"),
        ({"resourceId": 5, "documentId": "d 1"}, "item:d%201"),
    ],
)
def test_the_first_id_there_is_names_the_item(ids, item):
    found = destination({"action": "added", **ids}, "s", "x")
    assert found is not None
    assert found.reference == f"memory-space:s/{item}"


def test_a_cold_path_has_two_spellings():
    assert cold_paths("a.md") == ("documents/archived/a.md", ".mnemon/documents/archived/a.md")


@pytest.mark.parametrize("length", [0, 1, 384])
def test_a_short_entry_is_shown_whole(length):
    assert routing_excerpt("x" * length) == "x" * length


def test_a_line_shows_importance_and_branches():
    (batch,) = routing_batches([Row("one", "critical", ("main", "dev")), Row("two")])
    assert (
        batch.text
        == "1. [importance=critical branches=main,dev] one\n§\n2. [importance=normal] two"
    )


def test_no_entries_make_no_batch():
    assert routing_batches([]) == ()


def test_a_batch_is_full_at_1024_characters():
    prefix = len("1. [importance=normal] ")
    filler = Row("x" * 300)
    exact = 1024 - 2 * (prefix + 300) - 2 * 3 - prefix
    assert [b.indexes for b in routing_batches([filler, filler, Row("y" * exact)])] == [(1, 2, 3)]
    assert [b.indexes for b in routing_batches([filler, filler, Row("y" * (exact + 1))])] == [
        (1, 2),
        (3,),
    ]


def test_one_line_that_is_too_long_has_a_batch_of_its_own():
    branches = tuple(f"{number:0>128}" for number in range(16))
    batches = routing_batches([Row("a"), Row("b", "low", branches), Row("c")])
    assert [batch.indexes for batch in batches] == [(1,), (2,), (3,)]

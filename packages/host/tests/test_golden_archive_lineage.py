"""Recorded lineage ends, commit proofs and routing text (sources.md §5.3, §5.4).

``runtimeSources`` and ``budgets`` of the file are rules of the Runtime Source and are shown there.
"""

import json
from pathlib import Path

import attrs
import pytest
from dsh_mnemon_core.errors import ConflictError
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_host.work.archive import (
    cold_paths,
    destination,
    document_source,
    is_committed,
    routing_batches,
    routing_excerpt,
)

GOLDEN = Path(__file__).parent / "golden"


def load(name):
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


LINEAGE = load("archive-lineage.json")
EVIDENCE = load("host-commit-evidence.json")["cases"]


def numbered(cases):
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


@attrs.frozen
class Row:
    content: str
    importance: str = "normal"
    branches: tuple[str, ...] | None = None


@pytest.mark.parametrize("case", numbered(EVIDENCE))
def test_a_result_proves_a_commit_as_recorded(case):
    assert is_committed(case["input"]) is case["expected"]


@pytest.mark.parametrize("case", numbered(LINEAGE["destinations"]))
def test_a_destination_is_named_as_recorded(case):
    given = case["input"]
    arguments = (given["result"], given["memoryBodyId"], given["content"])
    if "error" in case:
        with pytest.raises(ConflictError) as caught:
            destination(*arguments)
        assert caught.value.code == "archive-receipt-foreign"
    else:
        found = destination(*arguments)
        assert (None if found is None else to_wire(found)) == case["expected"]


def test_a_document_is_named_as_recorded():
    given, expected = LINEAGE["documentSource"]["input"], LINEAGE["documentSource"]["expected"]
    end = document_source(given["id"], given["revision"], given["contentHash"])
    assert {"index": 1, **to_wire(end)} == expected


def test_the_original_spelling_of_a_cold_path_is_known():
    given = LINEAGE["documentSource"]["input"]
    assert cold_paths(given["filename"])[1] == LINEAGE["archivedPathPeer"]


def test_a_long_entry_is_excerpted_as_recorded():
    recorded = LINEAGE["routing"]["excerpt"]
    character, _, count = recorded["input"].partition("*")
    content = character.strip("'") * int(count)
    excerpt, expected = routing_excerpt(content), recorded["expected"]
    assert len(excerpt) == expected["length"] == len(expected["text"])
    # The words in the gap are ours (D19).
    assert (excerpt[:241], excerpt[-103:]) == (expected["text"][:241], expected["text"][-103:])


def test_entries_are_dealt_into_batches_as_recorded():
    # The recorded input is described in words: ten entries, counted from zero.
    entries = [Row(f"entry {number} {'w' * 200}") for number in range(10)]
    batches = [
        {"indexes": list(batch.indexes), "length": len(batch.text)}
        for batch in routing_batches(entries)
    ]
    assert batches == LINEAGE["routing"]["chunks"]["expected"]

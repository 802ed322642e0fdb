"""Recorded Provider results and what they prove (spec/sources.md §4.9)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_memory_spaces._receipts import completion_of
from dsh_mnemon_testing.golden import golden

RECEIPTS = golden(Path(__file__).parents[1] / "golden", "spaces-receipts")


def expected(case: dict[str, Any]) -> str:
    """Return what a case expects; a cancelled state is ``cancelled`` here (D20)."""
    given = case["input"] if isinstance(case["input"], dict) else {}
    states = {str(given.get(key)).strip().lower() for key in ("action", "status", "state")}
    cancelled = bool(states & {"cancelled", "canceled"}) and case["expected"] == "failed"
    return "cancelled" if cancelled else str(case["expected"])


@pytest.mark.requirement("memory-spaces:receipts:completion")
@pytest.mark.parametrize("case", RECEIPTS.cases, ids=RECEIPTS.ids())
def test_a_result_has_the_recorded_completion(case: dict[str, Any]) -> None:
    assert completion_of(case["input"]) == expected(case)

"""Recorded mutations: results, entries, revisions and refusals."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_source_runtime._changes import State, Steps
from dsh_mnemon_source_runtime._entries import read_branches
from dsh_mnemon_source_runtime._format import decode
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Entry, Limits

GOLDEN = Path(__file__).parent / "golden"


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return content


MUTATIONS = load("runtime-mutations.json")
BRANCHES = load("runtime-branches.json")["cases"]


def entries_of(stored: list[dict[str, Any]]) -> tuple[Entry, ...]:
    return decode(json.dumps({"version": 1, "entries": stored}).encode())


def numbered(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


@pytest.mark.requirement("runtime:mutation:recorded")
@pytest.mark.parametrize("case", numbered(MUTATIONS["cases"]))
def test_a_mutation_has_the_recorded_result(case: dict[str, Any]) -> None:
    state = State(entries_of(case["input"].get("entries", MUTATIONS["base"])))
    steps = Steps(
        limits=Limits(**MUTATIONS["limits"]),
        now=iso_utc(datetime.fromisoformat(MUTATIONS["now"])),
    )
    expected = case["expected"]
    if "error" in expected:
        with pytest.raises(MnemonError) as caught:
            steps.mutate(read_mutation(case["input"]["request"]))(state)
        assert caught.value.code == expected["error"].get("code", caught.value.code)
        return
    change = steps.mutate(read_mutation(case["input"]["request"]))(state)
    after = state if change.entries is None else State(change.entries)
    assert change.answer == expected["result"]
    assert [entry.to_json() for entry in after.entries] == expected["entries"]
    assert after.revision == expected["revision"]


@pytest.mark.requirement("runtime:entry:branches")
@pytest.mark.parametrize("case", numbered(BRANCHES))
def test_branch_names_are_accepted_or_refused_as_recorded(case: dict[str, Any]) -> None:
    request = {"action": "add", "target": "memory", "content": "x", "branches": case["input"]}
    if "error" in case:
        with pytest.raises(MnemonError):
            read_branches(read_mutation(request).branches or ())
    else:
        assert list(read_branches(read_mutation(request).branches or ())) == case["expected"]

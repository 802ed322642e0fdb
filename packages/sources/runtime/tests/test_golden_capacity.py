"""Recorded capacity plans, packing, compaction, and lineage sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.sdk import to_wire
from dsh_mnemon_source_runtime import _manage
from dsh_mnemon_source_runtime._capacity import keep_budget, plan
from dsh_mnemon_source_runtime._changes import State, Steps
from dsh_mnemon_source_runtime._format import decode, markdown
from dsh_mnemon_source_runtime._mutation import prepare
from dsh_mnemon_source_runtime.actions import read_mutation
from dsh_mnemon_source_runtime.contracts import Entry, Limits
from dsh_mnemon_source_runtime.lineage import source_end

GOLDEN = Path(__file__).parent / "golden"


def load(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return content


CAPACITY = load("runtime-capacity.json")
LINEAGE = load("archive-lineage.json")

LIMITS = Limits(**CAPACITY["limits"])
STATE = State(decode(json.dumps({"version": 1, "entries": CAPACITY["entries"]}).encode()))
STEPS = Steps(limits=LIMITS, now=CAPACITY["now"])

OURS = {"viewRevision", "budget", "sources"}
"""Keys that the plan has beyond the recorded ones."""


def check_error(error: MnemonError, expected: dict[str, Any]) -> None:
    if "code" in expected:
        assert error.code == expected["code"]
    for key in ("target", "used", "projected", "limit"):
        if key in expected:
            assert error.details[key] == expected[key]


def shrinks(plan: dict[str, Any]) -> bool:
    """Tell whether a mutation leaves a target above its limit, but no larger than it was.

    The original refuses that; the seed refuses only what grows (spec/sources.md §2.5).
    """
    return bool(plan["limit"] < plan["projected"] <= plan["used"])


def numbered(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=f"{number}") for number, case in enumerate(cases, 1)]


@pytest.mark.requirement("runtime:capacity:plan")
@pytest.mark.parametrize("case", numbered(CAPACITY["planCases"]))
def test_a_plan_and_its_budget_are_as_recorded(case: dict[str, Any]) -> None:
    mutation = read_mutation(case["input"]["request"])
    prepared = prepare(STATE.entries, mutation, STEPS.now)
    described = plan(
        mutation.action, prepared, LIMITS, revision=STATE.revision, view_revision="view"
    )
    expected = case["expected"]
    recorded = {**expected["plan"]}
    if shrinks(recorded):
        recorded["requiresMaintenance"] = False
    assert {key: item for key, item in described.items() if key not in OURS} == recorded
    assert described["viewRevision"] == "view"
    assert described["budget"] == expected["hostBudget"]


@pytest.mark.requirement("runtime:capacity:rule")
@pytest.mark.parametrize("case", numbered(CAPACITY["planCases"]))
def test_the_same_mutation_made_directly_fits_or_is_refused(case: dict[str, Any]) -> None:
    direct = case["expected"]["directMutation"]
    step = STEPS.mutate(read_mutation(case["input"]["request"]))
    if shrinks(case["expected"]["plan"]):
        assert step(STATE).answer["success"] is True
    elif "error" in direct:
        with pytest.raises(MnemonError) as caught:
            step(STATE)
        check_error(caught.value, direct["error"])
    else:
        assert step(STATE).answer == direct["result"]


@pytest.mark.requirement("runtime:capacity:compact")
@pytest.mark.parametrize("case", numbered(CAPACITY["compactCases"]))
def test_a_compaction_is_packed_or_refused_as_recorded(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]

    def compact() -> Any:
        step = STEPS.compact(
            read_mutation(given["request"]),
            _manage._candidates(given["compacted"]),
            revision=STATE.revision if given["revision"] == "current" else given["revision"],
            max_bytes=given["maxBytes"],
        )
        return step(STATE)

    if "error" in expected:
        with pytest.raises(MnemonError) as caught:
            compact()
        check_error(caught.value, expected["error"])
        return
    change = compact()
    assert change.answer == expected["result"]
    assert [entry.to_json() for entry in change.entries] == expected["entries"]
    assert markdown(change.entries, "memory").decode() == expected["memoryMd"]


def entry(content: str, importance: Any = "normal", branches: Any = None) -> Entry:
    return Entry(
        content=content,
        created_at="",
        updated_at="",
        target="memory",
        importance=importance,
        branches=None if branches is None else tuple(branches),
    )


@pytest.mark.requirement("runtime:lineage:source")
def test_lineage_sources_have_the_recorded_identity() -> None:
    given = LINEAGE["runtimeSources"]["input"]
    entries = [
        entry(row["content"], row["importance"], row.get("branches")) for row in given["entries"]
    ]
    ends = [
        {"index": number, **to_wire(source_end(given["revision"], number, item))}
        for number, item in enumerate(entries, 1)
    ]
    assert ends == LINEAGE["runtimeSources"]["expected"]


def recipe(text: str | None) -> str | None:
    """Expand ``'a'*3000``; other texts stand for themselves."""
    if text is None or not text.startswith("'"):
        return text
    character, _, count = text.partition("*")
    return character.strip("'") * int(count)


@pytest.mark.requirement("runtime:capacity:plan")
@pytest.mark.parametrize("case", numbered(LINEAGE["budgets"]))
def test_the_budget_beside_a_pending_entry_is_as_recorded(case: dict[str, Any]) -> None:
    given = case["input"]
    pending = recipe(given["pendingContent"])
    request = {"action": "add", "target": "memory", "content": "x"}
    rest = tuple(entry(f"other {number}") for number in range(given["otherEntries"]))
    prepared = attrs.evolve(
        prepare(rest, read_mutation(request), ""),
        pending=None if pending is None else entry(pending),
    )
    assert keep_budget(given["limit"], prepared) == case["expected"]

"""Golden turns: what reaches the Source and what the model sees, for every recorded case."""

from pathlib import Path

import anyio
import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_testing.golden import golden

GOLDEN = golden(Path(__file__).parent / "golden", "layered-turn")


async def observe(turn, step):
    """Run one step and reduce its outcome to the recorded form."""
    seen = []
    outcome = {}
    try:
        evidence = await turn.call(
            step["source"],
            step["route"],
            step["input"],
            results=step.get("results"),
            fail=step.get("fail", False),
            seen=seen,
        )
    except MnemonError as error:
        outcome["raises"] = error.code
    else:
        output = evidence.output or {}
        outcome["itemIds"] = [item.id for item in evidence.items]
        outcome["itemLengths"] = [len(item.text) for item in evidence.items]
        outcome["truncated"] = evidence.truncated
        outcome["outputKeys"] = sorted(output)
        if "notRun" in output:
            outcome["notRun"] = output["notRun"]
        if "hint" in output:
            outcome["hintGiven"] = bool(output["hint"].strip())
    assert len(seen) <= 1
    return {"sourceRead": seen[0] if seen else None, **outcome}


async def run(turn, steps):
    """Run a list of steps in order, or several lists at once; outcomes in the order written."""
    if isinstance(steps, list):
        return [outcome for step in steps for outcome in await run(turn, step)]
    if "parallel" not in steps:
        return [await observe(turn, steps)]
    branches = steps["parallel"]
    outcomes = [None] * len(branches)

    async def branch(position):
        outcomes[position] = await run(turn, branches[position])

    async with anyio.create_task_group() as group:
        for position in range(len(branches)):
            group.start_soon(branch, position)
    return [outcome for branch_outcomes in outcomes for outcome in branch_outcomes]


@pytest.mark.requirement("layered:golden:turn")
@pytest.mark.parametrize("case", GOLDEN.cases, ids=GOLDEN.ids())
async def test_golden_turn(case, make_turn):
    given = case["input"]
    turn = make_turn(given.get("results", ()), given["grants"])
    outcomes = await run(turn, given["steps"])
    assert {"reads": len(turn.reads), "steps": outcomes} == case["expect"]

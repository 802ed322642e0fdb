"""Golden compositions: the proposal, or the code of the refusal, for every recorded case."""

from pathlib import Path

import pytest
from dsh_mnemon_core.allotment import deal
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionContribution
from dsh_mnemon_core.wire import from_wire, to_wire
from dsh_mnemon_strategy_default_three_tier import layered_strategy
from dsh_mnemon_testing.golden import golden

GOLDEN = golden(Path(__file__).parent / "golden", "strategy-layered")


def available(value):
    """Build an available Source; its id lists follow from its manifests."""
    derived = ("routeIds", "actionIds")
    return from_wire(AvailableSource, {k: v for k, v in value.items() if k not in derived})


def listed(block, title):
    """Read the names after ``title: `` in a guidance block."""
    line = next(line for line in block.splitlines() if line.startswith(f"{title}: "))
    return line.removeprefix(f"{title}: ").split(", ")


def guidance_shape(guidance):
    """Reduce guidance to its shape; ``system`` stands for ``protocol`` or ``system`` (D20)."""
    blocks = [text for text in (guidance.get("protocol"), guidance.get("system")) if text]
    keys = {"system" if key == "protocol" else key for key in guidance}
    shape = {"keys": sorted(keys), "systemTitles": [text.splitlines()[0] for text in blocks]}
    if "system" in guidance:
        shape["captureEligible"] = listed(guidance["system"], "Eligible Sources")
        shape["captureActionIds"] = listed(guidance["system"], "Actions")
    if "reminders" in guidance:
        shape["reminders"] = sorted(guidance["reminders"])
    return shape


def as_decided(recorded, request, offered):
    """Return the recorded Sources with what was decided since: trimming (D7), ``read`` (D56).

    Also tells whether anything was trimmed. A document Source that offers ``read`` has it beside
    the recorded routes.
    """
    routes = [
        [name for name in source.route_ids if name in (*row["routeIds"], "read")]
        for row in recorded
        for source in offered
        if source.source_instance_key == row["sourceInstanceKey"]
    ]
    actions = [row["actionIds"] for row in recorded]
    dealt_routes = deal(routes, min(32, request.budget.max_routes))
    dealt_actions = deal(actions, min(32, request.budget.max_actions))
    rows = [
        {**row, "routeIds": list(route_ids), "actionIds": list(action_ids)}
        for row, route_ids, action_ids in zip(recorded, dealt_routes, dealt_actions, strict=True)
    ]
    trimmed = sum(map(len, [*routes, *actions])) > sum(map(len, [*dealt_routes, *dealt_actions]))
    return rows, trimmed


@pytest.mark.requirement("layered:golden:composition")
@pytest.mark.parametrize("case", GOLDEN.cases, ids=GOLDEN.ids())
def test_golden_composition(case):
    given, expected = case["input"], case["expect"]
    request = from_wire(ViewRequest, given["request"])
    sources = tuple(map(available, given["sources"]))
    contributions = [from_wire(ExtensionContribution, x) for x in given.get("contributions", ())]
    compose = layered_strategy().compose
    if "raises" in expected:
        with pytest.raises(MnemonError) as caught:
            compose(request, sources, contributions)
        assert caught.value.code == expected["raises"]
        return
    spec = to_wire(compose(request, sources, contributions))
    shape = guidance_shape(spec.pop("guidance", {}))
    assert spec.pop("explanation").strip()
    rows, trimmed = as_decided(expected["spec"]["sources"], request, sources)
    codes = [note["code"] for note in spec.pop("diagnostics", ())]
    assert codes == (["operations-trimmed"] if trimmed else [])
    assert {**spec, "guidanceShape": shape} == {**expected["spec"], "sources": rows}

"""Golden compositions: the proposal, or the code of the refusal, for every recorded case."""

import json
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionContribution
from dsh_mnemon_core.wire import from_wire, to_wire
from dsh_mnemon_strategy_default_three_tier import layered_strategy

CASES = json.loads(
    (Path(__file__).parent / "golden" / "strategy-layered.json").read_text(encoding="utf-8")
)["cases"]


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


@pytest.mark.requirement("layered:golden:composition")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_composition(case):
    given, expected = case["input"], case["expect"]
    request = from_wire(ViewRequest, given["request"])
    sources = tuple(map(available, given["sources"]))
    contributions = tuple(from_wire(ExtensionContribution, x) for x in given["contributions"])
    compose = layered_strategy().compose
    if "raises" in expected:
        with pytest.raises(MnemonError) as caught:
            compose(request, sources, contributions)
        assert caught.value.code == expected["raises"]
        return
    spec = to_wire(compose(request, sources, contributions))
    shape = guidance_shape(spec.pop("guidance", {}))
    assert spec.pop("explanation").strip()
    assert {**spec, "guidanceShape": shape} == expected["spec"]

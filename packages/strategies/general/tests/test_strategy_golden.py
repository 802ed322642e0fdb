"""Golden compositions: the proposal, or the code of the refusal, for every recorded case."""

from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError, MnemonError
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.strategy import ExtensionContribution
from dsh_mnemon_core.wire import from_wire, to_wire
from dsh_mnemon_strategy_general import general_strategy, plugin
from dsh_mnemon_testing.golden import golden

GOLDEN = golden(Path(__file__).parent / "golden", "strategy-general")
TITLES = ("MNEMON GENERAL MEMORY PROTOCOL", "MNEMON OPTIONAL AUTO CAPTURE")


def available(value):
    """Build an available Source; its id lists follow from its manifests."""
    derived = ("routeIds", "actionIds")
    return from_wire(AvailableSource, {k: v for k, v in value.items() if k not in derived})


def listed(block, title):
    """Read the names after ``title: `` in a guidance block."""
    line = next(line for line in block.splitlines() if line.startswith(f"{title}: "))
    return line.removeprefix(f"{title}: ").split(", ")


def guidance_shape(guidance):
    """Reduce guidance to its shape: which texts there are, and the lines that are contract."""
    system = guidance["system"]
    titles = [line for line in system.splitlines() if line in TITLES]
    shape = {"keys": sorted(guidance), "systemTitles": titles}
    if TITLES[1] in titles:
        shape["captureEligible"] = listed(system, "Eligible Sources")
        shape["captureActionIds"] = listed(system, "Actions")
    lines = [line for line in guidance["routing"].splitlines() if line.startswith("- ")]
    if lines:
        shape["routingLines"] = lines
    return shape


def proposed(given):
    """Compose what a case describes, from its configuration on."""
    strategy = general_strategy(plugin.configure(given["config"]))
    request = from_wire(ViewRequest, given["request"])
    sources = tuple(map(available, given["sources"]))
    contributions = tuple(from_wire(ExtensionContribution, x) for x in given["contributions"])
    return strategy.compose(request, sources, contributions)


def code_of(error):
    """Return the code of a refusal; a configuration is refused with that of its first problem."""
    if isinstance(error, ConfigurationError):
        return error.details["problems"][0]["code"]
    return error.code


@pytest.mark.requirement("general:golden:composition")
@pytest.mark.parametrize("case", GOLDEN.cases, ids=GOLDEN.ids())
def test_golden_composition(case):
    expected = case["expect"]
    if "raises" in expected:
        with pytest.raises(MnemonError) as caught:
            proposed(case["input"])
        assert code_of(caught.value) == expected["raises"]
        return
    spec = to_wire(proposed(case["input"]))
    shape = guidance_shape(spec.pop("guidance"))
    assert spec.pop("explanation").strip()
    assert {**spec, "guidanceShape": shape} == expected["spec"]

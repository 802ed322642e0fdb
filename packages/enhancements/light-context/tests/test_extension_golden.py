"""Golden contributions: the value, or the code of the refusal, for every recorded case."""

from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError, MnemonError
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_core.wire import from_wire
from dsh_mnemon_strategy_light_context import light_context_extension, plugin
from dsh_mnemon_testing.golden import golden

REQUEST = ViewRequest(scope=OperationScope(storage="custom"))
CASES = [
    case
    for case in golden(Path(__file__).parent / "golden", "extensions").cases
    if case["name"].startswith("light-context/")
]


def available(value):
    """Build an available Source; its id lists follow from its manifests."""
    derived = ("routeIds", "actionIds")
    return from_wire(AvailableSource, {k: v for k, v in value.items() if k not in derived})


def contributed(given):
    """Contribute what a case describes, from its configuration on."""
    extension = light_context_extension(plugin.configure(given["config"]))
    return extension.contribute(REQUEST, tuple(map(available, given["sources"])))


def code_of(error):
    """Return the code of a refusal; a configuration is refused with the code of its problem."""
    if isinstance(error, ConfigurationError):
        [problem] = error.details["problems"]
        return problem["code"]
    return error.code


@pytest.mark.requirement("light-context:golden")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_golden_contribution(case):
    expected = case["expect"]
    if "raises" in expected:
        with pytest.raises(MnemonError) as caught:
            contributed(case["input"])
        assert code_of(caught.value) == expected["raises"]
        return
    assert contributed(case["input"]) == expected["contribution"]

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
GOLDEN = golden(Path(__file__).parent / "golden", "extensions")
CASES = [
    pytest.param(case, id=id_)
    for case, id_ in zip(GOLDEN.cases, GOLDEN.ids(), strict=True)
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
    """Return the code of a refusal; a configuration is refused with that of its first problem."""
    if isinstance(error, ConfigurationError):
        return error.details["problems"][0]["code"]
    return error.code


@pytest.mark.requirement("light-context:golden")
@pytest.mark.parametrize("case", CASES)
def test_golden_contribution(case):
    expected = case["expect"]
    if "raises" in expected:
        with pytest.raises(MnemonError) as caught:
            contributed(case["input"])
        assert code_of(caught.value) == expected["raises"]
        return
    assert contributed(case["input"]) == expected["contribution"]

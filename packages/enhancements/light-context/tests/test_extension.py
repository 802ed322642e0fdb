"""What is contributed."""

import pytest
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_strategy_light_context import LightContextConfig, light_context_extension

SCOPE = OperationScope(storage="custom")


@pytest.mark.requirement("light-context:manifest")
def test_it_fills_projection_of_every_strategy():
    manifest = light_context_extension().manifest
    assert (manifest.type_id, manifest.slot, manifest.strategy_type_id) == (
        "light-context",
        "projection",
        "*",
    )
    assert manifest.package_name == "dsh-mnemon-strategy-light-context"


@pytest.mark.requirement("light-context:pure")
@pytest.mark.parametrize("budget", [1, 65_536])
def test_the_ceiling_depends_on_nothing_but_the_configuration(budget):
    request = ViewRequest(scope=SCOPE, budget=ViewBudget(max_projection_characters=budget))
    extension = light_context_extension(LightContextConfig(max_projection_characters=500))
    assert extension.contribute(request, ()) == {"maxProjectionCharacters": 500}

"""Extensions made for Layered alone."""

import pytest
from dsh_mnemon_core.errors import ContractError
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_strategy_default_three_tier.extension_sdk import define_three_tier_extension

REQUEST = ViewRequest(scope=OperationScope(storage="custom"))


def extension(value):
    return define_three_tier_extension(
        type_id="narrow",
        package_name="narrow",
        slot="projection",
        contribute=lambda _request, _sources: value,
    )


@pytest.mark.requirement("layered:extension")
def test_it_targets_layered_and_nothing_else():
    definition = extension({"maxProjectionCharacters": 9})
    assert definition.manifest.strategy_type_id == "default-three-tier"
    assert definition.contribute(REQUEST, ()) == {"maxProjectionCharacters": 9}


@pytest.mark.requirement("layered:extension")
def test_its_value_is_checked():
    with pytest.raises(ContractError) as caught:
        extension({}).contribute(REQUEST, ())
    assert caught.value.code == "projection-limit-required"

"""Which Sources are selected when nobody named them."""

import pytest
from dsh_mnemon_core.errors import ContractError
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_strategy_scoped import ScopedConfig, scoped_extension

REQUEST = ViewRequest(scope=OperationScope(storage="custom"))


def source(key, role, availability="ready"):
    return AvailableSource(
        source_instance_key=f"source:{key}",
        source_type_id="notes",
        role=role,
        availability=availability,
        revision="r1",
    )


def selected(sources, **config):
    return scoped_extension(ScopedConfig(**config)).contribute(REQUEST, sources)


@pytest.mark.requirement("scoped:default")
def test_product_roles_are_selected_by_role_then_key_also_when_unavailable():
    sources = [
        source("b", "durable-evidence"),
        source("z", "working-context", "unavailable"),
        source("a", "durable-evidence"),
        source("log", "task-log"),
        source("m", "narrative"),
        source("y", "working-context"),
    ]
    keys = ["source:y", "source:z", "source:m", "source:a", "source:b"]
    assert selected(sources) == {"sourceKeys": keys}
    assert selected(sources[::-1]) == {"sourceKeys": keys}


@pytest.mark.requirement("scoped:default")
def test_no_more_than_a_slot_holds_are_selected():
    sources = [source(f"d{number:02}", "narrative") for number in range(40)]
    keys = selected([*sources, source("z", "working-context")])["sourceKeys"]
    assert len(keys) == 32
    assert keys[:2] == ["source:z", "source:d00"]


@pytest.mark.requirement("scoped:writable")
def test_writable_keys_are_passed_along_and_must_be_selected():
    sources = [source("a", "narrative"), source("b", "narrative")]
    assert selected(sources, writable_source_keys=("source:b",)) == {
        "sourceKeys": ["source:a", "source:b"],
        "writableSourceKeys": ["source:b"],
    }
    with pytest.raises(ContractError) as caught:
        selected(sources, writable_source_keys=("source:ghost",))
    assert caught.value.code == "writable-not-selected"


@pytest.mark.requirement("scoped:manifest")
def test_it_fills_selection_of_every_strategy():
    manifest = scoped_extension().manifest
    assert (manifest.type_id, manifest.slot, manifest.strategy_type_id) == (
        "scoped",
        "selection",
        "*",
    )
    assert manifest.package_name == "dsh-mnemon-strategy-scoped"

"""What is contributed, and every point the default instruction must make."""

import re

import pytest
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_strategy_auto_capture import auto_capture_extension
from dsh_mnemon_strategy_auto_capture._config import DEFAULT_INSTRUCTION

REQUEST = ViewRequest(scope=OperationScope(storage="custom"))


def source(key, role="durable-evidence", availability="ready"):
    return AvailableSource(
        source_instance_key=f"source:{key}",
        source_type_id="notes",
        role=role,
        availability=availability,
        revision="r1",
    )


def keys(sources):
    return auto_capture_extension().contribute(REQUEST, sources)["sourceKeys"]


@pytest.mark.requirement("auto-capture:default")
def test_durable_sources_are_the_targets_in_the_order_of_their_keys():
    sources = [source("b"), source("n", "narrative"), source("a", availability="unavailable")]
    assert keys(sources) == ["source:a", "source:b"]
    assert keys([]) == []
    assert len(keys([source(f"s{number:02}") for number in range(40)])) == 32


@pytest.mark.requirement("auto-capture:manifest")
def test_it_fills_capture_of_every_strategy():
    manifest = auto_capture_extension().manifest
    assert (manifest.type_id, manifest.slot, manifest.strategy_type_id) == (
        "auto-capture",
        "capture",
        "*",
    )
    assert manifest.package_name == "dsh-mnemon-strategy-auto-capture"


@pytest.mark.requirement("auto-capture:instruction")
@pytest.mark.parametrize(
    "pattern",
    [
        "at most one thing from this turn",
        "the user supplied",
        "a preference, a correction, or a fact about the project that is settled",
        "help with later tasks",
        "Compare it with the memory",
        "already there, secrets, passing progress, guesses, your own claims",
        "anything that you only recalled",
        "wishes something not to be remembered, respect it",
        "one short fact to one durable Source",
        "nothing qualifies, write nothing",
    ],
)
def test_the_default_instruction_covers(pattern):
    assert re.search(pattern, " ".join(DEFAULT_INSTRUCTION.split()))

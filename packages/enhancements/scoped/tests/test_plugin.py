"""What a profile mounts, and what becomes of it in the real engine."""

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_strategy_scoped import plugin

SOURCE = {"manifest": {"typeId": "spaces", "role": "durable-evidence"}}
STRATEGY = {"manifest": {"extensionSlots": ["selection"]}}


@pytest.mark.requirement("scoped:plugin")
def test_the_descriptor_says_what_it_is_before_anything_runs():
    described = to_wire(plugin.memory_plugin)
    assert described["packageName"] == plugin.name == "dsh-mnemon-strategy-scoped"
    assert described["roles"] == ["strategy-extension"]
    assert described["provides"] == [{"id": "strategy.selection", "exclusive": True}]
    assert described["requires"] == ["strategy"]
    assert set(described["label"]) == set(described["description"]) == {"en", "zh-CN"}


@pytest.fixture
def serving(memory_runner, fake_source, fake_strategy):
    """Have a Source and a Strategy that declares the slot serve."""
    memory_runner.install("spaces", Contributions(sources=(fake_source(**SOURCE),)))
    memory_runner.install("strategy", Contributions(strategies=(fake_strategy(**STRATEGY),)))
    return memory_runner


async def contributed(runner):
    with await runner.begin_turn() as turn:
        return [(item.type_id, item.slot) for item in turn.view.strategy_extensions or ()]


@pytest.mark.requirement("scoped:plugin")
async def test_it_contributes_while_it_is_mounted(serving):
    unmount = await serving.mount(plugin, instance_id="mnemon-strategy-scoped")
    assert await contributed(serving) == [("scoped", "selection")]
    await unmount()
    assert await contributed(serving) == []


@pytest.mark.requirement("scoped:plugin")
async def test_one_slot_has_one_filler(serving):
    await serving.mount(plugin, instance_id="one")
    with pytest.raises(MnemonError) as caught:
        await serving.mount(plugin, instance_id="two")
    assert caught.value.code == "slot-conflict"
    assert await contributed(serving) == [("scoped", "selection")]


@pytest.mark.requirement("scoped:writable")
async def test_a_writable_key_that_is_not_selected_fails_the_turn_by_name(serving):
    await serving.mount(plugin, config={"writableSourceKeys": ["source:ghost"]})
    with pytest.raises(MnemonError) as caught:
        await serving.begin_turn()
    assert caught.value.code == "writable-not-selected"
    assert "strategy-extension:dsh-mnemon-strategy-scoped" in caught.value.message

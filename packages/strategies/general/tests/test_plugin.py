"""What a profile mounts, and what becomes of it in the real engine."""

import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.wire import to_wire
from dsh_mnemon_strategy_general import MANIFEST, plugin

SCHEMA = {"type": "object"}
VAULT = {
    "manifest": {
        "typeId": "vault",
        "role": "ledger",
        "capabilities": ["project", "search", "write"],
        "routes": [
            {
                "id": "look",
                "description": "Look.",
                "capability": "search",
                "inputSchema": SCHEMA,
                "maxCalls": 2,
            }
        ],
        "actions": [
            {"id": "book", "description": "Book.", "capability": "write", "inputSchema": SCHEMA}
        ],
    },
    "project": {"text": "Twelve entries.", "grant": True},
    "query": {"items": [{"id": "e1", "text": "Rent.", "provenance": {}}]},
    "mutate": {},
}


@pytest.mark.requirement("general:plugin")
def test_the_descriptor_says_what_it_is_before_anything_runs():
    described = to_wire(plugin.memory_plugin)
    assert described["packageName"] == plugin.name == MANIFEST.package_name
    assert described["roles"] == ["strategy"]
    assert described["provides"] == [{"id": "strategy"}, {"id": "strategy.general"}]
    assert described["requires"] == ["source"]
    assert set(described["label"]) == set(described["description"]) == {"en", "zh-CN"}


@pytest.mark.requirement("general:plugin")
async def test_mounting_registers_it_until_it_is_unmounted(memory_runner, fake_source):
    memory_runner.install("vault", Contributions(sources=(fake_source(**VAULT),)))
    unmount = await memory_runner.mount(plugin, instance_id="mnemon-strategy-general")
    with await memory_runner.begin_turn() as turn:
        assert turn.view.strategy_instance_key == "strategy:mnemon-strategy-general"
    await unmount()
    with pytest.raises(MnemonError) as caught:
        await memory_runner.begin_turn()
    assert caught.value.code == "memory-composition-unavailable"


@pytest.mark.requirement("general:engine")
async def test_a_source_of_any_role_is_shown_read_and_written(memory_runner, fake_source):
    memory_runner.install("vault", Contributions(sources=(fake_source(**VAULT),)))
    await memory_runner.mount(plugin, config={"residentSourceKeys": ["source:vault"]})
    with await memory_runner.begin_turn() as turn:
        [fragment] = turn.view.projection
        assert (fragment.mode, fragment.text) == ("eager", "Twelve entries.")
        assert "- source:vault (vault, role ledger): resident, 1 route(s), 1 action(s)" in (
            turn.view.guidance.routing
        )
        evidence = await turn.execute_route("source:vault/look", {})
        assert [item.text for item in evidence.items] == ["Rent."]
        receipt = await turn.execute_action("source:vault/book", {}, authorize=True)
        assert receipt.completion == "committed"


@pytest.mark.requirement("general:policy")
async def test_only_the_calls_of_a_route_bound_how_often_it_is_read(memory_runner, fake_source):
    memory_runner.install("vault", Contributions(sources=(fake_source(**VAULT),)))
    await memory_runner.mount(plugin)
    with await memory_runner.begin_turn() as turn:
        answers = [await turn.execute_route("source:vault/look", {}) for _ in range(2)]
        assert [[item.id for item in answer.items] for answer in answers] == [["e1"], ["e1"]]
        with pytest.raises(MnemonError) as caught:
            await turn.execute_route("source:vault/look", {})
        assert caught.value.code == "route-calls-exhausted"

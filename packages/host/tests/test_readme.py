"""What the README shows runs as it is written."""

import inspect
import re
from pathlib import Path

import pytest
from dsh_mnemon_host.agent_host import FEATURES
from dsh_mnemon_host.harness.conformance import HarnessContract

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
RULES = [name for name in vars(HarnessContract) if name.startswith("test_")]


@pytest.fixture(scope="module")
def shown():
    """Everything the blocks define, in one module."""
    names = {"__name__": "readme"}
    for block in BLOCKS:
        exec(compile(block, "README.md", "exec"), names)
    return names


async def test_the_embedded_host_remembers(shown, tmp_path):
    [wake] = await shown["converse"](tmp_path)
    assert "Prefers short answers" in wake


@pytest.mark.requirement("host:harness:rules")
@pytest.mark.parametrize("rule", RULES)
async def test_the_adapter_keeps_every_rule(shown, rule):
    await getattr(shown["TestChatHarness"](), rule)()


@pytest.mark.requirement("host:harness:rules")
async def test_the_adapter_serves_a_real_host(shown, home):
    async with home.open() as host:
        harness = shown["ChatHarness"]()
        detach = host.attach(harness)
        chat = await harness.start("a", cwd=str(home.workspace))
        async with chat.turn("hello") as prompt:
            assert "MNEMON RUNTIME MEMORY PROTOCOL" in prompt[0]
            assert prompt[1] == "hello"
            assert prompt[-1].startswith("MNEMON RUNTIME MEMORY SNAPSHOT")
        async with chat.turn("again") as prompt:
            assert prompt[-1] == "again"
        del chat.log[2:]  # a rewind: the cue stays, the Wake is gone
        async with chat.turn("once more") as prompt:
            assert prompt[-1].startswith("MNEMON RUNTIME MEMORY SNAPSHOT")
            child = await harness.start("b", "a")
            async with child.turn("help") as own:
                assert own[-1] == prompt[-1]
        await harness.stop("b")
        detach()
        assert host.lifecycle.agents == ()


def test_the_table_of_features_is_complete():
    for feature, needs in FEATURES.items():
        [row] = [line for line in README.splitlines() if line.startswith("|") and feature in line]
        assert re.findall(r"`(\w+)`", row) == list(needs)


def test_rules_and_suite_belong_together():
    assert all(inspect.getdoc(getattr(HarnessContract, rule)) for rule in RULES)
    assert len(re.findall(r"^\d\. ", README, re.MULTILINE)) == 9

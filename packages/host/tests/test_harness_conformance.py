"""The Python API keeps the rules of an adapter, and the rules notice who does not."""

from contextlib import asynccontextmanager

import anyio
import attrs
import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.agent_host import HostCapabilities
from dsh_mnemon_host.harness.conformance import HarnessContract, RecordingHost
from dsh_mnemon_host.harness.loop import LoopHarness

RULES = [name for name in vars(HarnessContract) if name.startswith("test_")]


@attrs.frozen
class Shown:
    turn: object

    @property
    def prompt(self):
        return [self.turn.system, "a user message", *(m.text for m in self.turn.messages)]

    async def call(self, name, arguments):
        return await self.turn.call(name, arguments)


@attrs.frozen
class LoopDriver:
    harness: object
    shown: type = Shown

    @asynccontextmanager
    async def turn(self, agent_id, parent_id=None):
        agent = self.harness.agent(agent_id)
        if agent is None and parent_id is not None:
            agent = await self.harness.agent(parent_id).child(agent_id)
        elif agent is None:
            agent = self.harness.open_agent(agent_id, None, default="/workspace")
        async with agent.turn() as turn:
            yield self.shown(turn)

    async def dispose(self, agent_id):
        await self.harness.agent(agent_id).close()


@pytest.mark.requirement("host:harness:rules")
class TestLoopHarness(HarnessContract):
    @asynccontextmanager
    async def driven(self):
        yield LoopDriver(LoopHarness())


class Broken(HarnessContract):
    """A suite over a driver that breaks one rule."""

    def __init__(self, driver):
        self.driver = driver

    @asynccontextmanager
    async def driven(self):
        yield self.driver


class Backwards(Shown):
    @property
    def prompt(self):
        return list(reversed(super().prompt))


class Templating(Shown):
    @property
    def prompt(self):
        return [text.replace("{{name}}", "me") for text in super().prompt]


class Stuck(Shown):
    async def call(self, name, arguments):
        with anyio.CancelScope(shield=True), anyio.move_on_after(0.01):
            await anyio.sleep_forever()


class Sink:
    """Forwards events, but not the way it should."""

    def __init__(self, sink, drop=(), twice=(), renumber=False):
        self.sink, self.drop, self.twice, self.renumber = sink, drop, twice, renumber

    def __getattr__(self, name):
        call = getattr(self.sink, name)

        async def forward(agent, *rest):
            if self.renumber and name == "turn_ended":
                rest = (rest[0] + 7,)
            answer = [] if name in self.drop else await call(agent, *rest)
            return await call(agent, *rest) if name in self.twice else answer

        return call if name == "problem" else forward


class Bending(LoopHarness):
    def __init__(self, **how):
        super().__init__()
        self.how = how

    def subscribe(self, sink):
        return super().subscribe(Sink(sink, **self.how))


class Keeping(LoopHarness):
    """Never takes another list of tools, and forgets no Agent."""

    def register_tools(self, tools):
        return super().register_tools(self.tools or tools)

    async def forget(self, agent):
        await self.sink.agent_disposed(agent)


BREAKS = {
    "without a pin": (lambda: LoopDriver(Bending(drop=("assemble_prompt",))), RULES[0]),
    "turn numbers differ": (lambda: LoopDriver(Bending(renumber=True)), RULES[0]),
    "templating": (lambda: LoopDriver(LoopHarness(), Templating), RULES[1]),
    "own messages first": (lambda: LoopDriver(LoopHarness(), Backwards), RULES[2]),
    "ends twice": (lambda: LoopDriver(Bending(twice=("turn_ended",))), RULES[3]),
    "never ends": (lambda: LoopDriver(Bending(drop=("turn_ended",))), RULES[3]),
    "unannounced child": (lambda: LoopDriver(Bending(drop=("agent_created",))), RULES[4]),
    "old tools": (lambda: LoopDriver(Keeping()), RULES[5]),
    "uncancelled": (lambda: LoopDriver(LoopHarness(), Stuck), RULES[6]),
    "undying": (lambda: LoopDriver(Keeping()), RULES[7]),
}


def test_every_rule_is_broken_once():
    assert {rule for _, rule in BREAKS.values()} == set(RULES)


@pytest.mark.parametrize(("make", "rule"), BREAKS.values(), ids=BREAKS)
async def test_a_harness_that_breaks_a_rule_fails_it(make, rule):
    with pytest.raises((AssertionError, InputError, ExceptionGroup)):
        await getattr(Broken(make()), rule)()


async def test_the_recording_host_notes_what_a_harness_tells_beside_turns():
    host = RecordingHost()
    harness = LoopHarness()
    harness.subscribe(host)
    agent = harness.open_agent("a", None, default="/workspace")
    await agent.announce()
    await agent.restart()
    await host.step_rejected(agent, 7)
    assert host.seen[1:] == [("session_started", "a", "clear"), ("step_rejected", "a", 7)]


async def test_a_harness_may_lack_what_it_says_it_lacks():
    class Bare(LoopHarness):
        capabilities = HostCapabilities()

    for rule in RULES:
        await getattr(Broken(LoopDriver(Bare(), Templating)), rule)()

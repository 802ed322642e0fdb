"""What every harness adapter must prove (host.md §23.1); needs pytest only where it is used.

A test module subclasses `HarnessContract` and implements ``driven``: it makes the harness, and
drives it as its users do. Nothing else of the class is overridden. The suite plays the Host, so it
sees every event in order and decides what the harness is told.
"""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Final, Protocol

import anyio
from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_host.agent_host import (
    AgentHost,
    AgentRef,
    Message,
    MessageSource,
    Section,
    SessionStart,
    ToolContext,
    ToolHints,
    ToolSpec,
)

__all__ = ("Driver", "HarnessContract", "RecordingHost", "Step")

_LITERAL: Final = "{{name}} $HOME </system> \u202e"
_PATIENCE: Final = 5.0


class Step(Protocol):
    """The first step of an open turn."""

    @property
    def prompt(self) -> Sequence[str]:
        """Every text the model sees, in its order: system text first, then the messages."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> object:
        """Call a tool as the model would; raises what the handler raises."""
        ...


class Driver(Protocol):
    """Drives one harness.

    Attributes:
        harness: The adapter under test; nothing is subscribed to it yet.
    """

    harness: AgentHost

    def turn(
        self, agent_id: str, parent_id: str | None = None
    ) -> AbstractAsyncContextManager[Step]:
        """Open a turn of an Agent, which is made at first use, and play its first step.

        Leaving the block ends the turn, whatever ends it; an exception in it is a crash.
        """
        ...

    async def dispose(self, agent_id: str) -> None:
        """Let an Agent go."""
        ...


class RecordingHost:
    """The Host's side: notes every event, answers a section and a message.

    Attributes:
        seen: ``(event, agent id, *facts)`` in the order of arrival.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []

    def of(self, agent_id: str) -> list[str]:
        """Return the names of an Agent's events."""
        return [event for event, name, *_ in self.seen if name == agent_id]

    async def agent_created(self, agent: AgentRef, start: SessionStart) -> None:
        """Note it, with the Agent's parent and origin."""
        self.seen.append(("agent_created", agent.id, agent.parent_id, agent.origin))

    async def agent_disposed(self, agent: AgentRef) -> None:
        """Note it."""
        self.seen.append(("agent_disposed", agent.id))

    async def session_started(self, agent: AgentRef, start: SessionStart) -> None:
        """Note it."""
        self.seen.append(("session_started", agent.id, start))

    async def assemble_prompt(
        self, agent: AgentRef, turn: int, sections: Sequence[Section]
    ) -> list[Section]:
        """Answer one own section after those of the harness."""
        self.seen.append(("assemble_prompt", agent.id, turn))
        return [*sections, Section(name="mnemon:routing", text=f"SECTION {_LITERAL}", order=150)]

    async def before_step(
        self, agent: AgentRef, turn: int, step: int, batch: Sequence[object]
    ) -> list[Message]:
        """Answer two own messages at the first step."""
        self.seen.append(("before_step", agent.id, turn, step, len(batch)))
        said = (("CUE", "instructions"), (f"WAKE {_LITERAL}", "recall")) if step == 1 else ()
        return [Message(text=text, source=MessageSource(form=form)) for text, form in said]  # type: ignore[arg-type]

    async def step_rejected(self, agent: AgentRef, turn: int) -> None:
        """Note it."""
        self.seen.append(("step_rejected", agent.id, turn))

    async def turn_ended(self, agent: AgentRef, turn: int) -> None:
        """Note it."""
        self.seen.append(("turn_ended", agent.id, turn))

    def problem(self, agent_id: str) -> MnemonError | None:
        """Answer that memory is well."""
        return None


class HarnessContract(ABC):
    """Tests of one adapter; see the module."""

    @abstractmethod
    def driven(self) -> AbstractAsyncContextManager[Driver]:
        """Make a harness and what drives it, for the time of one test."""

    async def test_pin_precedes_the_prompt(self) -> None:
        """The View is pinned before the first byte of the prompt is fixed, once a turn."""
        async with self.driven() as driver:
            host = _subscribed(driver)
            for _ in range(2):
                async with driver.turn("a"):
                    pass
        expected = ["assemble_prompt", "before_step", "turn_ended"]
        assert host.of("a") == ["agent_created", *expected, *expected]
        turns = [seen[2] for seen in host.seen if seen[0] in expected]
        assert turns == sorted(turns), "turn numbers must ascend"
        assert len(set(turns)) == 2, "all events of a turn must carry its number"

    async def test_sections_reach_the_prompt_literally(self) -> None:
        """What `assemble_prompt` returned stands in the system text, byte for byte."""
        async with self.driven() as driver:
            if driver.harness.capabilities.sections:
                _subscribed(driver)
                async with driver.turn("a") as step:
                    assert f"SECTION {_LITERAL}" in step.prompt[0]

    async def test_own_messages_come_last_and_literally(self) -> None:
        """Own messages follow everything else of the step, in the order they were given."""
        async with self.driven() as driver:
            if driver.harness.capabilities.pre_step:
                host = _subscribed(driver)
                async with driver.turn("a") as step:
                    assert list(step.prompt[-2:]) == ["CUE", f"WAKE {_LITERAL}"]
                [batch] = [seen[4] for seen in host.seen if seen[0] == "before_step"]
                assert batch > 0, "the step's own messages must be handed over"

    async def test_a_turn_ends_once_also_after_a_crash(self) -> None:
        """``turn_ended`` comes exactly once for a started turn, whatever ended it."""
        async with self.driven() as driver:
            host = _subscribed(driver)
            try:
                async with driver.turn("a"):
                    raise _Crash
            except _Crash:
                pass
            assert host.of("a").count("turn_ended") == 1
            with anyio.CancelScope() as scope:
                async with driver.turn("a"):
                    scope.cancel()
                    await anyio.sleep_forever()
            assert host.of("a").count("turn_ended") == 2

    async def test_a_child_is_announced_before_its_first_step(self) -> None:
        """The Host can capture a delegation while the parent's turn is still open."""
        async with self.driven() as driver:
            if driver.harness.capabilities.children:
                host = _subscribed(driver)
                async with driver.turn("a"), driver.turn("b", "a"):
                    pass
                assert ("agent_created", "b", "a", "child") in host.seen
                assert host.of("b")[:2] == ["agent_created", "assemble_prompt"]
                events = [(seen[0], seen[1]) for seen in host.seen]
                assert events.index(("agent_created", "b")) < events.index(("turn_ended", "a"))

    async def test_tools_are_replaced_by_a_new_list(self) -> None:
        """A republished list is what the next turn calls; arguments arrive as they were sent."""
        async with self.driven() as driver:
            _subscribed(driver)
            calls: list[Any] = []
            for name in ("first", "second"):
                driver.harness.register_tools([_tool(name, calls)])
                async with driver.turn("a") as step:
                    await step.call(name, {"list": "[]", "nothing": None})
            assert calls == [
                ("first", "a", {"list": "[]", "nothing": None}),
                ("second", "a", {"list": "[]", "nothing": None}),
            ]

    async def test_cancellation_reaches_a_handler(self) -> None:
        """Cancelling a call cancels its handler, and nothing keeps it alive."""
        async with self.driven() as driver:
            _subscribed(driver)
            calls: list[Any] = []
            driver.harness.register_tools([_tool("endless", calls)])
            with anyio.fail_after(_PATIENCE):
                async with driver.turn("a") as step, anyio.create_task_group() as tasks:
                    tasks.start_soon(step.call, "endless", dict[str, Any]())
                    await anyio.wait_all_tasks_blocked()
                    tasks.cancel_scope.cancel()
            assert [call[0] for call in calls] == ["endless", "cancelled"]

    async def test_agents_are_known_while_they_live(self) -> None:
        """``agent`` and ``roots`` answer for live Agents only, and their end is told once."""
        async with self.driven() as driver:
            host, harness = _subscribed(driver), driver.harness
            assert harness.agent("a") is None
            async with driver.turn("a"):
                known = harness.agent("a")
                assert known is not None
                assert (known.id, known.parent_id, known.origin) == ("a", None, "root")
                assert "a" in [agent.id for agent in harness.roots()]
            await driver.dispose("a")
            assert harness.agent("a") is None
            assert list(harness.roots()) == []
            assert host.of("a").count("agent_disposed") == 1


class _Crash(Exception):
    """What ends a turn in the middle of a step."""


def _subscribed(driver: Driver) -> RecordingHost:
    host = RecordingHost()
    driver.harness.subscribe(host)
    return host


def _tool(name: str, calls: list[Any]) -> ToolSpec:
    async def handle(arguments: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
        calls.append((name, context.agent.id, dict(arguments)))
        if name == "endless":
            try:
                await anyio.sleep_forever()
            finally:
                calls.append(("cancelled",))
        return {"success": True}

    return ToolSpec(
        name=name,
        description="A tool of the contract.",
        input_schema={"type": "object"},
        handler=handle,
        hints=ToolHints(read_only=True),
    )

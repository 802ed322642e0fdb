"""The Python API: an agent loop of your own, driven in ten lines (see the README)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
import attrs
from dsh_mnemon_core.errors import InputError, LifecycleError, MnemonError

from dsh_mnemon_host.agent_host import (
    Disposer,
    HostCapabilities,
    HostEvents,
    Message,
    Origin,
    Section,
    ToolContext,
    ToolSpec,
)
from dsh_mnemon_host.tools.naming import unknown_tool

__all__ = ("LoopAgent", "LoopHarness", "LoopTurn")

_CAPABILITIES: Final = HostCapabilities(sections=True, pre_step=True, children=True)


@attrs.frozen(kw_only=True, eq=False)
class LoopTurn:
    """One open turn.

    Attributes:
        sections: The Host's sections of the system prompt.
        messages: Own messages to append after the user's; the Wake only when it changed.
        tools: Tools of this turn.
        problem: Why the turn has no memory, when it has none.
    """

    sections: tuple[Section, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...]
    problem: MnemonError | None
    _agent: LoopAgent = attrs.field(alias="agent")

    @property
    def system(self) -> str:
        """The sections as one text, for the end of a system prompt."""
        return "\n\n".join(section.text for section in self.sections)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool as the model asked for it.

        Raises:
            InputError: ``tool-unknown`` or ``input-invalid``.
            MnemonError: What the tool refuses; show its message to the model.
        """
        tool = next((tool for tool in self.tools if tool.name == name), None)
        if tool is None:
            raise unknown_tool(name, self.tools)
        return await tool.handler(arguments, ToolContext(agent=self._agent))


class LoopAgent:
    """An Agent whose loop is yours; made by `MemoryHost.agent`.

    Attributes:
        id: Its id.
        parent_id: The Agent that started it.
        origin: ``root`` or ``child``.
        cwd: Absolute workspace.
    """

    def __init__(
        self,
        harness: LoopHarness,
        agent_id: str,
        cwd: str,
        parent_id: str | None = None,
    ) -> None:
        self.id = agent_id
        self.parent_id = parent_id
        self.origin: Origin = "root" if parent_id is None else "child"
        self.cwd: str | None = cwd
        self._harness = harness
        self._turn = 0
        self._announced = False

    def visible(self) -> Sequence[Message] | None:
        """Answer that the surface is unknown: the loop keeps its own messages."""
        return None

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[LoopTurn]:
        """Open the next turn: one pinned View from its first step to the end of the block."""
        await self.announce()
        sink = self._harness.sink
        self._turn += 1
        number = self._turn
        try:
            sections = await sink.assemble_prompt(self, number, ())
            messages = await sink.before_step(self, number, 1, ("user",))
            yield LoopTurn(
                sections=tuple(sections),
                messages=tuple(messages),
                tools=self._harness.tools,
                problem=sink.problem(self.id),
                agent=self,
            )
        finally:
            with anyio.CancelScope(shield=True):
                await sink.turn_ended(self, number)

    async def child(self, agent_id: str) -> LoopAgent:
        """Start a child: it keeps the View pinned now, whatever becomes of this Agent's turn."""
        await self.announce()
        child = self._harness.make(agent_id, self.cwd or "", self.id)
        await child.announce()
        return child

    async def announce(self) -> None:
        """Tell the Host of this Agent, unless it knows; a closed one is told of anew.

        Raises:
            InputError: ``agent-exists``: another Agent has the id now.
            LifecycleError: ``host-disposed``.
        """
        if not self._announced:
            self._harness.take(self)
            await self._harness.sink.agent_created(self, "startup")
            self._announced = True

    async def restart(self) -> None:
        """Begin a new session: the next turn sends the whole Wake again."""
        await self._harness.sink.session_started(self, "clear")

    async def close(self) -> None:
        """Let the Agent go, with its turn and its delegation."""
        self._announced = False
        await self._harness.forget(self)


class LoopHarness:
    """An `AgentHost` over loops that call it."""

    name = "python"
    capabilities = _CAPABILITIES

    def __init__(self) -> None:
        self._agents: dict[str, LoopAgent] = {}
        self._sink: HostEvents | None = None
        self.tools: tuple[ToolSpec, ...] = ()

    @property
    def sink(self) -> HostEvents:
        """Where events go.

        Raises:
            LifecycleError: ``host-disposed`` once the Host has closed.
        """
        if self._sink is None:
            raise LifecycleError("host-disposed", "the memory Host has closed")
        return self._sink

    def agent(self, agent_id: str) -> LoopAgent | None:
        """Return a live Agent."""
        return self._agents.get(agent_id)

    def roots(self) -> Sequence[LoopAgent]:
        """Return the conversation Agents."""
        return tuple(agent for agent in self._agents.values() if agent.origin == "root")

    def subscribe(self, sink: HostEvents) -> Disposer:
        """Send events to ``sink``."""
        self._sink = sink

        def unsubscribe() -> None:
            self._sink = None

        return unsubscribe

    def register_tools(self, tools: Sequence[ToolSpec]) -> Disposer:
        """Hold the tools for the next turns."""
        self.tools = tuple(tools)

        def unregister() -> None:
            self.tools = ()

        return unregister

    def open_agent(self, agent_id: str, workspace: str | None, *, default: str) -> LoopAgent:
        """Return an Agent, made at first use.

        Args:
            agent_id: Its id.
            workspace: Its absolute workspace, when the caller wants a certain one.
            default: Where it lives otherwise.

        Raises:
            InputError: ``agent-exists``: it lives elsewhere, or is a child.
        """
        agent = self._agents.get(agent_id) or self.make(agent_id, workspace or default, None)
        if agent.origin != "root" or workspace not in (None, agent.cwd):
            raise InputError("agent-exists", f"{agent_id!r} is a {agent.origin} in {agent.cwd}")
        return agent

    def make(self, agent_id: str, workspace: str, parent_id: str | None) -> LoopAgent:
        """Make an Agent.

        Raises:
            InputError: ``agent-exists``.
        """
        agent = LoopAgent(self, agent_id, workspace, parent_id)
        self.take(agent)
        return agent

    def take(self, agent: LoopAgent) -> None:
        """Enter an Agent under its id.

        Raises:
            InputError: ``agent-exists``.
        """
        if self._agents.setdefault(agent.id, agent) is not agent:
            raise InputError("agent-exists", f"there is another agent {agent.id!r} already")

    async def forget(self, agent: LoopAgent) -> None:
        """Drop an Agent, also after the Host has closed."""
        if self._agents.get(agent.id) is agent:
            del self._agents[agent.id]
            if self._sink is not None:
                await self._sink.agent_disposed(agent)

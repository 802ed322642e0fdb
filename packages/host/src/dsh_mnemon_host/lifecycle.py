"""Agents coming and going, and their turns, as a harness reports them (host.md §6.1, §7)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_host.agent_host import AgentRef, Message, Section, SessionStart
from dsh_mnemon_host.executions import Delegation, MemoryExecutions
from dsh_mnemon_host.live import LiveRuntime
from dsh_mnemon_host.settings import SettingsService
from dsh_mnemon_host.turn.agent_memory import AgentMemory
from dsh_mnemon_host.turn.sections import own_sections, replace_own

__all__ = ("Lifecycle",)

_log = logging.getLogger(__name__)


class Lifecycle:
    """Implements `HostEvents`: a failure of memory never breaks a turn, it is noted and logged.

    Args:
        live: The graphs in force.
        executions: Where turns are opened.
        settings: Refreshed before a turn, so that an edited file applies to it.
    """

    def __init__(
        self, live: LiveRuntime, executions: MemoryExecutions, settings: SettingsService
    ) -> None:
        self._live = live
        self._executions = executions
        self._settings = settings
        self._memories: dict[str, AgentMemory] = {}
        self._problems: dict[str, MnemonError] = {}

    @property
    def agents(self) -> Sequence[AgentRef]:
        """The Agents taken over."""
        return tuple(memory.agent for memory in self._memories.values())

    def problem(self, agent_id: str) -> MnemonError | None:
        """Return why the latest turn of an Agent has no memory, if it has none."""
        return self._problems.get(agent_id)

    def memory(self, agent_id: str) -> AgentMemory | None:
        """Return what is kept for an Agent."""
        return self._memories.get(agent_id)

    async def agent_created(self, agent: AgentRef, start: SessionStart) -> None:
        """Take an Agent over; a child of a live parent retains its parent's View at once."""
        if agent.id in self._memories or agent.origin == "task":
            return
        if agent.origin == "root":
            self._memories[agent.id] = AgentMemory(agent, self._executions)
            await self.session_started(agent, start)
            return
        delegation = await self._delegated(agent)
        if delegation is not None:
            release = self._executions.retain(agent, delegation)
            self._memories[agent.id] = AgentMemory(agent, self._executions, delegation, release)

    async def _delegated(self, child: AgentRef) -> Delegation | None:
        """Capture from the parent: its pinned turn, else its own delegation, else its scope."""
        parent = self._memories.get(child.parent_id or "")
        if parent is None:
            return None  # a child whose parent is not live has no memory of its own
        execution = parent.execution
        if execution is not None:
            view = execution.context.view
            return Delegation(graph=execution.graph, scope=execution.context.scope, view_id=view.id)
        if parent.delegation is not None:
            return parent.delegation
        graph = await self._live.for_agent(parent.agent)
        return Delegation(graph=graph, scope=graph.scope(parent.agent.cwd, parent.agent.id))

    async def agent_disposed(self, agent: AgentRef) -> None:
        """Let an Agent go, with its pin and its delegation."""
        memory = self._memories.pop(agent.id, None)
        self._problems.pop(agent.id, None)
        if memory is not None:
            memory.dispose()

    async def session_started(self, agent: AgentRef, start: SessionStart) -> None:
        """Forget what was pinned and said in the former session."""
        memory = self._memories.get(agent.id)
        if memory is not None:
            memory.restart()

    async def assemble_prompt(
        self, agent: AgentRef, turn: int, sections: Sequence[Section]
    ) -> list[Section]:
        """Pin the turn's View and return the sections with the Host's own ones in place."""
        memory = self._memories.get(agent.id)
        if memory is None:
            return list(sections)
        await self._settings.refresh()
        try:
            await memory.begin(turn)
        except MnemonError as error:
            self._problems[agent.id] = error
            _log.warning("turn %s of %s has no memory: %s", turn, agent.id, error)
            routing = self._live.config.config.routing_guidance
            return replace_own(sections, own_sections(None, routing=routing))
        self._problems.pop(agent.id, None)
        return memory.sections(sections)

    async def before_step(
        self, agent: AgentRef, turn: int, step: int, batch: Sequence[object]
    ) -> list[Message]:
        """Return the cue and the Wake that the first step needs."""
        memory = self._memories.get(agent.id)
        return memory.messages(batch) if memory is not None and step == 1 else []

    async def step_rejected(self, agent: AgentRef, turn: int) -> None:
        """Release the pin: the step does not run."""
        await self.turn_ended(agent, turn)

    async def turn_ended(self, agent: AgentRef, turn: int) -> None:
        """Release the pin of the turn."""
        memory = self._memories.get(agent.id)
        if memory is not None:
            memory.end()

    async def dispose(self) -> None:
        """Let every Agent go, children first."""
        for memory in reversed(tuple(self._memories.values())):
            memory.dispose()
        self._memories.clear()

"""Agents coming and going, and their turns, as a harness reports them (host.md §6.1, §7)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dsh_mnemon_core.errors import LifecycleError, MnemonError

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
        if agent.origin == "root":
            self.adopt(agent)
        elif agent.origin == "child" and agent.id not in self._memories:
            try:
                await self._take_child(agent)
            except MnemonError as error:
                self._note(agent, error)

    def adopt(self, agent: AgentRef) -> None:
        """Take a conversation Agent over, unless it is already; one that lives counts as new."""
        if agent.id not in self._memories:
            self._memories[agent.id] = AgentMemory(agent, self._executions)

    async def _take_child(self, child: AgentRef) -> None:
        parent = self._memories.get(child.parent_id or "")
        if parent is None:
            return  # a child whose parent is not live has no memory of its own
        delegation = await self._delegated(parent)
        release = self._executions.retain(child, delegation)
        self._memories[child.id] = AgentMemory(child, self._executions, delegation, release)

    async def _delegated(self, parent: AgentMemory) -> Delegation:
        """Capture from a parent: its pinned turn, else its own delegation, else its scope."""
        execution = parent.execution
        if execution is not None and not execution.closed:
            view = execution.context.view
            return Delegation(graph=execution.graph, scope=execution.context.scope, view_id=view.id)
        if parent.delegation is not None:
            return parent.delegation
        graph = await self._live.for_agent(parent.agent)
        return Delegation(graph=graph, scope=graph.scope(parent.agent.cwd, parent.agent.id))

    async def agent_disposed(self, agent: AgentRef) -> None:
        """Let an Agent go, with its pin and its delegation."""
        self.release(agent.id)

    def release(self, agent_id: str) -> None:
        """Let an Agent go; idempotent."""
        memory = self._memories.pop(agent_id, None)
        self._problems.pop(agent_id, None)
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
        try:
            await self._settings.refresh()
            await memory.begin(turn)
        except Exception as error:  # whatever is wrong with memory, the turn goes on
            self._note(agent, error)
            routing = self._live.config.config.routing_guidance
            return replace_own(sections, own_sections(None, routing=routing))
        self._problems.pop(agent.id, None)
        return memory.sections(sections)

    async def before_step(
        self, agent: AgentRef, turn: int, step: int, batch: Sequence[object]
    ) -> list[Message]:
        """Return the cue and the Wake that the first step needs."""
        memory = self._memories.get(agent.id)
        if memory is None:
            return []
        try:
            return memory.messages(turn, step, batch)
        except Exception as error:  # as above
            self._note(agent, error)
            return []

    async def step_rejected(self, agent: AgentRef, turn: int) -> None:
        """Release the pin: the step does not run."""
        memory = self._memories.get(agent.id)
        if memory is not None:
            memory.reject(turn)

    async def turn_ended(self, agent: AgentRef, turn: int) -> None:
        """Release the pin of the turn; that of a later one stays."""
        memory = self._memories.get(agent.id)
        if memory is not None:
            memory.end(turn)

    def dispose(self) -> None:
        """Let every Agent go, children first."""
        for agent_id in reversed(tuple(self._memories)):
            self.release(agent_id)

    def _note(self, agent: AgentRef, error: Exception) -> None:
        """Remember why an Agent goes without memory, and log it."""
        if isinstance(error, MnemonError):
            _log.warning("%s goes on without memory: %s", agent.id, error)
            self._problems[agent.id] = error
        else:
            _log.exception("%s goes on without memory", agent.id, exc_info=error)
            self._problems[agent.id] = LifecycleError(
                "memory-failed", "memory failed in an unexpected way; its log says how"
            )

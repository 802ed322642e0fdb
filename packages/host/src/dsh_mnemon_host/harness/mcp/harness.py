"""The adapter between a memory Host and MCP sessions (host.md §23.2 B, §23.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from dsh_mnemon_core.errors import LifecycleError, MnemonError

from dsh_mnemon_host.agent_host import (
    Disposer,
    HostCapabilities,
    HostEvents,
    ToolContext,
    ToolSpec,
)
from dsh_mnemon_host.executions import Execution
from dsh_mnemon_host.harness.mcp.own_tools import OWN_TOOLS
from dsh_mnemon_host.harness.mcp.session import McpSession, Sleep
from dsh_mnemon_host.memory_host import MemoryHost
from dsh_mnemon_host.tools.naming import unknown_tool
from dsh_mnemon_host.turn.context_report import ContextReport, context_report

__all__ = ("McpHarness",)

_CAPABILITIES: Final = HostCapabilities()
"""None: a client shows no prompt, no step, no child and no surface, and takes no refusal."""


class McpHarness:
    """An `AgentHost` over MCP sessions; every session is a root Agent of its own.

    It pulls: sections and Wake reach a model when its client asks for the context, so nothing is
    pushed into prompts or steps.

    Args:
        host: The memory Host; `attach` this harness to it.
        sleep: Clock of the idle timers.
    """

    name = "mcp"
    capabilities = _CAPABILITIES

    def __init__(self, host: MemoryHost, *, sleep: Sleep = anyio.sleep) -> None:
        self.host = host
        self._sleep = sleep
        self._sink: HostEvents | None = None
        self._sessions: dict[str, McpSession] = {}
        self._published: dict[str, ToolSpec] = {}
        self._known: dict[str, ToolSpec] = {}
        self._listeners: list[Callable[[], None]] = []

    def agent(self, agent_id: str) -> McpSession | None:
        """Return the session of an Agent."""
        return self._sessions.get(agent_id)

    def roots(self) -> Sequence[McpSession]:
        """Return the open sessions."""
        return tuple(self._sessions.values())

    def subscribe(self, sink: HostEvents) -> Disposer:
        """Send events to ``sink``."""
        self._sink = sink

        def unsubscribe() -> None:
            self._sink = None

        return unsubscribe

    def register_tools(self, tools: Sequence[ToolSpec]) -> Disposer:
        """Publish the tools; listeners hear of it when the list differs from the former one."""
        before, self._published = self._published, {tool.name: tool for tool in tools}
        self._known.update(self._published)
        if before.keys() != self._published.keys():
            for listener in tuple(self._listeners):
                listener()

        def unregister() -> None:
            self._published = {}

        return unregister

    def on_tools_changed(self, listener: Callable[[], None]) -> Disposer:
        """Call ``listener`` whenever another list of tools is published."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def tools(self) -> tuple[ToolSpec, ...]:
        """Return the tools to list now; an edited settings file counts."""
        await self.host.settings.refresh()
        return tuple(self._published.values())

    async def open_session(self, workspace: str | None, tasks: TaskGroup) -> McpSession:
        """Take a new session over.

        Args:
            workspace: Its absolute workspace; the Host's when absent.
            tasks: Task group for its idle timer.
        """
        events = self._events
        session = McpSession(
            self, workspace=workspace or self.host.workspace, tasks=tasks, sleep=self._sleep
        )
        self._sessions[session.id] = session
        await events.agent_created(session, "startup")
        return session

    async def close_session(self, session: McpSession) -> None:
        """Let a session go: its turn ends, nothing is held for it any more."""
        if self._sessions.pop(session.id, None) is None:
            return
        await session.close()
        if self._sink is not None:
            await self._sink.agent_disposed(session)

    async def report(self, session: McpSession) -> ContextReport:
        """Describe the context of a session's open turn."""
        return await context_report(self.host, session)

    async def call_tool(
        self, session: McpSession, name: str, arguments: Mapping[str, Any], call_id: str | None
    ) -> dict[str, Any]:
        """Call a tool in the session's open turn.

        A tool that was listed once can be called for ever: it is the call that is refused then.

        Raises:
            InputError: ``tool-unknown``, ``input-invalid``.
            MnemonError: Why the turn has no memory, or what the tool refuses.
        """
        tool = self._known.get(name)
        if tool is None:
            raise unknown_tool(name, (*OWN_TOOLS, *self._published.values()))
        await self.host.settings.refresh()
        async with session.call():
            problem = self._events.problem(session.id)
            if problem is not None:
                raise problem
            return await tool.handler(arguments, ToolContext(agent=session, call_id=call_id))

    @property
    def idle_seconds(self) -> float:
        """How long a virtual turn may be without calls (``idleReviewMs``)."""
        return self.host.live.config.config.idle_review_ms / 1000

    @property
    def drain_seconds(self) -> float:
        """How long the end of a turn waits for the calls in it (``timeoutMs``)."""
        return self.host.live.config.config.timeout_ms / 1000

    async def begin_turn(self, session: McpSession, turn: int) -> None:
        """Pin the View of a turn."""
        await self._events.assemble_prompt(session, turn, ())

    async def end_turn(self, session: McpSession, turn: int) -> None:
        """Release the View of a turn."""
        if self._sink is not None:
            await self._sink.turn_ended(session, turn)

    def shown(self, session: McpSession) -> str | None:
        """Return the digest of the pinned View."""
        execution = self._execution(session)
        return execution.context.view.digest if execution else None

    async def moved_on(self, session: McpSession) -> bool:
        """Compare the revisions of the pinned View with those of the Sources now."""
        execution = self._execution(session)
        if execution is None:
            return True  # memory was out of order; the next attempt may show something
        pinned: Mapping[str, str] = execution.context.view.consistency.source_revisions
        attachment, scope = execution.graph.attachment, execution.context.scope
        try:
            for key, revision in pinned.items():
                if await attachment.management_revision(key, scope) != revision:
                    return True
        except MnemonError:
            return True
        return False

    def _execution(self, session: McpSession) -> Execution | None:
        memory = self.host.lifecycle.memory(session.id)
        execution = memory.execution if memory else None
        return execution if execution is not None and not execution.closed else None

    @property
    def _events(self) -> HostEvents:
        if self._sink is None:
            raise LifecycleError("host-disposed", "the memory Host has closed")
        return self._sink

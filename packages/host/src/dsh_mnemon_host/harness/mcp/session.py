"""One MCP session as one root Agent, and its virtual turns (host.md §23.2 B, D51)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Protocol
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from dsh_mnemon_core.errors import TurnError

from dsh_mnemon_host.agent_host import Message, Origin

__all__ = ("McpSession", "SessionHost", "Sleep")

Sleep = Callable[[float], Awaitable[None]]
"""Waits for a number of seconds; the clock of the idle timer."""


class SessionHost(Protocol):
    """What a session needs of the harness it belongs to."""

    @property
    def idle_seconds(self) -> float:
        """How long a turn may be without calls."""
        ...

    @property
    def drain_seconds(self) -> float:
        """How long the end of a turn waits for the calls in it."""
        ...

    async def begin_turn(self, session: McpSession, turn: int) -> None:
        """Pin the View of a turn; a failure is noted, never raised."""
        ...

    async def end_turn(self, session: McpSession, turn: int) -> None:
        """Release the View of a turn."""
        ...

    def shown(self, session: McpSession) -> str | None:
        """Return the digest of the View pinned now; nothing when memory is out of order."""
        ...

    async def moved_on(self, session: McpSession) -> bool:
        """Tell whether a new View would show something else than the pinned one."""
        ...


class McpSession:
    """A root Agent whose turns are virtual.

    A turn opens with the first call, or afresh on request. It ends on request, after a time
    without calls, and with the session; before it ends, the calls in it may finish. What it pins
    stays the same for all its calls.

    Args:
        host: The harness.
        workspace: Absolute workspace; a change counts from the next turn on.
        tasks: Task group in which the idle timer runs; it must outlive this session's turns.
        sleep: Clock of the idle timer.

    Attributes:
        id: Id of the Agent, unique and unrelated to ids on the wire.
        placed: Whether its workspace is settled.
        watchers: One token for each subscription to its context.
        on_context_changed: Called when reading its context again would show something else.
    """

    parent_id: str | None = None
    origin: Origin = "root"

    def __init__(
        self,
        host: SessionHost,
        *,
        workspace: str | None,
        tasks: TaskGroup,
        sleep: Sleep = anyio.sleep,
    ) -> None:
        self.id = f"mcp:{uuid4()}"
        self.cwd: str | None = workspace
        self.workspace = workspace
        self.placed = False
        self.watchers: set[object] = set()
        self.on_context_changed: Callable[[], Awaitable[None]] | None = None
        self._host = host
        self._tasks = tasks
        self._sleep = sleep
        self._gate = anyio.Lock()
        self._turn = 0
        self._open = False
        self._closed = False
        self._busy = 0
        self._quiet = anyio.Event()
        self._timer: anyio.CancelScope | None = None
        self._seen: str | None = None

    @property
    def turn(self) -> int | None:
        """Number of the open turn, from 1 on."""
        return self._turn if self._open else None

    def visible(self) -> Sequence[Message] | None:
        """Answer that the surface is unknown: a client shows its own conversation to nobody."""
        return None

    def place(self, workspace: str | None) -> None:
        """Settle the workspace, for the next turn on; without one it stays what it is."""
        self.placed = True
        self.workspace = workspace or self.workspace

    @asynccontextmanager
    async def call(self, *, fresh: bool = False) -> AsyncGenerator[None]:
        """Run something in the open turn, which is opened when there is none.

        Args:
            fresh: End the open turn first, once its other calls are done.

        Raises:
            TurnError: ``session-closed``.
        """
        async with self._gate:
            if self._closed:
                raise TurnError("session-closed", "this MCP session has ended")
            changed = False
            if self._open and (fresh or self._host.shown(self) is None):
                changed = await self._end()  # without a View there is nothing to stay with
            if not self._open:
                changed |= await self._begin()
            self._disarm()
            self._busy += 1
        try:
            if changed:
                await self._tell()
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._quiet.set()
                self._quiet = anyio.Event()
                self._arm()

    async def end(self) -> int | None:
        """End the open turn, once its calls are done; return its number, if there was one."""
        async with self._gate:
            ended = self.turn
            if ended is not None and await self._end():
                await self._tell()
        return ended

    async def close(self) -> None:
        """End the session: its open turn ends at once."""
        self._closed = True
        self._disarm()
        if self._open:
            self._open = False
            await self._host.end_turn(self, self._turn)

    async def _begin(self) -> bool:
        """Open the next turn; tell whether its View differs from the one before."""
        self._turn += 1
        self._open = True
        self.cwd = self.workspace
        await self._host.begin_turn(self, self._turn)
        before, self._seen = self._seen, self._host.shown(self)
        return before is not None and before != self._seen

    async def _end(self) -> bool:
        """Close the open turn; tell whether a watcher would see another View in the next one."""
        self._disarm()
        with anyio.move_on_after(self._host.drain_seconds):
            while self._busy:
                await self._quiet.wait()
        moved = bool(self.watchers) and await self._host.moved_on(self)
        if self._open:  # the session may have been closed meanwhile
            self._open = False
            await self._host.end_turn(self, self._turn)
        if moved:
            self._seen = None  # it is told now, so the next turn need not tell it again
        return moved

    async def _tell(self) -> None:
        if self.watchers and self.on_context_changed is not None:
            await self.on_context_changed()

    def _arm(self) -> None:
        if self._open and not self._closed:
            self._timer = anyio.CancelScope()
            self._tasks.start_soon(self._expire, self._timer)

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    async def _expire(self, timer: anyio.CancelScope) -> None:
        with timer:
            await self._sleep(self._host.idle_seconds)
            async with self._gate:
                self._timer = None  # from here on nothing interrupts the end of the turn
                if await self._end():
                    await self._tell()

"""Which session a request belongs to, and how its client hears of changes (host.md §23.2 B)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final, TypeAlias

import anyio
from anyio.abc import TaskGroup
from mcp.server import ServerRequestContext
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourceUpdated,
    ToolsListChanged,
)
from mcp.types.version import MODERN_PROTOCOL_VERSIONS

from dsh_mnemon_host.harness.mcp.harness import McpHarness
from dsh_mnemon_host.harness.mcp.own_tools import CONTEXT_URI
from dsh_mnemon_host.harness.mcp.session import McpSession

__all__ = ("Request", "Serving", "is_modern", "serving")

_SESSION: Final = "mnemon"
_SHARED_LIMIT: Final = 64


class Serving:
    """The sessions of one server run.

    A client that shook hands has a connection, and the connection is its session. Protocol
    2026-07-28 knows neither: there every request stands alone. Over a pair of streams all of them
    come from the one client at the other end; over HTTP only the address and name of a client
    tell it from others, so clients that have both in common share a session.

    Args:
        harness: The adapter.
        workspace: Workspace of every session; when absent, the client's own, else the Host's.
        tasks: Task group of the run.

    Attributes:
        listener: Streams changes to clients without a connection.
    """

    def __init__(self, harness: McpHarness, workspace: str | None, tasks: TaskGroup) -> None:
        self.workspace = workspace
        self._bus = InMemorySubscriptionBus()
        self.listener = ListenHandler(self._bus)
        self._harness = harness
        self._tasks = tasks
        self._gate = anyio.Lock()
        self._connections: set[Connection] = set()
        self._shared: OrderedDict[str, McpSession] = OrderedDict()

    async def session(self, request: Request) -> McpSession:
        """Return the session of a request; its first request opens it."""
        self.meet(request)
        async with self._gate:
            if is_modern(request):
                return await self._of_client(_client_key(request))
            return await self._of_connection(_connection(request))

    def known(self, request: Request) -> McpSession | None:
        """Return the session of a connection, if it has one by now."""
        found: McpSession | None = _connection(request).state.get(_SESSION)
        return found

    def meet(self, request: Request) -> None:
        """Remember the connection of a request, so that its client hears of other tools."""
        connection = _connection(request)
        if not is_modern(request) and connection not in self._connections:
            self._connections.add(connection)
            connection.exit_stack.push_async_callback(self._leave, connection)

    async def _of_connection(self, connection: Connection) -> McpSession:
        session: McpSession | None = connection.state.get(_SESSION)
        if session is None:
            session = connection.state[_SESSION] = await self._open()

            async def tell() -> None:
                await connection.send_resource_updated(CONTEXT_URI)

            session.on_context_changed = tell
        return session

    async def _of_client(self, key: str) -> McpSession:
        if key not in self._shared:
            while len(self._shared) >= _SHARED_LIMIT:
                _, eldest = self._shared.popitem(last=False)
                await self._harness.close_session(eldest)
            session = self._shared[key] = await self._open()

            async def tell() -> None:
                await self._bus.publish(ResourceUpdated(CONTEXT_URI))

            session.on_context_changed = tell
        self._shared.move_to_end(key)
        return self._shared[key]

    async def _open(self) -> McpSession:
        session = await self._harness.open_session(self.workspace, self._tasks)
        session.placed = self.workspace is not None
        return session

    async def _leave(self, connection: Connection) -> None:
        self._connections.discard(connection)
        session = connection.state.pop(_SESSION, None)
        if session is not None:
            await self._harness.close_session(session)

    def tools_changed(self) -> None:
        """Tell every client that there is another list of tools."""
        for connection in self._connections:
            self._tasks.start_soon(connection.send_tool_list_changed)
        self._tasks.start_soon(self._bus.publish, ToolsListChanged())

    async def close(self) -> None:
        """End the sessions that are left; a connection has ended its own."""
        while self._shared:
            await self._harness.close_session(self._shared.popitem()[1])


Request: TypeAlias = ServerRequestContext[Serving, Any]
"""What the SDK hands to a handler."""


def is_modern(request: Request) -> bool:
    """Tell whether a request stands alone (protocol 2026-07-28)."""
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _connection(request: Request) -> Connection:
    """Return the connection of a request.

    The SDK documents its ``state`` and ``exit_stack`` for handlers, and gives them no public way
    to it yet.
    """
    return request.session._connection  # pyright: ignore[reportPrivateUsage]


def _client_key(request: Request) -> str:
    if request.request is None:
        return ""  # one pair of streams, one client
    address = request.request.client
    params = request.session.client_params
    who = params.client_info if params else None
    return f"{address.host if address else ''} {who.name} {who.version}" if who else ""


@asynccontextmanager
async def serving(harness: McpHarness, workspace: str | None) -> AsyncGenerator[Serving]:
    """Keep the sessions of a server run for the time of the block."""
    async with anyio.create_task_group() as tasks:
        run = Serving(harness, workspace, tasks)
        forget = harness.on_tools_changed(run.tools_changed)
        try:
            yield run
        finally:
            forget()
            with anyio.CancelScope(shield=True):
                await run.close()
            tasks.cancel_scope.cancel()

"""The MCP server over streamable HTTP, for ``dsh-mnemon serve`` (host.md §23.2 B)."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from importlib.metadata import version
from types import FrameType
from typing import Final

import uvicorn
from dsh_mnemon_core.errors import ConfigurationError
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from dsh_mnemon_host.harness.mcp.gate import (
    HEALTH_PATH,
    Gate,
    check_bind,
    host_rules,
    read_token,
)
from dsh_mnemon_host.harness.mcp.harness import McpHarness
from dsh_mnemon_host.harness.mcp.server import build_server
from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("MCP_PATH", "http_app", "serve_http")

MCP_PATH: Final = "/mcp"

_MAX_SESSIONS: Final = 256
_SHUTDOWN_SECONDS: Final = 5


def http_app(
    host: MemoryHost,
    *,
    bind: str = "127.0.0.1",
    token: str | None = None,
    workspace: str | None = None,
) -> Starlette:
    """Build the ASGI application: ``/mcp``, and ``GET /healthz`` for whoever watches it.

    Args:
        host: The memory Host; it stays open while the application runs.
        bind: Address it will be served on; decides which Host headers are taken.
        token: What clients must send as ``Authorization: Bearer``; needed beyond loopback.
        workspace: Absolute workspace of every session; when absent, each client's first root,
            else the Host's.

    Raises:
        ConfigurationError: ``token-required``, ``token-invalid``.
    """
    secret = read_token(token)
    check_bind(bind, secret)
    harness = McpHarness(host)
    rules = host_rules(bind)
    manager = StreamableHTTPSessionManager(
        build_server(harness, workspace=workspace),
        security_settings=rules,
        max_sessions=_MAX_SESSIONS,
    )

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncGenerator[None]:
        detach = host.attach(harness)
        try:
            async with manager.run():
                yield
        finally:
            detach()

    async def health(_request: Request) -> Response:
        state = host.live.current.evaluation.state
        return JSONResponse(
            {"status": "ok", "memory": state, "version": version("dsh-mnemon-host")}
        )

    return Starlette(
        routes=[
            Route(MCP_PATH, endpoint=StreamableHTTPASGIApp(manager)),
            Route(HEALTH_PATH, endpoint=health, methods=["GET"]),
        ],
        middleware=[Middleware(Gate, rules=rules, token=secret)],
        lifespan=lifespan,
    )


async def serve_http(
    host: MemoryHost,
    bind: str = "127.0.0.1",
    port: int = 0,
    token: str | None = None,
    *,
    workspace: str | None = None,
    on_ready: Callable[[str], None] | None = None,
    on_stopping: Callable[[], None] | None = None,
) -> None:
    """Serve MCP over HTTP until SIGINT or SIGTERM; calls in progress may finish first.

    Args:
        host: The memory Host; it stays open.
        bind: Address to listen on.
        port: Port to listen on; 0 takes a free one.
        token: As for `http_app`.
        workspace: As for `http_app`.
        on_ready: Called once with the address of the endpoint, such as
            ``http://127.0.0.1:8765/mcp``, when it answers.
        on_stopping: Called once, in a signal handler, when a signal asks it to stop.

    Raises:
        ConfigurationError: ``token-required``, ``token-invalid``, ``address-unavailable``.
    """
    app = http_app(host, bind=bind, token=token, workspace=workspace)
    listener = _listen(bind, port)
    name = f"[{bind}]" if ":" in bind else bind
    address = f"http://{name}:{listener.getsockname()[1]}{MCP_PATH}"
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
    )
    with listener:
        await _HttpServer(config, address, on_ready, on_stopping).serve(sockets=[listener])


def _listen(bind: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    try:
        if not 0 <= port < 65_536:
            raise OSError("there is no such port")
        return socket.create_server((bind, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            "address-unavailable",
            f"cannot listen on {bind} port {port}: {error.strerror or error}",
            details={"bind": bind, "port": port},
        ) from error


class _HttpServer(uvicorn.Server):
    """A server that says when it is ready, and leaves the process alive once it has stopped."""

    def __init__(
        self,
        config: uvicorn.Config,
        address: str,
        on_ready: Callable[[str], None] | None,
        on_stopping: Callable[[], None] | None,
    ) -> None:
        super().__init__(config)
        self._address = address
        self._on_ready = on_ready
        self._on_stopping = on_stopping

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self._on_ready is not None:
            self._on_ready(self._address)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()  # the base class leaves sessions and turns open then

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; a second signal does not wait. The base class would raise the signal again."""
        self.force_exit = self.should_exit
        if self._on_stopping is not None and not self.should_exit:
            self._on_stopping()
        self.should_exit = True

"""The MCP server of a harness, for any transport of the SDK (host.md §23.2 B)."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from importlib.metadata import version
from typing import Any

from mcp import types
from mcp.server import NotificationOptions, Server
from mcp.types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from dsh_mnemon_host.harness.mcp.handlers import Handlers
from dsh_mnemon_host.harness.mcp.harness import McpHarness
from dsh_mnemon_host.harness.mcp.own_tools import INSTRUCTIONS
from dsh_mnemon_host.harness.mcp.serving import Request, Serving, serving

__all__ = ("build_server",)


class _MemoryServer(Server[Serving]):
    """A server that says that its list of tools may change, whoever asks for its capabilities."""

    def get_capabilities(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
        *,
        protocol_version: str | None = None,
    ) -> types.ServerCapabilities:
        return super().get_capabilities(
            NotificationOptions(tools_changed=True),
            experimental_capabilities,
            extensions,
            protocol_version=protocol_version,
        )


def build_server(harness: McpHarness, *, workspace: str | None = None) -> Server[Serving]:
    """Build the server of an attached harness.

    Args:
        harness: The adapter; its Host must stay open while the server runs.
        workspace: Absolute workspace of every session; when absent, each client's first root,
            else the Host's workspace.
    """
    handlers = Handlers(harness)

    def sessions(_server: Server[Serving]) -> AbstractAsyncContextManager[Serving]:
        return serving(harness, workspace)

    server = _MemoryServer(
        "dsh-mnemon",
        title="dsh-mnemon memory",
        version=version("dsh-mnemon-host"),
        instructions=INSTRUCTIONS,
        lifespan=sessions,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_subscribe_resource=handlers.subscribe,
        on_unsubscribe_resource=handlers.unsubscribe,
        on_subscriptions_listen=handlers.listen,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )
    # The constructor would take these two as well, but not without a warning, or not at all.
    server.add_notification_handler(
        "notifications/roots/list_changed", types.NotificationParams, handlers.roots_changed
    )

    async def discover(request: Request, _params: types.RequestParams) -> types.DiscoverResult:
        return types.DiscoverResult(
            supported_versions=list(_offered(request)),
            capabilities=server.get_capabilities(protocol_version=request.protocol_version),
            instructions=INSTRUCTIONS,
        )

    server.add_request_handler("server/discover", types.RequestParams, discover)
    return server


def _offered(request: Request) -> tuple[str, ...]:
    """Return the protocol versions to offer a client that asks.

    Over HTTP only a handshake makes a session, and with it turns that no other client ends; a
    client that knows both ways is led there. One that does not ask is served either way.
    """
    over_http = request.request is not None
    return HANDSHAKE_PROTOCOL_VERSIONS if over_http else MODERN_PROTOCOL_VERSIONS

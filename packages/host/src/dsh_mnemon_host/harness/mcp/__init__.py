"""Memory for MCP clients, over stdio and streamable HTTP (host.md §23.2 B).

What is named here is imported when it is first asked for: the SDK takes long to import, and a
server on standard streams needs no web server.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dsh_mnemon_host.harness.mcp.harness import McpHarness
    from dsh_mnemon_host.harness.mcp.http import http_app, serve_http
    from dsh_mnemon_host.harness.mcp.server import build_server
    from dsh_mnemon_host.harness.mcp.stdio import serve_stdio

__all__ = ("McpHarness", "build_server", "http_app", "serve_http", "serve_stdio")

_HOMES = {
    "McpHarness": "harness",
    "build_server": "server",
    "http_app": "http",
    "serve_http": "http",
    "serve_stdio": "stdio",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""``dsh-mnemon mcp`` and ``dsh-mnemon serve``: memory for MCP clients."""

from __future__ import annotations

import json
import os
from typing import Annotated

from cyclopts import Parameter
from dsh_mnemon_core.errors import ConfigurationError

from dsh_mnemon_host.cli.invocation import Common, Place, open_host
from dsh_mnemon_host.cli.output import print_json, print_text

__all__ = ("DEFAULT_PORT", "serve", "serve_mcp")

DEFAULT_PORT = 8787
"""Port of ``serve`` unless another is asked for."""

_COMMON = Common()
_PLACE = Place()


async def serve_mcp(*, common: Place = _PLACE) -> int:
    """Serve one MCP client over standard input and output.

    The client's first root is the workspace, unless `--workspace` says otherwise. Nothing but the
    protocol is written to standard output.

    Example: `dsh-mnemon mcp --workspace ~/project`
    """
    _require_mcp()
    from dsh_mnemon_host.harness.mcp import serve_stdio

    async with open_host(common) as host:
        fixed = host.workspace if common.workspace is not None else None
        await serve_stdio(host, workspace=fixed)
    return 0


async def serve(
    *,
    bind: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    token: Annotated[str | None, Parameter(env_var="MNEMON_TOKEN")] = None,
    common: Common = _COMMON,
) -> int:
    """Start the memory Host with its embedded store and an MCP endpoint over HTTP.

    Runs until it is interrupted. Beyond this machine it listens only with a token, which clients
    send as `Authorization: Bearer`.

    Example: `dsh-mnemon serve --port 8787`

    Parameters
    ----------
    bind
        Address to listen on.
    port
        Port to listen on; 0 takes a free one.
    token
        What clients must present; needed beyond loopback.
    """
    _require_mcp()
    from dsh_mnemon_host.harness.mcp import serve_http

    async with open_host(common) as host:
        fixed = host.workspace if common.workspace is not None else None

        def ready(address: str) -> None:
            if common.json:
                print_json({"url": address, "workspace": host.workspace, "pid": os.getpid()})
            else:
                print_text(_welcome(address, host.workspace, secured=token is not None))

        await serve_http(host, bind, port, token, workspace=fixed, on_ready=ready)
    return 0


def _welcome(address: str, workspace: str, *, secured: bool) -> str:
    server: dict[str, object] = {"type": "http", "url": address}
    if secured:
        server["headers"] = {"Authorization": "Bearer <token>"}
    snippet = json.dumps({"mcpServers": {"memory": server}}, indent=2)
    return (
        f"Memory is served at {address} (workspace {workspace}).\n"
        f"Any MCP client can use it:\n{snippet}\nPress Ctrl-C to stop."
    )


def _require_mcp() -> None:
    """Say which extra is missing, before anything of it is imported.

    Raises:
        ConfigurationError: ``extra-missing``.
    """
    from importlib.util import find_spec

    missing = [name for name in ("mcp", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            "extra-missing",
            f"{', '.join(missing)} is not installed; install dsh-mnemon-host[mcp] or dsh-mnemon",
        )

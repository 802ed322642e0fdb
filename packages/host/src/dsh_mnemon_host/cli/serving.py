"""``dsh-mnemon mcp`` and ``dsh-mnemon serve``: memory for MCP clients."""

from __future__ import annotations

import errno
import ipaddress
import json
import os
import socket
import sys
import time
from contextlib import suppress
from threading import Thread
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Parameter
from dsh_mnemon_core.errors import ConfigurationError

from dsh_mnemon_host.cli.invocation import Common, Place, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.cli.streams import is_absent, utf8_answers

__all__ = ("DEFAULT_PORT", "reachable", "serve", "serve_mcp")

DEFAULT_PORT = 8787
"""Port of ``serve`` unless another is asked for."""

_STOPPING_SECONDS = 10.0
"""How long a server that was told to stop may take: calls in progress have half of it."""

_COMMON = Common()
_PLACE = Place()


async def serve_mcp(*, common: Place = _PLACE) -> int:
    """Serve one MCP client over standard input and output.

    The client's first root is the workspace, unless `--workspace` says otherwise. Nothing but the
    protocol is written to standard output.

    Example: `dsh-mnemon mcp --workspace ~/project`
    """
    _require_mcp()
    if is_absent("stdin"):
        raise ConfigurationError("stdin-closed", "standard input is closed: there is no client")
    from dsh_mnemon_host.harness.mcp import serve_stdio

    async with open_host(common) as host:
        fixed = host.workspace if common.workspace is not None else None
        await serve_stdio(host, workspace=fixed, output=utf8_answers())
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
            url = reachable(address)
            if common.json:
                print_json({"url": url, "workspace": host.workspace, "pid": os.getpid()})
            else:
                wide = url != address
                print_text(_welcome(url, host.workspace, secured=token is not None, wide=wide))

        try:
            await serve_http(
                host, bind, port, token, workspace=fixed, on_ready=ready, on_stopping=_end_for_sure
            )
        except ConfigurationError as error:
            advice = _advice(error)
            if advice is None:
                raise
            text = f"{error.message}; {advice}"
            raise ConfigurationError(error.code, text, details=error.details) from error
    return 0


def _end_for_sure() -> None:
    """End this process in a while, whatever it waits for then.

    A thread that waits, say for a network drive that is gone, cannot be interrupted, and the
    interpreter waits for it. Stores are replaced whole, so nothing is left half written.
    """
    Thread(target=_end_late, name="end", daemon=True).start()


def _end_late() -> None:
    time.sleep(_STOPPING_SECONDS)
    with suppress(OSError):
        sys.stderr.write("error: something did not stop in time; the process ends without it\n")
        sys.stderr.flush()
    os._exit(1)


def reachable(address: str) -> str:
    """Return an address that a client on this machine can use; no client can ask for "any"."""
    parts = urlsplit(address)
    name = parts.hostname or ""
    try:
        anywhere = not name or ipaddress.ip_address(name).is_unspecified
    except ValueError:
        anywhere = False
    if not anywhere:
        return address
    loopback = "[::1]" if ":" in name else "127.0.0.1"
    return parts._replace(netloc=f"{loopback}:{parts.port}").geturl()


def _advice(error: ConfigurationError) -> str | None:
    """Name the option that helps where the server cannot listen."""
    cause = error.__cause__
    if error.code == "token-required":
        return "`--token`, or the environment variable MNEMON_TOKEN, sets it"
    if isinstance(cause, OSError) and cause.errno == errno.EADDRINUSE:
        return "`--port` names another, `--port 0` takes a free one"
    return None


def _welcome(address: str, workspace: str, *, secured: bool, wide: bool) -> str:
    server: dict[str, object] = {"type": "http", "url": address}
    if secured:
        server["headers"] = {"Authorization": "Bearer <token>"}
    snippet = json.dumps({"mcpServers": {"memory": server}}, indent=2)
    others = (
        f"Other machines reach it under the name or address of this one ({socket.gethostname()}).\n"
        if wide
        else ""
    )
    return (
        f"Memory is served at {address} (workspace {workspace}).\n{others}"
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

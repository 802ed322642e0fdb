"""The MCP server on the process's standard streams (host.md §23.2 B)."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterable, Awaitable, Callable
from contextlib import aclosing
from typing import Any, Final, Protocol, TextIO, cast

import anyio
from anyio.streams.memory import MemoryObjectSendStream
from dsh_mnemon_core.errors import InputError
from mcp import types
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

from dsh_mnemon_host.harness.mcp.harness import McpHarness
from dsh_mnemon_host.harness.mcp.input_lines import InputLines, input_lines
from dsh_mnemon_host.harness.mcp.server import build_server
from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("serve_stdio", "unreadable")

_Item = SessionMessage | Exception

_NO_UNICODE: Final = InputError(
    "text-not-unicode", "The message holds text that is not well-formed Unicode."
)
_NO_JSON: Final = InputError("message-malformed", "The message is not one line of JSON.")
_NO_REQUEST: Final = InputError("message-malformed", "The message is no JSON-RPC 2.0 message.")


async def serve_stdio(
    host: MemoryHost, *, workspace: str | None = None, output: TextIO | None = None
) -> None:
    """Serve the client at the other end of stdin and stdout until it closes stdin.

    Standard output carries the protocol and nothing else: while this runs, whatever else writes
    to it ends up on standard error.

    Args:
        host: The memory Host; it stays open.
        workspace: Absolute workspace; when absent, the client's first root, else the Host's.
        output: Where the protocol is written, in UTF-8, when the caller keeps standard output
            clean himself; it stays open.
    """
    stdout = None if output is None else anyio.wrap_file(output)
    harness = McpHarness(host)
    detach = host.attach(harness)
    try:
        server = build_server(harness, workspace=workspace)
        async with (
            input_lines(sys.stdin.fileno()) as source,
            stdio_server(cast("anyio.AsyncFile[str]", source), stdout) as (incoming, outgoing),
            anyio.create_task_group() as tasks,
        ):
            send, receive = anyio.create_memory_object_stream[_Item]()
            tasks.start_soon(_relay, incoming, source, send, outgoing.send)
            await server.run(receive, outgoing, server.create_initialization_options())
            tasks.cancel_scope.cancel()
    finally:
        detach()


class _Incoming(AsyncIterable[_Item], Protocol):
    """What the SDK reads from standard input; whoever reads it closes it."""

    async def aclose(self) -> None: ...


async def _relay(
    incoming: _Incoming,
    lines: InputLines,
    send: MemoryObjectSendStream[_Item],
    answer: Callable[[SessionMessage], Awaitable[None]],
) -> None:
    """Pass messages on; answer the unreadable ones, for which a client would wait in vain.

    The SDK makes exactly one item of every line, in order.
    """
    async with aclosing(incoming), send:
        async for item in incoming:
            line = lines.take()
            if isinstance(item, Exception):
                await answer(SessionMessage(unreadable(line)))
            else:
                await send.send(item)


def unreadable(line: str) -> types.JSONRPCError:
    """Answer a line that is no message, with the id it has, if it has a usable one."""
    try:
        message: Any = json.loads(line)
    except (ValueError, RecursionError):
        message, code, reason = None, types.PARSE_ERROR, _NO_JSON
    else:
        code, reason = types.INVALID_REQUEST, _NO_REQUEST
    if not _well_formed(line if message is None else message):
        code, reason = types.INVALID_REQUEST, _NO_UNICODE
    text = f"{reason.message} ({reason.code})"
    return types.JSONRPCError(
        jsonrpc="2.0",
        id=_id(message),
        error=types.ErrorData(code=code, message=text, data={"code": reason.code}),
    )


def _well_formed(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _id(message: Any) -> str | int | None:
    found = cast("dict[str, Any]", message).get("id") if isinstance(message, dict) else None
    usable = isinstance(found, (str, int)) and not isinstance(found, bool) and _well_formed(found)
    return cast("str | int", found) if usable else None

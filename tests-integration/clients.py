"""Real MCP clients of the installed command, for the scenarios."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client
from mcp.client.stdio import StdioServerParameters

COMMAND = str(Path(sys.executable).with_name("dsh-mnemon"))


class Person:
    """A client that calls tools and reads their JSON."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def turn(self) -> str:
        """Begin the next turn and return its context."""
        return str((await self.client.call_tool("mnemon_context")).content[0].text)

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error, answer.content[0].text
        return dict(answer.structured_content)

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must refuse, and return why."""
        answer = await self.client.call_tool(tool, arguments)
        assert answer.is_error, answer.structured_content
        return str(answer.content[0].text)


@asynccontextmanager
async def person(
    environment: dict[str, str], workspace: Path, *arguments: str
) -> AsyncIterator[Person]:
    """Start ``dsh-mnemon mcp`` and connect to it over stdio."""
    parameters = StdioServerParameters(
        command=COMMAND, args=["mcp", *arguments], env=environment, cwd=workspace
    )
    async with Client(parameters) as client:
        yield Person(client)

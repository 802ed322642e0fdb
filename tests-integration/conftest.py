import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

COMMAND = str(Path(sys.executable).with_name("dsh-mnemon"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment whose data and settings lie in a temporary directory."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MNEMON")}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "MNEMON_DATA_DIR": str(home / "data"),
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }


# Projects of their own, which test_third_party.py builds and tests.
collect_ignore = ["third_party"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Run:
    """Run the console script in a workspace of its own."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()

    def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *arguments],
            cwd=workspace,
            env={**environment, **env},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return call


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
async def connected(
    environment: dict[str, str], workspace: Path, *arguments: str
) -> AsyncIterator[Person]:
    """Start ``dsh-mnemon mcp`` and connect to it over stdio."""
    parameters = StdioServerParameters(
        command=COMMAND, args=["mcp", *arguments], env=environment, cwd=workspace
    )
    async with Client(parameters) as client:
        yield Person(client)


@pytest.fixture
def person() -> Callable[..., AbstractAsyncContextManager[Person]]:
    """Return what starts ``dsh-mnemon mcp`` for ``(environment, workspace, *arguments)``."""
    return connected

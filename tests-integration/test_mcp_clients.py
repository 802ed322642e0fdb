"""Real MCP clients and the console script, each in a process of its own, over stdio and HTTP."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

COMMAND = str(Path(sys.executable).with_name("dsh-mnemon"))
TOKEN = "a-token-of-the-test"

# The client warns that newer protocols know no handshake; here both kinds are under test.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

USER = {"action": "add", "target": "user", "content": "Prefers {{short}} $answers </b>"}
MEMORY = {"action": "add", "target": "memory", "content": "Build with nox, not make"}

Served = Callable[..., Any]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@contextmanager
def serving(
    environment: dict[str, str], workspace: Path, *arguments: str, **env: str
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run ``dsh-mnemon serve`` and yield the process and the address it printed."""
    process = subprocess.Popen(
        [COMMAND, "serve", "--port", "0", "--json", *arguments],
        cwd=workspace,
        env={**environment, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, json.loads("".join(document(process)))["url"]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=30)
        assert "Traceback" not in errors


def document(process: subprocess.Popen[str]) -> Iterator[str]:
    """Read the lines of one indented JSON document."""
    assert process.stdout is not None
    for line in process.stdout:
        yield line
        if line == "}\n":
            return


@asynccontextmanager
async def over_stdio(
    environment: dict[str, str], workspace: Path, *arguments: str, **options: Any
) -> AsyncIterator[Client]:
    parameters = StdioServerParameters(
        command=COMMAND, args=["mcp", *arguments], env=environment, cwd=workspace
    )
    async with Client(parameters, **options) as client:
        yield client


@asynccontextmanager
async def over_http(
    environment: dict[str, str], workspace: Path, **options: Any
) -> AsyncIterator[Client]:
    with serving(environment, workspace) as (_, url):
        async with Client(url, **options) as client:
            yield client


BOTH = pytest.mark.parametrize("opened", [over_stdio, over_http], ids=["stdio", "http"])


class Ear:
    """Hears the notifications of a connection, in order."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        self._news = anyio.Event()

    async def __call__(self, message: Any) -> None:
        self._heard.append(message.method)
        self._news.set()

    async def next(self) -> str:
        with anyio.fail_after(10):
            await self._news.wait()
        self._news = anyio.Event()
        return self._heard.pop(0)


async def context(client: Client) -> str:
    return (await client.call_tool("mnemon_context")).content[0].text


async def resource(client: Client) -> str:
    return (await client.read_resource("mnemon://context")).contents[0].text


def set_setting(environment: dict[str, str], line: str) -> None:
    file = Path(environment["XDG_CONFIG_HOME"]) / "dsh-mnemon" / "settings.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(line + "\n", encoding="utf-8")


@BOTH
@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_client_lists_tools_adds_entries_and_finds_them(
    environment: dict[str, str], workspace: Path, opened: Served, mode: str
) -> None:
    with anyio.fail_after(60):
        async with opened(environment, workspace, mode=mode) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["mnemon_context"].annotations.read_only_hint
            assert tools["mnemon_runtime_memory"].annotations.destructive_hint
            assert tools["mnemon_runtime_memory"].input_schema["required"] == ["action", "target"]
            for entry in (USER, MEMORY):
                added = await client.call_tool("mnemon_runtime_memory", entry)
                assert added.structured_content["memoryReceipt"]["completion"] == "committed"
            assert USER["content"] not in await resource(client)
            text = await context(client)
            assert USER["content"] in text
            assert MEMORY["content"] in text
            assert await resource(client) == text


@BOTH
async def test_other_process_shows_in_the_next_turn_and_not_in_this_one(
    environment: dict[str, str], workspace: Path, opened: Served
) -> None:
    heard = Ear()
    with anyio.fail_after(60):
        async with (
            opened(environment, workspace, mode="legacy", message_handler=heard) as reader,
            over_stdio(environment, workspace) as writer,
        ):
            await reader.subscribe_resource("mnemon://context")
            pinned = await context(reader)
            await writer.call_tool("mnemon_runtime_memory", MEMORY)
            assert MEMORY["content"] in await context(writer)
            assert await resource(reader) == pinned
            assert (await reader.call_tool("mnemon_status")).structured_content["healthy"]
            assert await resource(reader) == pinned
            assert MEMORY["content"] in await context(reader)
            assert await heard.next() == "notifications/resources/updated"


async def test_command_and_server_show_a_model_the_same(
    environment: dict[str, str], run: Any, tmp_path: Path
) -> None:
    assert run("runtime", "add", "--target", "user", USER["content"]).returncode == 0
    shown = json.loads(run("context", "--json").stdout)
    async with over_stdio(environment, tmp_path / "workspace") as client:
        told = (await client.call_tool("mnemon_context")).structured_content
        listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    for part in ("workspace", "isWorktree", "sections", "wake", "storage", "budgets"):
        assert told[part] == shown[part]
    assert {tool["name"]: tool["inputSchema"] for tool in shown["tools"]}.items() <= listed.items()


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("\u202e${HOME} {{user}} </runtime-memory-file>", None),
        ("a\0b", None),
        ("a § b", "entry-delimiter-reserved"),
        ("x" * 8193, "entry-too-large"),
    ],
    ids=["literal", "nul", "delimiter", "long"],
)
async def test_odd_text_is_passed_on_literally_or_refused_by_name(
    environment: dict[str, str], workspace: Path, content: str, code: str | None
) -> None:
    async with over_stdio(environment, workspace) as client:
        entry = {**MEMORY, "content": content}
        result = await client.call_tool("mnemon_runtime_memory", entry)
        text = await context(client)
    if code is None:
        assert content in text
    else:
        assert result.structured_content["code"] == code
        assert content not in text


async def test_two_http_sessions_have_their_own_turns(
    environment: dict[str, str], workspace: Path
) -> None:
    with anyio.fail_after(60), serving(environment, workspace) as (_, url):
        async with Client(url) as one, Client(url) as two:
            pinned = await context(one)
            await two.call_tool("mnemon_runtime_memory", USER)
            assert USER["content"] in await context(two)
            assert await resource(one) == pinned


@BOTH
async def test_read_only_switch_takes_write_tools_away_at_once(
    environment: dict[str, str], workspace: Path, opened: Served
) -> None:
    heard = Ear()
    with anyio.fail_after(60):
        async with opened(
            environment, workspace, mode="legacy", message_handler=heard, cache=None
        ) as client:
            await client.call_tool("mnemon_context")
            set_setting(environment, "writeEnabled: false")
            refused = await client.call_tool("mnemon_runtime_memory", USER)
            assert refused.structured_content["code"] == "writes-disabled"
            assert await heard.next() == "notifications/tools/list_changed"
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert "mnemon_runtime_memory" not in names
            assert "mnemon_context" in names


async def test_roots_of_the_client_are_its_workspace(
    environment: dict[str, str], workspace: Path, tmp_path: Path
) -> None:
    from mcp import types

    async def roots(_context: Any) -> types.ListRootsResult:
        return types.ListRootsResult(roots=[types.Root(uri=tmp_path.as_uri())])

    set_setting(environment, "storageScope: workspace")
    with anyio.fail_after(60):
        async with over_http(environment, workspace, list_roots_callback=roots) as client:
            assert f'"{tmp_path}"' in await context(client)
            await client.call_tool("mnemon_runtime_memory", MEMORY)
        async with over_stdio(
            environment, workspace, "--workspace", str(workspace), list_roots_callback=roots
        ) as client:
            assert f'"{workspace}"' in await context(client)
    assert (tmp_path / ".mnemon" / "runtime" / "MEMORY.md").read_text(encoding="utf-8")
    assert not (workspace / ".mnemon" / "runtime" / "memories.json").exists()


def ask(url: str, path: str = "/mcp", **headers: str) -> tuple[int, str]:
    """Post an initialize request with the given headers; underscores stand for hyphens."""
    target = httpx2.URL(url)
    connection = http.client.HTTPConnection(target.host, target.port, timeout=20)
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "0"},
        },
    }
    sent = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    method = "GET" if path == "/healthz" else "POST"
    connection.request(method, path, json.dumps(body), sent)
    response = connection.getresponse()
    answer = response.status, response.read().decode()
    connection.close()
    return answer


def test_web_pages_and_foreign_names_are_kept_out(
    environment: dict[str, str], workspace: Path
) -> None:
    with serving(environment, workspace) as (_, url):
        own = f"{httpx2.URL(url).host}:{httpx2.URL(url).port}"
        assert ask(url)[0] == 200
        assert ask(url, Origin=f"http://{own}")[0] == 200
        assert ask(url, Host="evil.example")[0] == 421
        assert ask(url, Host="localhost.evil.example:1")[0] == 421
        assert ask(url, Origin="http://evil.example")[0] == 403
        assert ask(url, Origin="null")[0] == 403
        assert ask(url, Origin="http://localhost:1")[0] == 403
        assert ask(url, "/healthz", Host="evil.example")[0] == 421
        status, health = ask(url, "/healthz")
        assert status == 200
        assert json.loads(health)["status"] == "ok"
        assert environment["HOME"] not in health


async def test_token_opens_what_nothing_else_does(
    environment: dict[str, str], workspace: Path
) -> None:
    with serving(environment, workspace, "--bind", "0.0.0.0", MNEMON_TOKEN=TOKEN) as (_, url):
        local = url.replace("0.0.0.0", "127.0.0.1")
        assert ask(local)[0] == 401
        assert ask(local, Authorization=f"Bearer {TOKEN}x")[0] == 401
        assert ask(local, Authorization=f"Basic {TOKEN}")[0] == 401
        assert ask(local, Authorization=f"Bearer {TOKEN}")[0] == 200
        assert ask(local, "/healthz")[0] == 200
        headers = {"Authorization": f"Bearer {TOKEN}"}
        async with httpx2.AsyncClient(headers=headers) as http_client:
            transport = streamable_http_client(local, http_client=http_client)
            async with Client(transport) as client:
                assert "MNEMON CONTEXT" in await context(client)


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.0.2.1"])
def test_address_that_others_reach_needs_a_token(run: Any, bind: str) -> None:
    done = run("serve", "--bind", bind, "--port", "0")
    assert done.returncode == 1
    assert "token-required" in done.stderr


async def test_ipv6_loopback_serves_as_well(environment: dict[str, str], workspace: Path) -> None:
    with serving(environment, workspace, "--bind", "::1") as (_, url):
        assert url.startswith("http://[::1]:")
        async with Client(url) as client:
            assert "MNEMON CONTEXT" in await context(client)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
async def test_signal_ends_the_server_while_clients_are_connected(
    environment: dict[str, str], workspace: Path, sent: signal.Signals
) -> None:
    with serving(environment, workspace) as (process, url):
        async with Client(url, mode="legacy") as client:
            await client.call_tool("mnemon_context")
            process.send_signal(sent)
            assert await anyio.to_thread.run_sync(process.wait, 15) == 0


def test_interrupted_stdio_server_does_not_wait_for_its_client(
    environment: dict[str, str], workspace: Path
) -> None:
    process = subprocess.Popen(
        [COMMAND, "mcp"],
        cwd=workspace,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"?\n")
        process.stdin.flush()
        assert b"message-malformed" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""


def stored(environment: dict[str, str]) -> list[str]:
    file = Path(environment["MNEMON_DATA_DIR"]) / "runtime" / "memories.json"
    return [entry["content"] for entry in json.loads(file.read_text(encoding="utf-8"))["entries"]]


@pytest.mark.parametrize("delay", [0.0, 0.007])
async def test_killed_server_leaves_every_acknowledged_entry(
    environment: dict[str, str], workspace: Path, delay: float
) -> None:
    acknowledged: list[str] = []
    refused: list[str] = []

    async def kill(process: subprocess.Popen[str]) -> None:
        await anyio.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)

    async def add_until_killed(process: subprocess.Popen[str], url: str) -> None:
        async with Client(url, mode="legacy") as client, anyio.create_task_group() as tasks:
            for number in range(1000):
                entry = {**MEMORY, "content": f"entry {number}"}
                added = await client.call_tool("mnemon_runtime_memory", entry)
                (refused if added.is_error else acknowledged).append(entry["content"])
                if number == 5:
                    tasks.start_soon(kill, process)

    with serving(environment, workspace) as (process, url):
        # However the SDK tells that the server has gone; what was acknowledged is what counts.
        with pytest.raises(Exception), anyio.fail_after(30):  # noqa: B017, PT011
            await add_until_killed(process, url)
        assert await anyio.to_thread.run_sync(process.wait, 15) == -signal.SIGKILL
    assert set(acknowledged) <= set(stored(environment))
    assert refused == []
    async with over_stdio(environment, workspace) as client:
        assert "entry 0" in await context(client)
        assert not (await client.call_tool("mnemon_runtime_memory", USER)).is_error


def test_stdout_carries_the_protocol_only_and_every_line_is_answered(
    environment: dict[str, str], workspace: Path
) -> None:
    def call(number: int, content: str) -> str:
        arguments = {**USER, "content": "@"}
        message = {
            "jsonrpc": "2.0",
            "id": number,
            "method": "tools/call",
            "params": {"name": "mnemon_runtime_memory", "arguments": arguments},
        }
        return json.dumps(message).replace('"@"', content)

    opening = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "raw", "version": "0"},
        },
    }
    lines = [
        json.dumps(opening).encode(),
        b'{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        call(1, '"\\ud800"').encode(),
        call(2, '"\xff"').encode("latin-1"),
        b"no json",
        b'{"jsonrpc": "2.0", "id": 3}',
    ]
    done = subprocess.run(
        [COMMAND, "mcp"],
        input=b"\n".join(lines) + b"\n",
        cwd=workspace,
        env=environment,
        capture_output=True,
        timeout=60,
        check=True,
    )
    answers = {answer["id"]: answer for answer in map(json.loads, done.stdout.splitlines())}
    assert answers[0]["result"]["serverInfo"]["name"] == "dsh-mnemon"
    for number in (1, 2):
        assert answers[number]["error"]["data"]["code"] == "text-not-unicode"
    assert answers[None]["error"]["code"] == -32700
    assert answers[3]["error"]["code"] == -32600
    assert b"Traceback" not in done.stderr

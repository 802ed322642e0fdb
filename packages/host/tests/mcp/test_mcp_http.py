import os
import signal
import socket

import anyio
import httpx2
import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_host.harness.mcp import http_app, serve_http
from dsh_mnemon_host.harness.mcp.gate import check_bind, host_rules, is_loopback, read_token
from mcp import Client

# The client warns that newer protocols know no handshake; here both kinds are under test.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

LOCAL = "http://127.0.0.1:9"


async def get(app, path="/healthz", base=LOCAL, **headers):
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url=base) as client:
        return await client.get(path, headers=headers)


async def context(client):
    return (await client.call_tool("mnemon_context")).content[0].text


class Server:
    """`serve_http` in this process, ended by a signal to it."""

    def __init__(self, bench, tasks, **options):
        self.addresses = []
        self._bench = bench
        self._tasks = tasks
        self._options = options
        self._ready = anyio.Event()

    async def __aenter__(self):
        self._tasks.start_soon(self._serve)
        await self._ready.wait()
        return self.addresses[0]

    async def _serve(self):
        await serve_http(self._bench.host, on_ready=self._heard, **self._options)

    def _heard(self, address):
        self.addresses.append(address)
        self._ready.set()

    async def __aexit__(self, *_error):
        os.kill(os.getpid(), signal.SIGTERM)


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
async def test_server_serves_until_it_is_told_to_stop(bench, mode):
    ended = []
    async with anyio.create_task_group() as tasks:
        async with Server(bench, tasks) as url:
            assert url.startswith("http://127.0.0.1:")
            assert url.endswith("/mcp")
            async with Client(url, mode=mode) as client:
                assert "The protocol." in await context(client)
                assert len(bench.harness.host.lifecycle.agents) == 1
        ended.append(True)
    assert ended
    assert bench.host.lifecycle.agents == ()
    assert bench.host.harnesses == (bench.harness,)


async def test_sessions_of_one_client_program_are_kept_apart(bench):
    async with (
        anyio.create_task_group() as tasks,
        Server(bench, tasks) as url,
        Client(url) as one,
        Client(url) as two,
    ):
        assert one.protocol_version == "2025-11-25"
        pinned = await context(one)
        bench.store.notes.append("later")
        assert "later" in await context(two)
        assert (await one.read_resource("mnemon://context")).contents[0].text == pinned


async def test_clients_without_sessions_share_one_by_name(bench):
    async with (
        anyio.create_task_group() as tasks,
        Server(bench, tasks) as url,
        Client(url, mode="2026-07-28") as one,
        Client(url, mode="2026-07-28") as two,
    ):
        await context(one)
        bench.store.notes.append("later")
        assert "later" in await context(two)
        assert "later" in (await one.read_resource("mnemon://context")).contents[0].text
        assert len(bench.host.lifecycle.agents) == 1


async def test_second_signal_does_not_wait(bench):
    bench.store.hold = anyio.Event()
    add = {"action": "add", "target": "user", "content": "x"}

    async def interrupted(url):
        async with Client(url, mode="legacy") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "mnemon_runtime_memory", add)
            await bench.store.entered.wait()
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)

    with anyio.fail_after(4):
        async with anyio.create_task_group() as tasks, Server(bench, tasks) as url:
            with pytest.raises(Exception):  # noqa: B017, PT011 - however the SDK tells it
                await interrupted(url)
    assert bench.store.notes == []


async def test_the_first_signal_is_passed_on_once(bench):
    told = []
    telling = {"on_stopping": lambda: told.append(1)}
    async with anyio.create_task_group() as tasks, Server(bench, tasks, **telling):
        assert told == []
        os.kill(os.getpid(), signal.SIGTERM)
    assert told == [1]


async def test_nobody_need_ask_when_it_is_ready(bench):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(serve_http, bench.host, "127.0.0.1", port)
        async with httpx2.AsyncClient() as client:
            with anyio.fail_after(10):
                while True:
                    try:
                        answer = await client.get(f"http://127.0.0.1:{port}/healthz")
                        break
                    except httpx2.ConnectError:
                        await anyio.sleep(0.02)
        assert answer.json()["status"] == "ok"
        os.kill(os.getpid(), signal.SIGTERM)


async def test_address_in_use_is_named(bench):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigurationError) as caught:
            await serve_http(bench.host, port=port)
    assert caught.value.code == "address-unavailable"
    assert str(port) in caught.value.message


@pytest.mark.parametrize(("bind", "port"), [("127.0.0.1", 70000), ("::1", -1)])
async def test_port_that_is_none_is_named(bench, bind, port):
    with pytest.raises(ConfigurationError) as caught:
        await serve_http(bench.host, bind, port)
    assert caught.value.code == "address-unavailable"


@pytest.mark.parametrize("bind", ["", "0.0.0.0", "::", "192.0.2.1", "memory.example"])
async def test_nothing_is_served_to_others_without_a_token(bench, bind):
    with pytest.raises(ConfigurationError) as caught:
        await serve_http(bench.host, bind)
    assert caught.value.code == "token-required"
    check_bind(bind, "token")


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_loopback_needs_no_token(bind):
    assert is_loopback(bind)
    check_bind(bind, None)
    assert host_rules(bind).enable_dns_rebinding_protection


@pytest.mark.parametrize("token", [None, "", "  "])
def test_blank_token_is_none(token):
    assert read_token(token) is None


@pytest.mark.parametrize("token", ["a b", "schlüssel", "a\nb", "a\x7f"])
def test_token_that_no_header_carries_is_refused(token):
    with pytest.raises(ConfigurationError) as caught:
        read_token(token)
    assert caught.value.code == "token-invalid"


async def test_health_tells_no_secret(bench):
    answer = await get(http_app(bench.host, token="secret"))
    assert answer.status_code == 200
    assert set(answer.json()) == {"status", "memory", "version"}
    assert answer.json()["memory"] == "ready"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost"}, 200),
        ({"Host": "localhost:9"}, 200),
        ({"Host": "[::1]:9"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Host": "localhost.evil.example:9"}, 421),
        ({"Origin": "http://127.0.0.1:9"}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://localhost:9"}, 403),
        ({"Origin": "http://127.0.0.1:8"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
async def test_names_and_origins_on_loopback(bench, headers, status):
    answer = await get(http_app(bench.host), **headers)
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": "Bearer secret"}, 404),
        ({"Authorization": "bearer secret"}, 404),
        ({"Authorization": "Bearer secre"}, 401),
        ({"Authorization": "Bearer secret2"}, 401),
        ({"Authorization": "Bearer"}, 401),
        ({"Authorization": "Basic secret"}, 401),
        ({}, 401),
        ({"Authorization": "Bearer secret", "Origin": "http://evil.example"}, 403),
        ({"Authorization": "Bearer secret", "Origin": "http://memory.example"}, 404),
        ({"Authorization": "Bearer secret", "Origin": "http://["}, 403),
        ({"Origin": "http://["}, 403),
    ],
)
async def test_token_beyond_loopback(bench, headers, status):
    app = http_app(bench.host, bind="0.0.0.0", token="secret")
    answer = await get(app, "/nothing", "http://memory.example", **headers)
    assert answer.status_code == status
    assert ("www-authenticate" in answer.headers) == (status == 401)

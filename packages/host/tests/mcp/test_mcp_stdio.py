import io
import json
import os
import sys
from contextlib import contextmanager

import anyio
import pytest
from dsh_mnemon_host.harness import mcp as package
from dsh_mnemon_host.harness.mcp import serve_stdio
from dsh_mnemon_host.harness.mcp.input_lines import input_lines
from dsh_mnemon_host.harness.mcp.stdio import unreadable

HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "0"},
    },
}
READY = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@contextmanager
def given(monkeypatch, data):
    """Have ``data`` on standard input, and then its end."""
    reader, writer = os.pipe()
    with open(reader, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(writer, data)
        os.close(writer)
        yield


async def talk(bench, monkeypatch, *lines):
    """Serve these lines and return the answers by id."""
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8"))
    with given(monkeypatch, b"\n".join(lines)):
        await serve_stdio(bench.host)
    answers = [json.loads(line) for line in out.getvalue().splitlines()]
    return {answer["id"]: answer for answer in answers}


def encoded(*messages):
    return [json.dumps(message).encode() for message in messages]


async def test_server_speaks_until_its_input_ends(bench, monkeypatch):
    answers = await talk(bench, monkeypatch, *encoded(HELLO, READY), b"", b"  ")
    assert answers[0]["result"]["serverInfo"]["name"] == "dsh-mnemon"
    assert "mnemon_context" in answers[0]["result"]["instructions"]
    assert answers[0]["result"]["capabilities"]["tools"]["listChanged"]
    assert bench.host.harnesses == (bench.harness,)


async def test_unreadable_lines_are_answered_and_harm_nothing_else(bench, monkeypatch):
    answers = await talk(
        bench,
        monkeypatch,
        *encoded(HELLO, READY),
        b"no json",
        b'{"jsonrpc": "2.0", "id": 7, "method": "x", "params": {"a": "\\ud800"}}',
        b'{"jsonrpc": "2.0", "id": "8", "method": "x", "params": {"a": "\xff"}}',
        b'{"jsonrpc": "2.0", "id": 9}',
        *encoded(LIST),
    )
    assert answers[None]["error"]["code"] == -32700
    assert answers[7]["error"]["data"] == {"code": "text-not-unicode"}
    assert answers["8"]["error"]["data"] == {"code": "text-not-unicode"}
    assert answers[9]["error"]["data"] == {"code": "message-malformed"}


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        ("{", -32700, None),
        ("[" * 100_000, -32700, None),
        ("[1]", -32600, None),
        ('{"id": true}', -32600, None),
        ('{"id": 1.5}', -32600, None),
        ('{"id": "\\ud800"}', -32600, None),
        ('{"id": "a"}', -32600, "a"),
        ("\udcff", -32600, None),
    ],
)
def test_unreadable_line_keeps_a_usable_id(line, code, number):
    answer = unreadable(line)
    assert (answer.error.code, answer.id) == (code, number)
    assert json.loads(answer.model_dump_json())["error"]["message"]


async def test_lines_are_split_at_newlines_only():
    reader, writer = os.pipe()
    os.write(writer, "a\r\n\n \nb\u2028c\n".encode() + b"\xff")
    os.close(writer)
    async with input_lines(reader) as lines:
        found = [line async for line in lines]
        assert found == ["a\r", "b\u2028c", "\udcff"]
        assert [lines.take() for _ in found] == found
    os.close(reader)


async def test_wait_for_a_silent_client_can_be_given_up():
    reader, writer = os.pipe()
    with anyio.move_on_after(0.05) as waiting:
        async with input_lines(reader) as lines:
            async for _line in lines:
                pass
    assert waiting.cancelled_caught
    os.write(writer, b"too late\n")
    os.close(writer)


async def test_input_that_cannot_be_read_has_no_lines(tmp_path):
    folder = os.open(tmp_path, os.O_RDONLY)
    async with input_lines(folder) as lines:
        assert [line async for line in lines] == []
    os.close(folder)


def test_package_gives_what_it_names_and_nothing_else():
    assert [name for name in package.__all__ if not callable(getattr(package, name))] == []
    with pytest.raises(AttributeError, match="no attribute 'serve_pigeon'"):
        package.serve_pigeon  # noqa: B018

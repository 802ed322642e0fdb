"""``dsh-mnemon serve``: what it prints, and what it advises when it cannot listen."""

import json
import os
import socket
import subprocess
import sys

import pytest
from dsh_mnemon_host.cli.serving import reachable
from dsh_mnemon_host.harness import mcp


@pytest.mark.requirement("host:cli:serve-advice")
def test_an_address_that_others_reach_names_the_options_for_a_token(shell):
    code, out, err = shell("serve", "--bind", "0.0.0.0", "--port", "0")
    assert (code, out) == (1, "")
    assert "[token-required]" in err
    assert "`--token`" in err
    assert "MNEMON_TOKEN" in err


@pytest.mark.requirement("host:cli:serve-advice")
def test_a_port_that_is_taken_names_the_options_for_another(shell):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, out, err = shell("serve", "--port", port)
    assert (code, out) == (1, "")
    assert f"port {port}" in err
    assert "`--port 0` takes a free one" in err
    assert "[address-unavailable]" in err


def test_a_port_that_cannot_be_is_not_told_of_free_ones(shell):
    error = shell.json("serve", "--port", "70000", code=1)["error"]
    assert error["code"] == "address-unavailable"
    assert "--port" not in error["message"]


@pytest.mark.requirement("host:cli:serve-advice")
@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("http://0.0.0.0:8787/mcp", "http://127.0.0.1:8787/mcp"),
        ("http://[::]:8787/mcp", "http://[::1]:8787/mcp"),
        ("http://:8787/mcp", "http://127.0.0.1:8787/mcp"),
        ("http://127.0.0.1:8787/mcp", "http://127.0.0.1:8787/mcp"),
        ("http://[::1]:8787/mcp", "http://[::1]:8787/mcp"),
        ("http://192.0.2.1:8787/mcp", "http://192.0.2.1:8787/mcp"),
        ("http://memory.example:8787/mcp", "http://memory.example:8787/mcp"),
    ],
)
def test_the_address_shown_is_one_that_a_client_can_use(address, url):
    assert reachable(address) == url


@pytest.fixture
def answering(monkeypatch):
    """A server that says where it listens, and stops."""

    async def serve_http(_host, bind, port, _token, *, on_ready, **_):
        on_ready(f"http://{bind}:{port}/mcp")

    monkeypatch.setattr(mcp, "serve_http", serve_http)


@pytest.mark.requirement("host:cli:serve-advice")
def test_a_server_for_other_machines_shows_what_works_here_and_what_works_there(shell, answering):
    wide = ("serve", "--bind", "0.0.0.0", "--port", "8797", "--token", "secret")
    assert shell.json(*wide)["url"] == "http://127.0.0.1:8797/mcp"
    code, out, err = shell(*wide)
    assert (code, err) == (0, "")
    assert "0.0.0.0" not in out
    assert f"({socket.gethostname()})" in out
    assert "Bearer <token>" in out
    assert "secret" not in out


def test_a_server_for_this_machine_says_nothing_of_others(shell, answering):
    code, out, _ = shell("serve", "--port", "8797")
    assert code == 0
    assert "Other machines" not in out
    snippet = json.loads(out[out.index("{") : out.rindex("}") + 1])
    assert snippet == {
        "mcpServers": {"memory": {"type": "http", "url": "http://127.0.0.1:8797/mcp"}}
    }


STUCK = """
import os, signal, sys
from pathlib import Path
from threading import Event, Thread
from dsh_mnemon_host.cli import serving
from dsh_mnemon_host.cli.main import main

def stuck(_document):
    Thread(target=Event().wait).start()
    os.kill(os.getpid(), signal.SIGTERM)

serving._STOPPING_SECONDS = 0.0
serving.print_json = stuck
main(["serve", "--port", "0", "--json"], default_profile=Path(sys.argv[1]))
"""


@pytest.mark.requirement("host:cli:ends")
@pytest.mark.skipif(os.name == "nt", reason="Windows knows no such signal")
def test_a_thread_that_never_ends_does_not_keep_a_server_alive(shell):
    done = subprocess.run(
        [sys.executable, "-c", STUCK, str(shell.profile)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "error: something did not stop in time; the process ends without it\n"

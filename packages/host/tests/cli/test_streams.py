"""The standard streams of the command: closed ones, and stdout kept for the answer."""

import json
import os
import subprocess
import sys

import pytest
from dsh_mnemon_host.cli import streams
from dsh_mnemon_host.cli.main import main

LOUD = """\
import os, subprocess, sys
from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE, Contributions, Plugin, SourceDefinition, SourceFacts, SourceManifest,
    install_memory,
)

MANIFEST = SourceManifest(
    type_id="loud", package_name="loud", role="reference", capabilities=("status",),
    consistency="exact-snapshot", routes=(), actions=(), management={"label": "Loud"},
)


class Loud:
    def __init__(self, key):
        self.key = key

    async def facts(self, request):
        print("printed")
        sys.__stdout__.write("written\\n")
        os.write(1, b"descriptor\\n")
        subprocess.run([sys.executable, "-c", "print('child')"], check=True)
        return SourceFacts(
            source_instance_key=self.key, source_type_id="loud", role="reference",
            availability="ready", revision="1", capabilities=("status",), route_ids=(),
            action_ids=(),
        )

    async def project(self, request):
        raise NotImplementedError


def apply(ctx, _config):
    create = lambda context: Loud(context.source_instance_key)
    source = SourceDefinition(manifest=MANIFEST, create=create)
    install_memory(ctx, Contributions(sources=(source,)))


plugin = Plugin(name="loud", apply=apply, requires=(MEMORY_SERVICE,))
"""

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
CONTEXT = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "mnemon_context", "arguments": {}},
}


def program(shell, *arguments):
    """Return what runs the command in a process of its own."""
    source = (
        "import sys; from pathlib import Path; from dsh_mnemon_host.cli.main import main; "
        f"sys.exit(main({list(arguments)!r}, default_profile=Path({str(shell.profile)!r})))"
    )
    return [sys.executable, "-c", source]


@pytest.fixture
def loud(shell, tmp_path, monkeypatch):
    """A Source that writes to stdout in every way there is."""
    (tmp_path / "loud_plugin.py").write_text(LOUD, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with shell.profile.open("a", encoding="utf-8") as profile:
        profile.write("  - {id: loud, module: loud_plugin}\n")
    return shell


# -- closed streams -------------------------------------------------------------------------------


@pytest.mark.requirement("host:cli:streams")
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_a_closed_stdout_is_told_on_stderr(shell, capsys, monkeypatch, options):
    monkeypatch.setattr(sys, "stdout", None)
    code = main(["status", *options], default_profile=shell.profile)
    sys.stdout.close()
    assert code == 1
    assert capsys.readouterr().err == (
        "error: cannot write the answer: standard output is closed\n"
    )
    assert not shell.data.exists()


@pytest.mark.requirement("host:cli:streams")
def test_a_closed_stderr_changes_no_answer(shell, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        assert main(["runtime", "list", "--json"], default_profile=shell.profile) == 0
        assert main(["runtime", "list", "--nonesuch"], default_profile=shell.profile) == 2
        sys.stderr.close()
    assert json.loads(capsys.readouterr().out)["entries"] == []


@pytest.mark.requirement("host:cli:streams")
def test_a_closed_stdin_is_empty_and_no_client(shell, capsys, monkeypatch):
    for arguments, code in ((["runtime", "list"], 0), (["mcp"], 1)):
        monkeypatch.setattr(sys, "stdin", None)
        assert main(arguments, default_profile=shell.profile) == code
        assert sys.stdin.read() == ""
        sys.stdin.close()
    assert "[stdin-closed]" in capsys.readouterr().err


@pytest.mark.requirement("host:cli:streams")
@pytest.mark.skipif(os.name == "nt", reason="closing a stream takes a POSIX shell")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_no_closed_stream_leads_to_a_traceback(shell, closed):
    command = program(shell, "mcp")
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith("error: ") is ("2>&-" not in closed)
    assert len(done.stderr.splitlines()) <= 1


# -- stdout is for the answer ---------------------------------------------------------------------


def test_only_answers_reach_a_reserved_stdout(capfd, monkeypatch):
    with open(1, "w", encoding="utf-8", closefd=False) as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        with streams.reserved_stdout():
            print("printed")
            stdout.write("kept reference\n")
            os.write(1, b"descriptor\n")
            with streams.reserved_stdout():
                streams.answers().write("answer\n")
            streams.answers().flush()
        assert streams.answers() is sys.stdout is stdout
        print("after", flush=True)
    out, err = capfd.readouterr()
    assert out == "answer\nafter\n"
    assert sorted(err.split("\n")) == ["", "descriptor", "kept reference", "printed"]


def test_an_answer_that_nobody_took_is_dropped(capfd, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    before = os.dup(1)
    os.dup2(writer, 1)
    os.close(writer)
    try:
        with open(1, "w", encoding="utf-8", closefd=False) as stdout:
            monkeypatch.setattr(sys, "stdout", stdout)
            with streams.reserved_stdout():
                streams.answers().write("answer\n")
            stdout.write("more\n")
            streams.give_up_stdout()
    finally:
        os.dup2(before, 1)
        os.close(before)
    assert capfd.readouterr().out == ""


@pytest.mark.requirement("host:cli:streams")
@pytest.mark.parametrize(
    "arguments", [["context", "--json"], ["doctor", "--json"]], ids=lambda value: value[0]
)
def test_a_document_stays_whole_whatever_a_plugin_writes(loud, arguments):
    done = subprocess.run(
        program(loud, *arguments), capture_output=True, text=True, timeout=60, check=False
    )
    assert isinstance(json.loads(done.stdout), dict)
    assert {"printed", "written", "descriptor", "child"} <= set(done.stderr.split())


@pytest.mark.requirement("host:cli:streams")
def test_the_protocol_stays_clean_and_unicode_whatever_a_plugin_writes(loud, monkeypatch):
    loud("runtime", "add", "--target", "user", "naïve 字")
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    with subprocess.Popen(
        program(loud, "mcp"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    ) as server:
        for message in (HELLO, READY, CONTEXT):
            server.stdin.write(json.dumps(message) + "\n")
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        rest, err = server.communicate(timeout=60)
    assert [answer["id"] for answer in answers] == [0, 1]
    assert "naïve 字" in answers[1]["result"]["content"][0]["text"]
    assert rest == ""
    assert {"printed", "written", "descriptor", "child"} <= set(err.split())

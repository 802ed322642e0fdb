"""Dispatch and exit codes of the command."""

import gc
import io
import json
import subprocess
import sys

import pytest
from dsh_mnemon_host.cli import main as entry
from dsh_mnemon_host.cli.main import main


@pytest.mark.requirement("host:cli:exit-codes")
@pytest.mark.parametrize(
    "arguments",
    [
        ("nonesuch",),
        ("runtime", "add", "x"),
        ("runtime", "add", "--target", "nobody", "x"),
        ("runtime", "list", "--jason"),
        ("runtime", "archived", "--limit", "many"),
        ("status", "extra"),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2_on_standard_error(shell, arguments):
    code, out, err = shell(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.endswith("Try --help. [usage]\n")
    assert not shell.data.exists()


@pytest.mark.requirement("host:cli:exit-codes")
def test_wrong_usage_is_told_in_json_where_that_is_asked_for(shell):
    code, out, err = shell("runtime", "list", "--jason", "--json")
    assert (code, err) == (2, "")
    assert json.loads(out)["error"]["code"] == "usage"


@pytest.mark.requirement("host:cli:exit-codes")
@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("runtime", "add", "x"), "--target is missing: one of user, memory."),
        (("runtime", "add", "x", "--target"), "--target needs a value: one of user, memory."),
        (("spaces", "activate"), "SPACE is missing."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_is_missing_is_named_with_what_may_stand_for_it(shell, arguments, told):
    assert shell(*arguments) == (2, "", f"error: {told} Try --help. [usage]\n")


def test_a_misspelt_option_that_is_needed_names_the_right_one(shell):
    code, _, err = shell("runtime", "add", "x", "--targe", "user")
    assert code == 2
    assert "--target instead of --targe" in err


@pytest.mark.parametrize("command", [(), ("runtime",), ("spaces",)], ids=" ".join)
def test_help_has_an_example_and_no_default_of_switches(shell, command):
    assert "Example: dsh-mnemon" in shell(*command, "--help")[1]
    for of in (("remember",), ("documents", "search"), ("spaces", "create")):
        code, out, _ = shell(*of, "--help")
        assert code == 0
        assert "default: False" not in out
        assert 'default: ""' not in out
    assert "default: 3" in shell("remember", "--help")[1]


def test_a_text_that_looks_like_an_option_gets_a_hint(shell):
    code, _, err = shell("runtime", "add", "--target", "user", "--dashed text")
    assert code == 2
    assert "Put -- before" in err


class Full(io.StringIO):
    """A stream that takes nothing."""

    encoding = "utf-8"

    def write(self, _text):
        raise OSError(28, "No space left on device")


@pytest.mark.requirement("host:cli:streams")
@pytest.mark.parametrize("options", [(), ("--json",)], ids=["text", "json"])
def test_an_answer_that_cannot_be_written_exits_with_1(shell, monkeypatch, options):
    monkeypatch.setattr(sys, "stdout", Full())
    assert main(["runtime", "list", *options], default_profile=shell.profile) == 1
    err = shell.capsys.readouterr().err
    assert err == "error: cannot write the answer: No space left on device\n"
    monkeypatch.setattr(sys, "stderr", Full())
    assert main(["runtime", "list", *options], default_profile=shell.profile) == 1
    assert main(["runtime", "list", "--nonesuch"], default_profile=shell.profile) == 1


@pytest.mark.requirement("host:cli:streams")
@pytest.mark.parametrize(
    ("error", "told", "details"),
    [
        (OSError(24, "Too many open files"), "Too many open files", {"reason": "EMFILE"}),
        (
            PermissionError(13, "Permission denied", "/somewhere"),
            "Permission denied: /somewhere",
            {"reason": "EACCES", "file": "/somewhere"},
        ),
        (TimeoutError("too late"), "too late", {"reason": "TimeoutError"}),
    ],
)
def test_an_error_of_the_file_system_is_not_taken_for_one_of_the_answer(
    shell, monkeypatch, error, told, details
):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(entry, "build_app", failing)
    code, out, err = shell("status")
    assert (code, out) == (1, "")
    assert err == f"error: file system error: {told} [file-system-error]\n"
    found = shell.json("status", code=1)["error"]
    assert (found["code"], found["details"]) == ("file-system-error", details)


def test_help_and_version_exit_with_0(shell):
    code, out, _ = shell("--version")
    assert code == 0
    assert out.strip().count(".") >= 2
    code, out, _ = shell("--help")
    assert code == 0
    for command in ("context", "mcp", "serve", "status", "doctor", "runtime"):
        assert command in out


@pytest.mark.requirement("host:cli:exit-codes")
def test_a_refusal_exits_with_1_as_text_or_json(shell):
    remove = ("runtime", "remove", "--target", "user", "nothing like it")
    code, out, err = shell(*remove)
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert err.rstrip().endswith("]")
    error = shell.json(*remove, code=1)["error"]
    assert set(error) >= {"code", "message"}


def test_json_behind_the_dashes_is_text(shell):
    code, out, err = shell("runtime", "remove", "--target", "user", "--", "--json")
    assert (code, out) == (1, "")
    assert err.startswith("error: ")
    assert shell("runtime", "add", "--target", "user", "--", "--json")[0] == 0


def test_without_arguments_the_process_own_ones_count(shell, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["dsh-mnemon", "runtime", "list", "--json"])
    assert main(default_profile=shell.profile) == 0
    assert json.loads(shell.capsys.readouterr().out)["entries"] == []


def test_an_interrupt_exits_with_130(shell, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "build_app", interrupted)
    assert shell("status")[0] == 130


def test_a_reader_that_went_away_is_no_failure_to_tell(shell, monkeypatch, tmp_path):
    def broken(*_, **__):
        raise BrokenPipeError

    monkeypatch.setattr(entry, "build_app", broken)
    with (tmp_path / "out").open("w", encoding="utf-8") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert main(["status"], default_profile=shell.profile) == 1
        gone.write("into nothing")
    assert (tmp_path / "out").read_text(encoding="utf-8") == ""


def test_a_command_without_a_result_is_well(shell, monkeypatch):
    monkeypatch.setattr(entry, "build_app", lambda *_, **__: lambda _tokens: None)
    assert shell("status")[0] == 0


EVERY_PACKAGE = """\
version: 1
entries:
  - {id: mnemon, module: dsh_mnemon_host}
  - {id: mnemon-source-runtime, module: dsh_mnemon_source_runtime}
  - {id: mnemon-source-documents, module: dsh_mnemon_source_documents}
  - id: mnemon-source-memory-spaces
    module: dsh_mnemon_source_memory_spaces
    config:
      providers: [dsh_mnemon_provider_mnemon_native, dsh_mnemon_provider_holographic]
  - {id: mnemon-strategy-default-three-tier, module: dsh_mnemon_strategy_default_three_tier}
"""

ENGINES = {
    "dsh_mnemon_provider_mnemon_native._compatible",
    "dsh_mnemon_provider_mnemon_native._engine",
    "dsh_mnemon_provider_mnemon_native._hybrid",
    "dsh_mnemon_provider_holographic._engine",
    "httpx",
    "numpy",
}
"""What only a Space that is asked needs."""

ON_DEMAND = ENGINES | {
    "dsh_mnemon_host.cli.spaces",
    "dsh_mnemon_host.composition.composition",
    "dsh_mnemon_host.tools.catalog",
    "dsh_mnemon_host.transfer",
    "dsh_mnemon_source_documents._library",
    "dsh_mnemon_source_documents._manage",
    "dsh_mnemon_source_memory_spaces._execute",
    "dsh_mnemon_source_memory_spaces._manage",
    "dsh_mnemon_source_memory_spaces._memory",
    "dsh_mnemon_source_memory_spaces._query",
    "dsh_mnemon_strategy_default_three_tier._turn",
    "jsonschema",
    "mcp",
    "sqlite3",
    "uvicorn",
}
"""What working memory does without, although every package is mounted."""


@pytest.mark.requirement("host:cli:light")
@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (["runtime", "list"], ON_DEMAND),
        (["runtime", "add", "--target", "user", "x"], ON_DEMAND),
        (["context"], ENGINES),
        (["recall", "x"], ENGINES),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_uses(shell, arguments, absent):
    shell.profile.write_text(EVERY_PACKAGE, encoding="utf-8")
    program = f"""
import json, linecache, sys
from pathlib import Path

before = set(sys.modules)  # whoever measures what runs is here already
from dsh_mnemon_host.cli.main import main

assert main({arguments!r}, default_profile=Path({str(shell.profile)!r})) == 0
assert "dsh_mnemon_provider_mnemon_native.provider" in sys.modules, "not everything is mounted"
imported = sorted({absent!r} & set(sys.modules) - before)
# Descriptions come from the source, which is read only where they are shown.
read = [name for name in linecache.cache if name.endswith(".py") and "dsh_mnemon" in name]
print(json.dumps([imported, read]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout.splitlines()[-1]) == [[], []]


@pytest.mark.requirement("host:cli:light")
def test_garbage_is_looked_for_seldom_during_a_command(shell, monkeypatch):
    usual = gc.get_threshold()
    during = []
    monkeypatch.setattr(
        entry, "build_app", lambda *_, **__: lambda _tokens: during.append(gc.get_threshold())
    )
    assert shell("status")[0] == 0
    assert during[0][0] > 10 * usual[0]
    assert gc.get_threshold() == usual


@pytest.mark.requirement("host:cli:light")
def test_what_is_left_when_the_process_ends_is_not_looked_through(shell):
    program = """
import atexit, gc
from dsh_mnemon_host.cli.main import main

atexit.register(lambda: print("frozen:", gc.get_freeze_count() > 1_000))
main(["--version"])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.endswith("frozen: True\n")

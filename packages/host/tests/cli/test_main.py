"""Dispatch and exit codes of the command."""

import json
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


def test_a_text_that_looks_like_an_option_gets_a_hint(shell):
    code, _, err = shell("runtime", "add", "--target", "user", "--dashed text")
    assert code == 2
    assert "Put -- before" in err


def test_an_answer_that_cannot_be_written_exits_with_1(shell, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(entry, "build_app", full)
    code, out, err = shell("status")
    assert (code, out) == (1, "")
    assert err == "error: cannot write the answer: No space left on device\n"


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

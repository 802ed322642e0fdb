"""The command in process: exit codes, what is printed, and the shapes of its JSON."""

import io
import json
import logging
import os
import stat
import sys
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError, InputError
from dsh_mnemon_host.cli import invocation, output
from dsh_mnemon_host.cli import main as entry
from dsh_mnemon_host.cli.invocation import Common, profile_path
from dsh_mnemon_host.cli.main import main

PROFILE = """\
version: 1
entries:
  - {id: mnemon, module: dsh_mnemon_host}
  - {id: mnemon-source-runtime, module: dsh_mnemon_source_runtime}
  - {id: strategy, module: dsh_mnemon_strategy_default_three_tier}
"""


@pytest.fixture(autouse=True)
def quiet():
    """Take back what the command sets for its whole process."""
    logger = logging.getLogger("dsh_mnemon_core")
    level = logger.level
    yield
    logger.setLevel(level)


class Shell:
    """A person at a terminal."""

    def __init__(self, tmp_path, capsys, monkeypatch):
        self.folder = tmp_path / "workspace"
        self.folder.mkdir()
        self.profile = tmp_path / "default.yaml"
        self.profile.write_text(PROFILE, encoding="utf-8")
        self.data = tmp_path / "data"
        self.settings = tmp_path / "config" / "dsh-mnemon" / "settings.yaml"
        self.capsys = capsys
        for name in [name for name in os.environ if name.startswith("MNEMON")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("MNEMON_DATA_DIR", str(self.data))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
        monkeypatch.setenv("COLUMNS", "200")
        monkeypatch.chdir(self.folder)

    def __call__(self, *arguments, profile=...):
        """Run it and return exit code, standard output and standard error."""
        default = self.profile if profile is ... else profile
        code = main([str(item) for item in arguments], default_profile=default)
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    def json(self, *arguments, code=0):
        found, out, err = self(*arguments, "--json")
        assert (found, err) == (code, "")
        return json.loads(out)

    def configure(self, text):
        self.settings.parent.mkdir(parents=True, exist_ok=True)
        self.settings.write_text(text, encoding="utf-8")


@pytest.fixture
def shell(tmp_path, capsys, monkeypatch):
    return Shell(tmp_path, capsys, monkeypatch)


# -- dispatch -------------------------------------------------------------------------------------


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
    def interrupted(**_):
        raise KeyboardInterrupt

    monkeypatch.setattr(entry, "build_app", interrupted)
    assert shell("status")[0] == 130


def test_a_reader_that_went_away_is_no_failure_to_tell(shell, monkeypatch, tmp_path):
    def broken(**_):
        raise BrokenPipeError

    monkeypatch.setattr(entry, "build_app", broken)
    with (tmp_path / "out").open("w", encoding="utf-8") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert main(["status"], default_profile=shell.profile) == 1
        gone.write("into nothing")
    assert (tmp_path / "out").read_text(encoding="utf-8") == ""


def test_a_command_without_a_result_is_well(shell, monkeypatch):
    monkeypatch.setattr(entry, "build_app", lambda **_: lambda _tokens: None)
    assert shell("status")[0] == 0


# -- profile and printing -------------------------------------------------------------------------


def test_a_named_profile_brings_its_own_settings(shell, tmp_path, monkeypatch):
    named = tmp_path / "named" / "mine.yaml"
    named.parent.mkdir()
    named.write_text(PROFILE, encoding="utf-8")
    for how in ("option", "variable", "home"):
        options = ("--profile", named) if how == "option" else ()
        if how == "variable":
            monkeypatch.setenv("MNEMON_PROFILE", f" {named} ")
        if how == "home":
            monkeypatch.setenv("HOME", str(tmp_path))
            monkeypatch.setenv("MNEMON_PROFILE", "~/named/mine.yaml")
        status = shell.json("status", *options)
        assert status["profile"] == str(named)
        assert status["settings"]["path"] == str(named.parent / "settings.yaml")
    monkeypatch.delenv("MNEMON_PROFILE")
    assert shell.json("status")["settings"]["path"] == str(shell.settings)


def test_without_any_profile_it_says_what_to_do(shell):
    code, _, err = shell("status", profile=None)
    assert code == 1
    assert "--profile" in err
    assert "profile-required" in err
    invocation.DEFAULT_PROFILE.set(None)
    with pytest.raises(ConfigurationError):
        profile_path(Common())


def test_what_the_terminal_cannot_show_is_escaped(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    output.print_text("naïve 😀 \udcff")
    assert raw.getvalue() == b"na\\xefve \\U0001f600 \\udcff\n"
    raw, silent = io.BytesIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", silent)
    output.print_json({"ü": [1]})
    assert silent.getvalue() == '{\n  "ü": [\n    1\n  ]\n}\n'


def test_errors_are_text_or_one_document(capsys):
    error = InputError("some-code", "Something.", details={"field": "x"})
    output.print_error(error, as_json=False)
    output.print_error(error, as_json=True)
    out, err = capsys.readouterr()
    assert err == "error: Something. [some-code]\n"
    assert json.loads(out) == {
        "error": {"code": "some-code", "message": "Something.", "details": {"field": "x"}}
    }


# -- runtime --------------------------------------------------------------------------------------


@pytest.mark.requirement("host:cli:runtime")
def test_entries_are_added_listed_replaced_and_removed(shell):
    code, out, _ = shell("runtime", "add", "--target", "user", "Prefers short answers")
    assert (code, out) == (0, "Entry added. (21 of 4096 bytes used)\n")
    shell("runtime", "add", "--target", "memory", "Build with nox", "--importance", "critical",
          "--branch", "main", "--branch", "next")  # fmt: skip
    shell("runtime", "add", "--target", "memory", "Passing", "--importance", "low")
    code, out, _ = shell("runtime", "list")
    assert code == 0
    assert out.splitlines() == [
        "MEMORY.md: 2 entries, 25 of 10240 bytes",
        "  ! Build with nox [main, next]",
        "  - Passing",
        "",
        "USER.md: 1 entries, 21 of 4096 bytes",
        "  * Prefers short answers",
    ]
    replaced = shell.json("runtime", "replace", "--target", "user", "short", "Prefers tea")
    assert replaced["replaced"] == {"from": "Prefers short answers", "to": "Prefers tea"}
    removed = shell.json("runtime", "remove", "--target", "memory", "Passing")
    assert set(removed) == {
        "success", "message", "target", "entryCount", "usage", "removed", "revision",
    }  # fmt: skip
    listed = shell.json("runtime", "list", "--target", "user")
    assert [entry["content"] for entry in listed["entries"]] == ["Prefers tea"]
    assert list(listed["targets"]) == ["user"]


def test_options_may_stand_before_and_behind_the_text(shell):
    shell("runtime", "add", "--target=user", "--", "-starts with a dash")
    assert shell.json("runtime", "list")["entries"][0]["content"] == "-starts with a dash"


@pytest.mark.requirement("host:cli:archived")
def test_a_full_memory_moves_to_the_archive_and_says_so(shell):
    shell.configure("runtimeMemory: {memoryLimitBytes: 60}\n")
    code, out, _ = shell("runtime", "archived")
    assert (code, out) == (0, "Nothing.\n")
    shell("runtime", "add", "--target", "memory", "The first fact of this project")
    code, out, _ = shell("runtime", "add", "--target", "memory", "The second fact of this project")
    assert code == 0
    assert "1 older entry moved" in out
    page = shell.json("runtime", "archived", "--limit", "5")
    assert [entry["content"] for entry in page["entries"]] == ["The first fact of this project"]
    _, out, _ = shell("runtime", "archived")
    assert out.endswith("  The first fact of this project\n")
    error = shell.json("runtime", "archived", "--limit", "0", code=1)["error"]
    assert error["code"] == "integer-range"


def test_a_full_profile_hands_the_text_back(shell):
    shell.configure("runtimeMemory: {userLimitBytes: 30}\n")
    shell("runtime", "add", "--target", "user", "Prefers short answers")
    error = shell.json("runtime", "add", "--target", "user", "Lives in Berlin", code=1)["error"]
    assert error["code"] == "model-unavailable"
    assert error["details"]["pending"]["content"] == "Lives in Berlin"


@pytest.mark.requirement("host:layer:off")
def test_a_layer_that_is_off_is_neither_read_nor_written(shell, tmp_path):
    shell("runtime", "add", "--target", "user", "x")
    shell.configure("memoryTopology: {layers: {runtime: {enabled: false}}}\n")
    edited = tmp_path / "USER.md"
    edited.write_text("y\n", encoding="utf-8")
    for arguments in (
        ("list",),
        ("archived",),
        ("adopt", edited),
        ("add", "--target", "user", "z"),
    ):
        assert shell.json("runtime", *arguments, code=1)["error"]["code"] == "layer-off"
    status = shell.json("status")
    assert status["runtime"]["targets"]["user"]["entryCount"] == 1


@pytest.fixture
def edited(shell):
    """A USER.md that a person changed: one line replaced, one added."""
    shell("runtime", "add", "--target", "user", "Prefers dark theme")
    file = shell.data / "runtime" / "USER.md"
    file.write_text("Prefers a dark theme\n§\nSpeaks Chinese\n", encoding="utf-8")
    return file


DIFFERENCES = "- Prefers dark theme\n+ Prefers a dark theme\n+ Speaks Chinese\n"


@pytest.mark.requirement("host:cli:adopt")
def test_adopt_shows_and_applies_nothing_without_consent(shell, edited):
    shown = shell.json("runtime", "adopt", edited)
    assert set(shown) == {"differences", "applied", "failed", "kept"}
    assert (shown["applied"], shown["failed"], shown["kept"]) == (0, [], [])
    assert [item["kind"] for item in shown["differences"]] == ["replace", "add"]
    assert len(shell.json("runtime", "list")["entries"]) == 1


@pytest.mark.requirement("host:cli:adopt")
def test_what_was_shown_from_the_stores_own_file_is_kept_and_named(shell, edited):
    code, out, _ = shell("runtime", "adopt", edited)
    assert (code, out) == (0, DIFFERENCES)
    [copy] = (edited.parent / "edited").iterdir()
    code, out, _ = shell("runtime", "adopt", edited, "--yes")
    assert (code, out) == (0, f"Nothing differs.\nAn edit is kept in {copy}\n")
    assert shell.json("runtime", "adopt", edited)["kept"] == [str(copy)]
    code, out, _ = shell("runtime", "adopt", copy, "--yes")
    assert (code, out) == (0, DIFFERENCES + "2 of 2 changes applied.\n")
    assert shell.json("doctor")["healthy"] is True


@pytest.mark.requirement("host:cli:adopt")
@pytest.mark.parametrize("answer", ["y", " YES ", "n", ""])
def test_adopt_asks_a_person_at_a_terminal(shell, edited, monkeypatch, answer):
    terminal = io.StringIO(answer + "\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, out, _ = shell("runtime", "adopt", edited)
    assert code == 0
    agreed = answer.strip().lower() in ("y", "yes")
    assert ("2 of 2 changes applied." in out) is agreed
    contents = [entry["content"] for entry in shell.json("runtime", "list")["entries"]]
    assert (contents == ["Prefers a dark theme", "Speaks Chinese"]) is agreed


def test_adopt_applies_what_it_can_and_names_the_rest(shell, edited, tmp_path):
    mine = tmp_path / "USER-mine.md"
    mine.write_text("Prefers dark theme\n§\nFine\n§\n" + "x" * 8193 + "\n", encoding="utf-8")
    code, out, _ = shell("runtime", "adopt", mine, "--yes")
    assert code == 1
    assert "(would be refused: " in out
    assert "1 of 2 changes applied." in out
    assert "not applied: " in out
    again = shell.json("runtime", "adopt", mine, "--yes", code=1)
    assert (again["applied"], len(again["failed"])) == (0, 1)
    assert set(again["failed"][0]) == {"mutation", "error"}


def test_adopt_of_an_unchanged_file_changes_nothing(shell, edited):
    shell("runtime", "adopt", edited, "--yes")
    code, out, _ = shell("runtime", "adopt", edited, "--yes")
    assert (code, out) == (0, "Nothing differs.\n")


def test_adopt_knows_the_target_by_the_name_or_asks_for_it(shell, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("Build with nox\n", encoding="utf-8")
    error = shell.json("runtime", "adopt", file, code=1)["error"]
    assert error["code"] == "target-required"
    shell.json("runtime", "adopt", file, "--target", "memory", "--yes")
    copy = tmp_path / "MEMORY-20260301T120000Z.md"
    copy.write_text("Build with nox\n§\nUse uv\n", encoding="utf-8")
    shell.json("runtime", "adopt", copy, "--yes")
    entries = shell.json("runtime", "list")["entries"]
    assert [(entry["target"], entry["content"]) for entry in entries] == [
        ("memory", "Build with nox"),
        ("memory", "Use uv"),
    ]


@pytest.mark.parametrize("content", [None, b"\xff"], ids=["missing", "not UTF-8"])
def test_adopt_of_what_cannot_be_read_is_refused(shell, tmp_path, content):
    file = tmp_path / "USER.md"
    if content is not None:
        file.write_bytes(content)
    error = shell.json("runtime", "adopt", file, code=1)["error"]
    assert error["code"] == "file-unreadable"
    assert str(file) in error["message"]


# -- status and doctor ----------------------------------------------------------------------------


def levels(report):
    return {(item["check"], item["level"]) for item in report["findings"]}


@pytest.mark.requirement("host:cli:status")
def test_status_has_a_stable_shape(shell):
    shell("runtime", "add", "--target", "user", "Prefers short answers")
    status = shell.json("status")
    assert list(status) == [
        "profile", "version", "workspace", "storage", "writeEnabled", "composition", "rows",
        "sources", "settings", "harnesses", "runtime",
    ]  # fmt: skip
    assert status["workspace"] == {"path": str(shell.folder), "isWorktree": False}
    assert status["storage"] == {
        "scope": "global",
        "root": str(shell.data),
        "userRoot": str(shell.data),
        "places": [
            {"path": str(shell.data), "state": "ready"},
            {"path": str(shell.data / "runtime"), "state": "ready"},
        ],
    }
    assert [row["state"] for row in status["rows"]] == ["active"] * 3
    assert status["settings"] == {"path": str(shell.settings), "writable": True, "unknown": []}


def test_status_reads_like_a_page(shell, tmp_path):
    shell("runtime", "add", "--target", "user", "Prefers short answers")
    _, out, _ = shell("status")
    assert out.splitlines()[1:] == [
        f"workspace   {shell.folder}",
        f"storage     global: {shell.data}",
        f"profile     {shell.profile}",
        f"settings    {shell.settings}",
        "writes      on",
        "composition ready (strategy:strategy)",
        "  row       mnemon: active",
        "  row       mnemon-source-runtime: active",
        "  row       strategy: active",
        "  source    source:mnemon-source-runtime: ready",
        "  MEMORY.md 0 entries, 0 of 10240 bytes",
        "  USER.md   1 entries, 21 of 4096 bytes",
    ]


def test_status_shows_what_is_unusual(shell, edited, tmp_path):
    git = tmp_path / "main" / ".git" / "worktrees" / "x"
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n", encoding="utf-8")
    (shell.folder / ".git").write_text(f"gitdir: {git}\n", encoding="utf-8")
    shell.configure("storageScope: workspace\nruntimeUserScope: global\nwriteEnabled: false\n")
    (shell.folder / ".mnemon").write_text("in the way", encoding="utf-8")
    shell.profile.write_text(
        PROFILE + "  - {id: gone, module: dsh_mnemon_nonesuch}\n", encoding="utf-8"
    )
    _, out, _ = shell("status")
    assert f"workspace   {shell.folder} (linked git worktree)" in out
    assert f"USER.md     {shell.data}" in out
    assert "writes      off (writeEnabled: false)" in out
    assert f"  storage   {shell.folder / '.mnemon'}: blocked" in out
    assert "  row       gone: absent - " in out
    assert "source:mnemon-source-runtime: unavailable" in out


def test_status_names_hand_edits(shell, edited):
    _, out, _ = shell("status")
    [copy] = (edited.parent / "edited").iterdir()
    assert f"  edited    {copy} by hand; see `dsh-mnemon doctor`" in out


@pytest.mark.requirement("host:cli:doctor")
def test_doctor_is_content_with_a_fresh_start(shell):
    report = shell.json("doctor")
    assert report["healthy"] is True
    assert {item["level"] for item in report["findings"]} == {"ok"}
    code, out, _ = shell("doctor")
    assert code == 0
    assert out.endswith("Everything is well.\n")
    assert "->" not in out


@pytest.mark.requirement("host:cli:doctor")
def test_doctor_names_what_is_wrong_and_how_to_mend_it(shell):
    folder = shell.data / "runtime"
    folder.mkdir(parents=True)
    (folder / "memories.json").write_text("{", encoding="utf-8")
    report = shell.json("doctor", code=1)
    assert report["healthy"] is False
    assert ("source", "error") in levels(report)
    code, out, _ = shell("doctor")
    assert code == 1
    assert f"error    source: {folder / 'memories.json'}: " in out
    assert "         -> The file was left as found." in out
    assert out.endswith("1 to look at.\n")


@pytest.mark.requirement("host:cli:doctor")
@pytest.mark.parametrize(
    ("settings", "subject"),
    [("a: [\n", "settings.yaml"), ("timeoutMs: soon\n", "timeoutMs")],
    ids=["malformed", "wrong value"],
)
def test_doctor_explains_why_nothing_opens(shell, settings, subject):
    shell.configure(settings)
    report = shell.json("doctor", code=1)
    [finding] = report["findings"]
    assert (finding["check"], finding["level"]) == ("start", "error")
    assert subject in finding["subject"] + finding["message"]
    assert shell.json("status", code=1)["error"]["code"] == finding["code"]
    assert shell.settings.read_text(encoding="utf-8") == settings


def test_doctor_warns_of_a_hand_edit_and_an_unknown_key(shell, edited):
    shell.configure("writeEnabeld: true\n")
    report = shell.json("doctor")
    assert report["healthy"] is True
    assert {("edits", "warning"), ("settings", "warning")} <= levels(report)
    _, out, _ = shell("doctor")
    [copy] = (edited.parent / "edited").iterdir()
    assert f"dsh-mnemon runtime adopt {copy}" in out
    assert "Did you mean writeEnabled?" in out
    assert out.endswith("2 to look at.\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_doctor_names_a_folder_that_cannot_be_written(shell):
    shell.data.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    assert ("storage", "error") in levels(shell.json("doctor", code=1))


def test_the_default_profile_of_another_run_is_not_remembered(shell, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("version: 1\nentries: []\n", encoding="utf-8")
    assert shell("status", "--json", profile=other)[0] == 0
    assert len(shell.json("status")["rows"]) == 3
    assert isinstance(profile_path(Common())[0], Path)

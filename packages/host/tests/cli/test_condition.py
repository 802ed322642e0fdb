"""``dsh-mnemon status`` and ``dsh-mnemon doctor``."""

import json
import os
import stat

import pytest


def levels(report):
    return {(item["check"], item["level"]) for item in report["findings"]}


@pytest.mark.requirement("host:cli:status")
def test_status_has_a_stable_shape(shell):
    shell("runtime", "add", "--target", "user", "Prefers short answers")
    status = shell.json("status")
    assert list(status) == [
        "profile", "version", "workspace", "storage", "writeEnabled", "composition", "rows",
        "sources", "settings", "harnesses", "runtime", "stores",
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
    with shell.profile.open("a", encoding="utf-8") as profile:
        profile.write("  - {id: gone, module: dsh_mnemon_nonesuch}\n")
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


@pytest.mark.requirement("host:settings:unknown")
def test_a_key_that_no_setting_has_is_said_by_every_command_that_opens_memory(shell):
    shell.configure("storageScop: workspace\nqqqqqq: 1\n")
    line = (
        f"warning: {shell.settings} has keys that no setting has; they are kept and ignored: "
        "storageScop (did you mean storageScope?), qqqqqq\n"
    )
    for arguments in (
        ("runtime", "list"),
        ("runtime", "add", "--target", "memory", "x"),
        ("context",),
        ("compose", "list"),
    ):
        code, _, err = shell(*arguments)
        assert (code, err) == (0, line), arguments
    _, out, err = shell("runtime", "list", "--json")
    assert json.loads(out)["entries"]
    assert err == line
    assert "storageScop: workspace" in shell.settings.read_text(encoding="utf-8")


@pytest.mark.requirement("host:settings:unknown")
def test_status_and_doctor_tell_unknown_keys_themselves(shell):
    shell.configure("storageScop: workspace\n")
    told = {"key": "storageScop", "nearest": "storageScope"}
    assert shell.json("status")["settings"]["unknown"] == [told]
    _, out, err = shell("status")
    assert "  unknown   storageScop (did you mean storageScope?) in the settings: " in out
    assert err == ""
    _, out, err = shell("doctor")
    assert "storageScop" in out
    assert err == ""


def test_a_location_that_is_missing_is_asked_for_with_the_file(shell):
    shell.configure("storageScope: custom\n")
    code, _, err = shell("runtime", "list")
    assert code == 1
    assert err.startswith(f"error: {shell.settings}: dataDir is required while storageScope is ")
    assert "pack" not in err.lower()


@pytest.mark.requirement("host:cli:doctor")
def test_doctor_and_status_give_the_same_reason_for_a_source_that_is_not_ready(whole):
    reason = "source:mnemon-source-memory-spaces is degraded: no Memory Space is active yet"
    found = whole.json("doctor", code=1)["findings"]
    [spaces] = [item for item in found if item["check"] == "source" and item["level"] != "ok"]
    assert (spaces["level"], spaces["code"]) == ("warning", "source-degraded")
    assert spaces["message"] == reason
    assert "`dsh-mnemon spaces create NAME`" in spaces["remedy"]
    _, out, _ = whole("status")
    assert f"degraded - no Memory Space is active yet. {spaces['remedy']}" in out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_doctor_names_a_folder_that_cannot_be_written(shell):
    shell.data.mkdir(mode=stat.S_IRUSR | stat.S_IXUSR)
    assert ("storage", "error") in levels(shell.json("doctor", code=1))

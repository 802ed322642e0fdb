"""Which profile and which settings one run of the command uses."""

import shutil
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_host.cli import invocation
from dsh_mnemon_host.cli.invocation import Common, profile_path


def test_a_named_profile_brings_its_own_settings(shell, tmp_path, monkeypatch):
    named = tmp_path / "named" / "mine.yaml"
    named.parent.mkdir()
    shutil.copy(shell.profile, named)
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


def test_the_default_profile_of_another_run_is_not_remembered(shell, tmp_path):
    other = tmp_path / "other.yaml"
    other.write_text("version: 1\nentries: []\n", encoding="utf-8")
    assert shell("status", "--json", profile=other)[0] == 0
    assert len(shell.json("status")["rows"]) == 3
    assert isinstance(profile_path(Common())[0], Path)


def test_a_workspace_that_is_no_folder_is_refused(shell, tmp_path):
    error = shell.json("status", "--workspace", tmp_path / "missing", code=1)["error"]
    assert error["code"] == "workspace-missing"
    assert str(tmp_path / "missing") in error["message"]
    assert not shell.data.exists()


@pytest.mark.requirement("host:cli:streams")
def test_a_workspace_that_cannot_be_looked_at_is_named(shell):
    error = shell.json("status", "--workspace", "a" * 300, code=1)["error"]
    assert error["code"] == "workspace-unreadable"
    assert error["details"] == {"workspace": "a" * 300, "reason": "ENAMETOOLONG"}
    assert "a" * 300 in error["message"]


@pytest.mark.requirement("host:layout:home")
@pytest.mark.parametrize("how", ["option", "variable"])
def test_a_profile_at_home_needs_a_home(shell, monkeypatch, how):
    monkeypatch.setenv("HOME", "rel")
    options = ("--profile", "~/mine.yaml") if how == "option" else ()
    if how == "variable":
        monkeypatch.setenv("MNEMON_PROFILE", "~/mine.yaml")
    assert shell.json("status", *options, code=1)["error"]["code"] == "home-missing"
    assert not (shell.folder / "rel").exists()


def test_a_plugin_that_prints_while_it_loads_does_not_spoil_the_document(
    shell, tmp_path, monkeypatch
):
    (tmp_path / "loud_plugin.py").write_text(
        "from dsh_mnemon_core.fiber import Plugin\n"
        "print('hello from a plugin')\n"
        "plugin = Plugin(name='loud', apply=lambda _ctx, _config: None)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    with shell.profile.open("a", encoding="utf-8") as profile:
        profile.write("  - {id: loud, module: loud_plugin}\n")
    code, out, err = shell("status", "--json")
    assert code == 0
    assert '"loud"' in out
    assert err == "hello from a plugin\n"

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

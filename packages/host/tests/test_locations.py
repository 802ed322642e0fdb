"""Which directory is home, and what lies in it."""

import os
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_host import MemoryHost
from dsh_mnemon_host.config import HostConfig, home_directory, resolve
from dsh_mnemon_host.settings import settings_path

pwd = pytest.importorskip("pwd", reason="accounts are looked up elsewhere on Windows")


AT_HOME = {"dataDir": "~/notes"}


@pytest.fixture
def nobody(monkeypatch):
    """An account that the user database does not know, without HOME."""

    def unknown(_uid):
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "MNEMON_DATA_DIR", "MNEMON_PROFILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.requirement("host:layout:home")
@pytest.mark.parametrize("env", [{}, {"HOME": ""}], ids=["unset", "empty"])
def test_without_a_home_variable_the_account_says_where_home_is(env, monkeypatch):
    own = pwd.getpwuid(os.getuid()).pw_dir
    assert home_directory({"HOME": "/somewhere"}) == Path("/somewhere")
    assert home_directory(env) == Path(own)
    monkeypatch.setenv("HOME", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert settings_path() == Path(own, ".config", "dsh-mnemon", "settings.yaml")
    assert resolve(HostConfig(), {}, lambda: home_directory(env)).global_root == Path(
        own, ".mnemon"
    )


@pytest.mark.requirement("host:layout:home")
@pytest.mark.parametrize("told", ["rel", ".", "~", "./a"])
def test_a_relative_home_is_refused(told, monkeypatch):
    with pytest.raises(ConfigurationError) as caught:
        home_directory({"HOME": told})
    assert caught.value.code == "home-missing"
    assert repr(told) in caught.value.message
    monkeypatch.setenv("HOME", told)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(ConfigurationError) as caught:
        settings_path()
    assert caught.value.code == "home-missing"


@pytest.mark.requirement("host:layout:home")
@pytest.mark.parametrize("known", [{}, {"MNEMON_DATA_DIR": "/data"}], ids=["nothing", "data"])
def test_without_any_home_it_says_what_to_set(nobody, known):
    with pytest.raises(ConfigurationError) as caught:
        settings_path()
    assert caught.value.code == "home-missing"
    for name in ("HOME", "MNEMON_DATA_DIR", "MNEMON_PROFILE", "--profile"):
        assert name in caught.value.message
    with pytest.raises(ConfigurationError):
        resolve(HostConfig.model_validate(AT_HOME), known, lambda: home_directory({}))


@pytest.mark.requirement("host:layout:home")
def test_where_nothing_lies_at_home_no_home_is_needed(nobody):
    resolved = resolve(
        HostConfig(), {"MNEMON_DATA_DIR": "/data"}, lambda: home_directory(os.environ)
    )
    assert resolved.global_root == Path("/data")
    assert resolved.dsh_home is None
    env = {"MNEMON_DATA_DIR": "/data", "DSH_HOME": "/dsh"}
    assert resolve(HostConfig(), env, lambda: home_directory({})).dsh_home == Path("/dsh")
    assert settings_path(Path("/team/profile.yaml")) == Path("/team/settings.yaml")


@pytest.mark.requirement("host:layout:home")
async def test_a_host_opens_without_a_home_and_says_so_where_it_needs_one(home, nobody):
    async with home.open(home=None) as host:
        assert host.live.current.layout.root == home.data
    with pytest.raises(ConfigurationError) as caught:
        async with home.open(home=None, env={}):
            pytest.fail("memory would lie nowhere")
    assert caught.value.code == "home-missing"
    with pytest.raises(ConfigurationError) as caught:
        async with MemoryHost.open(profile=home.workspace / "profile.yaml"):
            pytest.fail("there is no place for the settings")
    assert caught.value.code in ("home-missing", "profile-unreadable", "profile-missing")

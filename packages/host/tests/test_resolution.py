from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_host.config import HostConfig, absolute, expand, merge, read_strict, resolve

_HOME = "/home/u"


def _resolved(document=None, env=None, **kwargs):
    return resolve(read_strict(HostConfig, document or {}), env or {}, _HOME, **kwargs)


def _pack(id, data_dir):
    return {"id": id, "name": id.upper(), "dataDir": data_dir}


def test_nothing_configured():
    resolved = _resolved()
    assert resolved.storage_scope == "global"
    assert resolved.data_dir is None
    assert resolved.custom_packs == ()
    assert resolved.selected_pack is None
    assert resolved.global_root == Path("/home/u/.mnemon")
    assert resolved.dsh_home == Path("/home/u/.dsh")
    assert resolved.cli_path is None
    assert resolved.store is None
    assert resolved.strategy_type_id == "default-three-tier"


@pytest.mark.requirement("host:config:legacy")
def test_a_location_alone_means_custom_and_a_legacy_pack():
    resolved = _resolved({"dataDir": "~/notes"})
    assert resolved.storage_scope == "custom"
    assert resolved.data_dir == Path("/home/u/notes")
    assert [(p.id, p.name, p.data_dir) for p in resolved.custom_packs] == [
        ("legacy", "Custom Pack", "~/notes")
    ]
    assert resolved.selected_pack == resolved.custom_packs[0]


def test_the_legacy_pack_takes_the_first_free_id():
    packs = [_pack("legacy", "/a"), _pack("legacy-2", "/b")]
    resolved = _resolved({"customPacks": packs, "dataDir": "/c"})
    assert [pack.id for pack in resolved.custom_packs] == ["legacy", "legacy-2", "legacy-3"]
    assert resolved.data_dir == Path("/c")


def test_a_pack_with_the_same_location_is_selected_instead():
    resolved = _resolved({"customPacks": [_pack("a", "/a"), _pack("b", "/b")], "dataDir": "/b"})
    assert [pack.id for pack in resolved.custom_packs] == ["a", "b"]
    assert resolved.selected_pack.id == "b"


def test_the_chosen_pack_wins_over_the_location():
    resolved = _resolved({"customPacks": [_pack("a", "/a")], "dataDir": "/c", "customPackId": "a"})
    assert resolved.data_dir == Path("/a")


def test_the_legacy_pack_may_be_chosen_by_its_id():
    assert _resolved({"dataDir": "/c", "customPackId": "legacy"}).data_dir == Path("/c")


def test_the_only_pack_is_selected():
    resolved = _resolved({"customPacks": [_pack("a", "/a")]})
    assert (resolved.storage_scope, resolved.data_dir) == ("custom", Path("/a"))


def test_a_named_scope_stays_whatever_the_location():
    resolved = _resolved({"storageScope": "workspaces", "dataDir": "/central"})
    assert (resolved.storage_scope, resolved.data_dir) == ("workspaces", Path("/central"))


@pytest.mark.parametrize("packs", [[], [_pack("able", "/a")]])
def test_an_unknown_pack_is_refused(packs):
    with pytest.raises(ConfigurationError) as caught:
        _resolved({"storageScope": "global", "customPacks": packs, "customPackId": "abel"})
    assert (caught.value.code, caught.value.details["key"]) == ("setting-choice", "customPackId")
    assert caught.value.details.get("nearest") == ("able" if packs else None)


@pytest.mark.parametrize(
    "document",
    [{"storageScope": "custom"}, {"customPacks": [_pack("a", "/a"), _pack("b", "/b")]}],
)
def test_custom_without_a_location_is_refused(document):
    with pytest.raises(ConfigurationError) as caught:
        _resolved(document)
    assert (caught.value.code, caught.value.details["key"]) == ("setting-required", "dataDir")
    assert "absolute path" in caught.value.details["accepted"]


def test_environment_variables():
    env = {
        "MNEMON_DATA_DIR": "  ~/elsewhere ",
        "MNEMON_CLI_PATH": "/opt/mnemon",
        "MNEMON_STORE": "work",
        "DSH_HOME": "/srv/dsh/",
    }
    resolved = _resolved(env=env)
    assert resolved.global_root == Path("/home/u/elsewhere")
    assert resolved.dsh_home == Path("/srv/dsh")
    assert (resolved.cli_path, resolved.store) == ("/opt/mnemon", "work")
    resolved = _resolved({"cliPath": "mine", "store": "own"}, env)
    assert (resolved.cli_path, resolved.store) == ("mine", "own")


def test_blank_environment_variables_are_absent():
    names = ("MNEMON_DATA_DIR", "MNEMON_CLI_PATH", "MNEMON_STORE", "DSH_HOME")
    assert _resolved(env=dict.fromkeys(names, "  ")) == _resolved()


def test_a_relative_root_from_the_environment_starts_at_the_current_directory(
    tmp_path, monkeypatch
):
    env = {"MNEMON_DATA_DIR": "memory"}
    assert _resolved(env=env, cwd="/srv").global_root == Path("/srv/memory")
    monkeypatch.chdir(tmp_path)
    assert _resolved(env=env).global_root == tmp_path / "memory"


def test_a_bad_store_in_the_environment_is_refused_unless_a_setting_wins():
    with pytest.raises(ConfigurationError) as caught:
        _resolved(env={"MNEMON_STORE": "a b"})
    assert caught.value.details["key"] == "MNEMON_STORE"
    assert _resolved({"store": "ok"}, {"MNEMON_STORE": "a b"}).store == "ok"


def test_expansion():
    assert expand("~", "/home/u/") == Path("/home/u")
    assert expand("~/a/../b/", "/home/u") == Path("/home/u/b")
    assert expand("~//etc", "/home/u") == Path("/home/u/etc")
    assert expand("//double//slash/", "/home/u") == Path("/double/slash")
    assert absolute("/") == Path("/")
    assert str(absolute("//x")) == "/x"


def test_layers_merge_key_by_key():
    base = {"a": {"x": 1, "y": {"z": 1}}, "b": [1], "c": 1}
    user = {"a": {"y": {"w": 2}}, "b": [2], "d": {"e": 1}}
    assert merge(base, user) == {
        "a": {"x": 1, "y": {"z": 1, "w": 2}}, "b": [2], "c": 1, "d": {"e": 1},
    }  # fmt: skip
    assert merge({"a": 1}, {"a": {"b": 1}}) == {"a": {"b": 1}}
    assert merge({"a": {"b": 1}}, {"a": None}) == {"a": None}

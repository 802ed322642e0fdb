import hashlib
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import InputError, StorageError
from dsh_mnemon_host.config import HostConfig, read_strict, resolve
from dsh_mnemon_host.storage import (
    STORAGES,
    resolve_layout,
    scope_root,
    source_configuration,
)

_HOME = "/home/u"


def _resolved(document=None, env=None):
    return resolve(read_strict(HostConfig, document or {}), env or {}, _HOME)


def _hash(path):
    return hashlib.sha256(str(path).encode("utf-8")).hexdigest()


@pytest.mark.requirement("host:layout:table")
@pytest.mark.parametrize("env", [{}, {"MNEMON_DATA_DIR": "/env/root"}])
@pytest.mark.parametrize(
    ("scope", "data_dir"),
    [
        (scope, data_dir)
        for scope in STORAGES
        for data_dir in (None, "~/data", "/data/../other/")
        if (scope, data_dir) != ("custom", None)
    ],
)
def test_the_layout_table(scope, data_dir, env, tmp_path):
    document = {"storageScope": scope} | ({"dataDir": data_dir} if data_dir else {})
    place = {None: None, "~/data": Path("/home/u/data"), "/data/../other/": Path("/other")}[
        data_dir
    ]
    everybody = Path(env.get("MNEMON_DATA_DIR", "/home/u/.mnemon"))
    layout = resolve_layout(_resolved(document, env), f"{tmp_path}/w")
    expected = {
        "global": everybody,
        "custom": place,
        "workspace": tmp_path / "w" / ".mnemon",
        "workspaces": (place or everybody) / "workspaces" / _hash(tmp_path / "w"),
    }
    assert (layout.storage, layout.root, layout.user_root) == (
        scope,
        expected[scope],
        expected[scope],
    )
    assert layout.workspace == (tmp_path / "w" if scope.startswith("workspace") else None)
    assert list(tmp_path.iterdir()) == []


def test_areas_and_root_files():
    layout = resolve_layout(_resolved({"dataDir": "/d"}), "/w")
    assert [layout.runtime, layout.documents, layout.data, layout.state] == [
        Path("/d/runtime"), Path("/d/documents"), Path("/d/data"), Path("/d/state"),
    ]  # fmt: skip


@pytest.mark.requirement("host:layout:workspace")
def test_only_the_central_layout_follows_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    alias = f"{tmp_path}/alias"
    beside = resolve_layout(_resolved({"storageScope": "workspace"}), alias)
    assert beside.root == tmp_path / "alias" / ".mnemon"
    central = resolve_layout(_resolved({"storageScope": "workspaces"}), alias)
    assert central.root == Path("/home/u/.mnemon/workspaces") / _hash(tmp_path / "real")
    assert central.workspace == tmp_path / "real"


@pytest.mark.requirement("host:layout:workspace")
def test_a_file_in_the_way_of_a_workspace(tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError):
        resolve_layout(_resolved({"storageScope": "workspaces"}), f"{tmp_path}/file/w")


@pytest.mark.parametrize("scope", ["workspace", "workspaces"])
def test_a_workspace_must_be_absolute(scope):
    with pytest.raises(InputError):
        resolve_layout(_resolved({"storageScope": scope}), "relative")


def test_without_a_workspace_the_current_directory_counts(tmp_path, monkeypatch):
    config = _resolved({"storageScope": "workspace"})
    assert resolve_layout(config, cwd="/somewhere").root == Path("/somewhere/.mnemon")
    monkeypatch.chdir(tmp_path)
    assert resolve_layout(config).root == tmp_path / ".mnemon"


@pytest.mark.requirement("host:layout:global-user")
@pytest.mark.parametrize("scope", STORAGES)
def test_the_global_user_file(scope):
    document = {"storageScope": scope, "dataDir": "/d", "runtimeUserScope": "global"}
    layout = resolve_layout(_resolved(document), "/w")
    assert layout.user_root == Path("/home/u/.mnemon")
    assert layout.root == scope_root(scope, _resolved(document), "/w")


def test_a_scope_not_in_force_has_a_root_too():
    config = _resolved()
    assert scope_root("custom", config, "/w") == config.global_root
    assert scope_root("workspaces", config, "/w").parent == config.global_root / "workspaces"


def _received(type_id, document=None, env=None, key=None):
    config = _resolved(document, env)
    layout = resolve_layout(config, "/w")
    instance = key or f"source:mnemon-source-{type_id}"
    return source_configuration(type_id, instance, config, layout)


@pytest.mark.requirement("host:layout:sources")
def test_what_the_runtime_source_receives():
    document = {
        "dataDir": "/d",
        "runtimeUserScope": "global",
        "runtimeMemory": {"memoryLimitBytes": 7, "userLimitBytes": 8},
    }
    received = _received("runtime", document)
    assert received.configuration == {
        "dataDir": "/d",
        "userDataDir": "/home/u/.mnemon",
        "memoryLimitBytes": 7,
        "userLimitBytes": 8,
    }
    assert received.secrets == {}


def test_what_the_documents_source_receives():
    assert _received("documents").configuration == {"dataDir": "/home/u/.mnemon"}


def test_what_the_memory_spaces_source_receives():
    received = _received("memory-spaces")
    assert received.secrets == {}
    assert received.configuration == {
        "dataDir": "/home/u/.mnemon",
        "timeoutMs": 10_000,
        "defaultRecallLimit": 10,
        "writeEnabled": True,
        "embedding": {
            "enabled": False,
            "endpoint": "http://localhost:11434",
            "model": "nomic-embed-text",
            "protocol": "auto",
        },
        "recallQuality": {
            "policy": "strict-v1",
            "lowScoreThreshold": 0.25,
            "highScoreThreshold": 0.6,
            "candidateMultiplier": 3,
            "maxMediumResults": 4,
            "maxUnknownResults": 2,
        },
        "persistenceStrategy": {
            "mode": "manual",
            "providerId": "mnemon-native",
            "providerDefaulted": True,
            "prompt": "",
            "rules": {
                "allowedProviderIds": ("mnemon-native",),
                "dataBoundary": "allow-remote",
                "requiredCapabilities": (),
                "preference": "balanced",
            },
            "providerConnections": {},
        },
    }


def test_secrets_travel_beside_the_configuration():
    document = {
        "embedding": {"apiKey": "sk-1"},
        "persistenceStrategy": {
            "providerId": "mem0",
            "rules": {"allowedProviderIds": []},
            "providerConnections": {"mem0": {"apiKey": "sk-2", "userId": "me"}},
        },
    }
    received = _received("memory-spaces", document, {"MNEMON_STORE": "s", "MNEMON_CLI_PATH": "c"})
    strategy = received.configuration["persistenceStrategy"]
    assert "providerDefaulted" not in strategy
    assert strategy["rules"]["allowedProviderIds"] == ("mnemon-native",)
    assert strategy["providerConnections"] == {"mem0": {"userId": "me"}}
    assert (received.configuration["store"], received.configuration["cliPath"]) == ("s", "c")
    assert {name: secret.get_secret_value() for name, secret in received.secrets.items()} == {
        "embedding.apiKey": "sk-1",
        "persistenceStrategy.providerConnections.mem0.apiKey": "sk-2",
    }
    assert "sk-" not in repr(received)
    assert "sk-" not in repr(received.configuration)


@pytest.mark.requirement("host:layout:sources")
@pytest.mark.parametrize(
    ("type_id", "key"),
    [
        ("runtime", "source:my-runtime"),
        ("runtime", "strategy:mnemon-source-runtime"),
        ("notes", "source:mnemon-source-notes"),
    ],
)
def test_other_instances_and_types_receive_nothing(type_id, key):
    received = _received(type_id, key=key)
    assert (received.configuration, received.secrets) == ({}, {})


def test_an_included_default_instance_is_one():
    assert _received("runtime", key="source:team:mnemon-source-runtime").configuration

"""Settings of a Space and the file they name (§6.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic._config import place_of, projection, settings_of
from dsh_mnemon_provider_holographic.descriptor import MANIFEST
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderRejected

ROOT = Path("/data")


def named(path: str, **environment: str) -> Path:
    return place_of(path, ROOT, environment).named


@pytest.mark.requirement("holographic:config:path")
@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("", "/data/state/holographic/memory_store.db"),
        ("facts.db", "/data/facts.db"),
        ("a/../facts.db", "/data/facts.db"),
        ("/elsewhere/facts.db", "/elsewhere/facts.db"),
        ("$HERMES_HOME/memory_store.db", "/hermes/memory_store.db"),
        ("${HERMES_HOME}/memory_store.db", "/hermes/memory_store.db"),
        ("$HERMES_HOMES/x.db", "/data/$HERMES_HOMES/x.db"),
    ],
)
def test_a_path_is_made_absolute(path: str, expected: str) -> None:
    assert named(path, HERMES_HOME="/hermes") == Path(expected)


@pytest.mark.requirement("holographic:config:path")
def test_home_directories_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert named("~/facts.db") == Path("/home/me/facts.db")
    assert named("$HERMES_HOME/memory_store.db") == Path("/home/me/.hermes/memory_store.db")
    with pytest.raises(ProviderRejected):
        named("~nobody-of-that-name/facts.db")


@pytest.mark.requirement("holographic:peer:beside")
def test_a_peer_store_gets_a_database_beside_it() -> None:
    place = place_of("x/Store.JSON", ROOT, {})
    assert (place.named, place.database) == (ROOT / "x/Store.JSON", ROOT / "x/Store.db")
    assert place.peer == place.named


@pytest.mark.requirement("holographic:discover:one")
@pytest.mark.parametrize(
    ("path", "name"),
    [("store.json", "Holographic"), ("memory_store.db", "Holographic"), ("team.db", "team")],
)
def test_a_file_is_one_namespace(path: str, name: str) -> None:
    found = projection(place_of(path, ROOT, {}))
    assert (found.external_id, found.name) == (f"/data/{path}", name)
    assert f"/data/{path}" in found.description


@pytest.mark.requirement("holographic:config:values")
def test_what_is_not_set_has_a_default() -> None:
    settings = settings_of({"minTrust": ""}, ROOT, environment={})
    assert (settings.dim, settings.default_trust, settings.min_trust) == (1024, 0.5, 0.3)
    assert settings.half_life_days == 0


@pytest.mark.requirement("holographic:config:values")
@pytest.mark.parametrize(
    "wrong",
    [{"hrrDim": 100}, {"hrrDim": 8}, {"minTrust": 2}, {"defaultTrust": "high"}, {"minTrust": True}],
)
def test_a_wrong_value_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ProviderRejected):
        settings_of(wrong, ROOT, environment={})


@pytest.mark.requirement("holographic:discover:one")
def test_the_external_id_of_a_space_is_its_file() -> None:
    for external_id, expected in (("/kept/facts.db", "/kept/facts.db"), ("one", "/data/x.db")):
        settings = settings_of({"dataPath": "x.db"}, ROOT, external_id=external_id, environment={})
        assert settings.place.named == Path(expected)


@pytest.mark.requirement("holographic:manifest")
def test_the_manifest_says_what_the_specification_says() -> None:
    flags = MANIFEST.capabilities
    assert (flags.write_mode, flags.deletion_mode, flags.link) == ("exact", "hard", False)
    assert (MANIFEST.locality, MANIFEST.workspace_binding) == ("local", "optional-override")
    fields = {field.key: (field.scope, field.default_value) for field in MANIFEST.fields}
    assert fields == {
        "dataPath": ("service", None),
        "hrrDim": ("service", 1024),
        "defaultTrust": ("memory", 0.5),
        "minTrust": ("memory", 0.3),
        "halfLifeDays": ("memory", 0),
    }

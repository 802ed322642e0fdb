"""Configuration of the Source (spec/sources.md §1.2, §4.1)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.sdk import SourceContext
from dsh_mnemon_source_memory_spaces._config import Config, Settings, settings
from pydantic import SecretStr, ValidationError

KEY = "source:mnemon-source-memory-spaces"


def merged(own: dict[str, Any], host: dict[str, Any] | None = None, **secrets: str) -> Settings:
    hidden = {path.replace("__", "."): SecretStr(value) for path, value in secrets.items()}
    context = SourceContext(
        source_instance_key=KEY,
        provenance=Provenance(package_name="p", entry_id="e"),
        configuration=host or {},
        secrets=hidden,
    )
    return settings(Config.model_validate(own), context.configuration, KEY, context.secrets)


@pytest.mark.requirement("memory-spaces:config:defaults")
def test_defaults_are_those_of_the_table() -> None:
    config = merged({}).config
    assert (config.timeout_ms, config.default_recall_limit, config.write_enabled) == (
        10_000,
        10,
        True,
    )
    assert config.embedding.model_dump() == {
        "enabled": False,
        "endpoint": "http://localhost:11434",
        "model": "nomic-embed-text",
        "api_key": SecretStr(""),
        "protocol": "auto",
    }
    assert config.recall_quality.model_dump(by_alias=True) == {
        "policy": "strict-v1",
        "lowScoreThreshold": 0.25,
        "highScoreThreshold": 0.6,
        "candidateMultiplier": 3,
        "maxMediumResults": 4,
        "maxUnknownResults": 2,
    }
    strategy = config.persistence_strategy
    assert (strategy.mode, strategy.provider_id, strategy.prompt) == ("manual", "mnemon-native", "")
    assert strategy.fixed_provider_id is None
    assert strategy.rules.allowed_provider_ids == ("mnemon-native",)
    assert config.providers == ()


@pytest.mark.requirement("memory-spaces:config:limits")
@pytest.mark.parametrize(
    "wrong",
    [
        {"timeoutMs": 0},
        {"timeoutMs": 600_001},
        {"timeoutMs": "10"},
        {"defaultRecallLimit": 51},
        {"writeEnabled": "yes"},
        {"store": "-x"},
        {"cliPath": ""},
        {"dataDir": "relative"},
        {"dataDir": "/a\0b"},
        {"dataDir": "~user/x"},
        {"embedding": {"endpoint": "ftp://x"}},
        {"embedding": {"endpoint": "http://user@x"}},
        {"embedding": {"endpoint": "http://x/?q=1"}},
        {"embedding": {"endpoint": "http://x:port"}},
        {"embedding": {"endpoint": "http:// x"}},
        {"embedding": {"model": "a\nb"}},
        {"embedding": {"apiKey": "a\tb"}},
        {"embedding": {"protocol": "grpc"}},
        {"recallQuality": {"policy": "Strict"}},
        {"recallQuality": {"lowScoreThreshold": 0.6}},
        {"recallQuality": {"candidateMultiplier": 6}},
        {"recallQuality": {"maxMediumResults": 51}},
        {"persistenceStrategy": {"prompt": "x" * 4_001}},
        {"persistenceStrategy": {"mode": "automatic", "rules": {"allowedProviderIds": []}}},
        {"persistenceStrategy": {"rules": {"requiredCapabilities": ["search"]}}},
        {"persistenceStrategy": {"providerConnections": {"alpha": {"x": [1]}}}},
        {"persistenceStrategy": {"providerConnections": {"alpha": {"x": float("inf")}}}},
        {"persistenceStrategy": {"providerConnections": {"Alpha": {}}}},
        {"providers": [{"instanceId": "x"}]},
        {"providers": [7]},
        {"providerz": []},
    ],
)
def test_what_does_not_fit_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Config.model_validate(wrong)


@pytest.mark.requirement("memory-spaces:config:secrets")
def test_a_refusal_never_shows_a_value() -> None:
    with pytest.raises(ConfigurationError) as caught:
        merged({}, {"embedding": {"apiKey": "hush\x07hush"}})
    assert caught.value.code == "config-invalid"
    assert "hush" not in caught.value.message
    assert "apiKey" in caught.value.message


@pytest.mark.requirement("memory-spaces:config:merge")
def test_the_row_wins_over_the_host_key_by_key() -> None:
    own = {"timeoutMs": 5, "embedding": {"model": "mine"}}
    host = {"timeoutMs": 7, "defaultRecallLimit": 3, "embedding": {"model": "x", "enabled": True}}
    config = merged(own, host).config
    assert (config.timeout_ms, config.default_recall_limit) == (5, 3)
    assert (config.embedding.model, config.embedding.enabled) == ("mine", True)
    isolated = merged(own, {**host, "accountIsolated": True}).config
    assert (isolated.timeout_ms, isolated.embedding.model) == (7, "x")


@pytest.mark.requirement("memory-spaces:config:secrets")
def test_secrets_come_beside_the_configuration() -> None:
    host = {"persistenceStrategy": {"providerConnections": {"alpha": {"project": "p"}}}}
    in_force = merged(
        {},
        host,
        embedding__apiKey="sesame",
        persistenceStrategy__providerConnections__alpha__apiKey="hush",
    )
    assert in_force.connection("alpha") == {"project": "p", "apiKey": "hush"}
    assert in_force.connection("beta") == {}
    assert in_force.native.embedding.api_key.get_secret_value() == "sesame"
    assert "hush" not in repr(in_force)
    assert "sesame" not in repr(in_force.native)


@pytest.mark.requirement("memory-spaces:config:provider")
def test_only_a_provider_that_somebody_chose_is_fixed() -> None:
    defaulted = {"persistenceStrategy": {"providerId": "mnemon-native", "providerDefaulted": True}}
    chosen = {"persistenceStrategy": {"providerId": "alpha"}}

    def fixed(own: dict[str, Any], host: dict[str, Any]) -> str | None:
        return merged(own, host).config.persistence_strategy.fixed_provider_id

    assert fixed({}, defaulted) is None
    assert fixed({}, chosen) == "alpha"
    assert fixed(chosen, defaulted) == "alpha"


@pytest.mark.requirement("memory-spaces:config:providers")
def test_children_are_names_or_objects() -> None:
    config = Config.model_validate(
        {"providers": ["some.module", {"use": "other", "instanceId": "two", "config": {"a": 1}}]}
    )
    one, two = config.children
    assert (one.use, one.instance_id, one.config) == ("some.module", None, {})
    assert (two.use, two.instance_id, two.config) == ("other", "two", {"a": 1})


@pytest.mark.requirement("memory-spaces:config:directories")
def test_the_root_is_given_or_named_by_the_instance() -> None:
    home = Path.home()
    assert merged({"dataDir": "~"}).root == home
    assert merged({"dataDir": "~/x"}).root == home / "x"
    assert merged({}).root == home / ".mnemon" / "sources" / "source%3Amnemon-source-memory-spaces"


@pytest.mark.requirement("memory-spaces:config:directories")
def test_providers_are_told_what_is_in_force() -> None:
    in_force = merged({"dataDir": "/data", "store": "main", "cliPath": "/bin/m", "timeoutMs": 5})
    native = in_force.native
    assert (native.data_dir, native.store, native.cli_path) == (Path("/data"), "main", "/bin/m")
    assert (in_force.provider.timeout_ms, in_force.provider.default_recall_limit) == (5, 10)

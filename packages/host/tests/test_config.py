import json
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.values import FrozenDict
from dsh_mnemon_host.config import (
    HostConfig,
    UnknownKey,
    accepted,
    known_keys,
    known_paths,
    read_strict,
    read_tolerant,
    snapshot,
)
from dsh_mnemon_host.config.reading import Problem
from pydantic import SecretStr, ValidationError

_SCHEMA = Path(__file__).parent / "schema" / "host-config.schema.json"


def _nested(path, value):
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def _refused(document):
    with pytest.raises(ConfigurationError) as caught:
        read_strict(HostConfig, document)
    return caught.value


@pytest.mark.requirement("host:config:schema")
def test_the_schema_is_pinned():
    """Changing a key, a range or a default is a change of the contract: update the file too."""
    schema = json.dumps(HostConfig.model_json_schema(by_alias=True), indent=2, ensure_ascii=False)
    assert schema + "\n" == _SCHEMA.read_text(encoding="utf-8")


@pytest.mark.requirement("host:config:defaults")
def test_defaults():
    assert snapshot(read_strict(HostConfig, {})) == {
        "runtimeUserScope": "storage",
        "customPacks": [],
        "timeoutMs": 10_000,
        "defaultRecallLimit": 10,
        "runtimeMemory": {
            "memoryLimitBytes": 10_240,
            "userLimitBytes": 4_096,
            "maintenanceMaxTokens": 8_192,
        },
        "embedding": {
            "enabled": False,
            "endpoint": "http://localhost:11434",
            "model": "nomic-embed-text",
            "apiKey": "",
            "protocol": "auto",
        },
        "memoryTopology": {
            "id": "default-three-tier",
            "strategyId": "default-three-tier",
            "layers": {
                name: {
                    "enabled": True,
                    "participation": dict.fromkeys(
                        ("recall", "write", "projection", "maintenance"), "automatic"
                    ),
                    "adapterIds": [],
                }
                for name in ("runtime", "documents", "memory-spaces")
            },
        },
        "memoryView": {"entries": {}},
        "recallQuality": {
            "policy": "strict-v1",
            "lowScoreThreshold": 0.25,
            "highScoreThreshold": 0.6,
            "candidateMultiplier": 3,
            "maxMediumResults": 4,
            "maxUnknownResults": 2,
        },
        "routingGuidance": True,
        "lifecycleEnabled": True,
        "recallMode": "guided",
        "writebackMode": "guided",
        "idleReviewMs": 30_000,
        "idleReview": {
            "enabled": True,
            "provider": "spawn",
            "fallback": "spawn",
            "agentTeams": "pause",
            "runtimeMemory": True,
            "minIntervalMs": 300_000,
            "maxPerSession": 20,
            "maxContextChars": 24_000,
            "maxTokens": 4_096,
        },
        "displayMode": "sidebar",
        "tabEnabled": True,
        "writeEnabled": True,
        "remoteAccess": "read-only",
        "conversationInteraction": {"turnBar": True, "saveAction": True, "toolviews": False},
        "persistenceStrategy": {
            "mode": "manual",
            "providerId": "mnemon-native",
            "prompt": "",
            "rules": {
                "allowedProviderIds": ["mnemon-native"],
                "dataBoundary": "allow-remote",
                "requiredCapabilities": [],
                "preference": "balanced",
            },
            "providerConnections": {},
        },
        "taskAgentModel": {"mode": "inherit"},
    }


@pytest.mark.requirement("host:config:ranges")
@pytest.mark.parametrize(
    ("path", "low", "high"),
    [
        ("timeoutMs", 100, 120_000),
        ("defaultRecallLimit", 1, 50),
        ("runtimeMemory.memoryLimitBytes", 1, 1_048_576),
        ("runtimeMemory.userLimitBytes", 1, 1_048_576),
        ("runtimeMemory.maintenanceMaxTokens", 1, 1_000_000),
        ("recallQuality.candidateMultiplier", 1, 5),
        ("recallQuality.maxMediumResults", 0, 50),
        ("recallQuality.maxUnknownResults", 0, 50),
        ("idleReviewMs", 5_000, 600_000),
        ("idleReview.minIntervalMs", 5_000, 86_400_000),
        ("idleReview.maxPerSession", 0, 200),
        ("idleReview.maxContextChars", 1_000, 1_000_000),
        ("idleReview.maxTokens", 128, 131_072),
    ],
)
def test_integer_ranges(path, low, high):
    for good in (low, high):
        read_strict(HostConfig, _nested(path, good))
    for bad in (low - 1, high + 1):
        error = _refused(_nested(path, bad))
        assert (error.code, error.details["key"]) == ("setting-range", path)
        assert error.details["accepted"] == f"an integer within {low}..{high}"
    for bad in (True, str(low), low + 0.5):
        assert _refused(_nested(path, bad)).code == "setting-type"


@pytest.mark.parametrize(
    "path",
    [
        "embedding.enabled",
        "memoryTopology.layers.runtime.enabled",
        "routingGuidance",
        "lifecycleEnabled",
        "idleReview.enabled",
        "idleReview.runtimeMemory",
        "tabEnabled",
        "writeEnabled",
        "conversationInteraction.turnBar",
        "conversationInteraction.saveAction",
        "conversationInteraction.toolviews",
        "legacySettingsImported",
    ],
)
def test_switches_take_booleans_only(path):
    for good in (True, False):
        read_strict(HostConfig, _nested(path, good))
    for bad in (1, 0, "true", []):
        error = _refused(_nested(path, bad))
        assert (error.code, error.details["key"]) == ("setting-type", path)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("storageScope", "global workspace custom workspaces"),
        ("runtimeUserScope", "storage global"),
        ("embedding.protocol", "auto ollama openai"),
        ("memoryTopology.layers.documents.participation.recall", "off manual automatic"),
        ("recallMode", "guided off"),
        ("writebackMode", "guided off"),
        ("idleReview.provider", "spawn fork"),
        ("idleReview.fallback", "spawn skip"),
        ("idleReview.agentTeams", "pause scoped"),
        ("displayMode", "sidebar builtin"),
        ("remoteAccess", "read-only trusted-host"),
        ("persistenceStrategy.mode", "manual automatic"),
        ("persistenceStrategy.rules.dataBoundary", "allow-remote local-only"),
        ("persistenceStrategy.rules.preference", "balanced local-first shared-first"),
    ],
)
def test_choices(path, words):
    for word in words.split():
        read_strict(HostConfig, _nested(path, word))
        read_strict(HostConfig, _nested(path, f" {word}\n"))
    error = _refused(_nested(path, "sideboard"))
    assert (error.code, error.details["key"]) == ("setting-choice", path)
    assert error.details["accepted"] == "one of " + ", ".join(words.split())


def test_a_choice_names_the_nearest_word():
    assert _refused({"displayMode": "side_bar"}).details["nearest"] == "sidebar"
    assert "nearest" not in _refused({"displayMode": "xyz"}).details


@pytest.mark.parametrize("path", ["recallMode", "writebackMode"])
def test_off_survives_yaml_1_1(path):
    """A profile is read by a YAML 1.1 reader, to which a bare ``off`` means false."""
    config = read_strict(HostConfig, {path: False})
    assert snapshot(config)[path] == "off"
    assert _refused({path: True}).code == "setting-choice"


@pytest.mark.parametrize(
    ("path", "good", "bad"),
    [
        ("customPackId", ["a", "A_-9"], ["-a", "a b", "ä"]),
        ("store", ["default", "A1"], ["_x", "a/b"]),
        ("memoryTopology.id", ["a", "a-" + "b" * 126], ["A", "1a", "a" * 129]),
        ("memoryTopology.strategyId", ["general"], ["General"]),
        ("memoryView.strategyTypeId", ["general"], ["-"]),
        ("recallQuality.policy", ["balanced-v1", "a" * 64], ["a" * 65, "A"]),
        ("persistenceStrategy.providerId", ["mem0"], ["Mem0"]),
        ("dataDir", ["/x", "~", "~/x"], ["x", "./x", "~user/x", "/x\0y"]),
        ("embedding.model", ["m", "m" * 200], ["a\nb"]),
        ("cliPath", ["mnemon", "/usr/bin/mnemon"], ["a\0b"]),
        (
            "embedding.endpoint",
            ["https://host/v1", "http://[::1]:8080"],
            [
                "host",
                "ftp://host",
                "http://",
                "http://user@host",
                "http://host?x",
                "http://host#x",
                "http://host:port",
                "http://a b",
                "http://[::1",
                "http://a\x07b",
            ],
        ),
    ],
)
def test_formats(path, good, bad):
    for value in good:
        read_strict(HostConfig, _nested(path, value))
    for value in bad:
        error = _refused(_nested(path, value))
        assert (error.code, error.details["key"]) == ("setting-format", path), value


@pytest.mark.parametrize(
    ("path", "maximum"),
    [
        ("embedding.model", 200),
        ("embedding.apiKey", 2_048),
        ("persistenceStrategy.prompt", 4_000),
        ("taskAgentModel.provider", 200),
        ("taskAgentModel.model", 300),
    ],
)
def test_text_lengths(path, maximum):
    read_strict(HostConfig, _nested(path, "😀" * maximum))
    error = _refused(_nested(path, "x" * (maximum + 1)))
    assert (error.code, error.details["key"]) == ("setting-range", path)


def test_an_endpoint_loses_its_trailing_slashes():
    config = read_strict(HostConfig, {"embedding": {"endpoint": " http://host/v1// "}})
    assert config.embedding.endpoint == "http://host/v1"


@pytest.mark.parametrize("empty", ["", "  ", None])
def test_empty_text_and_null_count_as_unset(empty):
    config = read_strict(
        HostConfig,
        {
            "storageScope": empty,
            "dataDir": empty,
            "timeoutMs": empty,
            "embedding": {"endpoint": empty, "apiKey": empty},
            "recallQuality": empty,
        },
    )
    assert config == HostConfig()


def test_known_keys_only_count_as_unset():
    assert _refused({"nonsense": None}).code == "setting-unknown"


def test_thresholds():
    for bad in (-0.1, 1.1, float("nan"), float("inf")):
        assert _refused({"recallQuality": {"highScoreThreshold": bad}}).code == "setting-range"
    assert _refused({"recallQuality": {"highScoreThreshold": True}}).code == "setting-type"
    read_strict(HostConfig, {"recallQuality": {"lowScoreThreshold": 0, "highScoreThreshold": 1}})
    for low, high in ((0.6, 0.6), (0.7, 0.6)):
        quality = {"lowScoreThreshold": low, "highScoreThreshold": high}
        error = _refused({"recallQuality": quality})
        assert error.code == "setting-inconsistent"
        assert error.details["key"] == "recallQuality.lowScoreThreshold"


def test_layers_always_hold_the_default_ones():
    document = {"layers": {"notes": {"enabled": False}, "runtime": {"enabled": False}}}
    topology = read_strict(HostConfig, {"memoryTopology": document}).memory_topology
    switches = {name: layer.enabled for name, layer in topology.layers.items()}
    assert switches == {
        "runtime": False, "documents": True, "memory-spaces": True, "notes": False,
    }  # fmt: skip


def test_layers_are_bounded():
    many = {f"layer-{number}": {} for number in range(65)}
    error = _refused({"memoryTopology": {"layers": many}})
    assert (error.code, error.details["key"]) == ("setting-range", "memoryTopology.layers")
    error = _refused({"memoryTopology": {"layers": {"Bad": {}}}})
    assert (error.code, error.details["key"]) == ("setting-format", "memoryTopology.layers.Bad")


def test_legacy_lists_lose_repetitions():
    layers = {"runtime": {"adapterIds": ["b", " a ", "b"]}}
    topology = read_strict(HostConfig, {"memoryTopology": {"layers": layers}}).memory_topology
    assert topology.layers["runtime"].adapter_ids == ("b", "a")


def test_the_main_strategy():
    assert HostConfig().strategy_type_id == "default-three-tier"
    legacy = {"memoryTopology": {"strategyId": "general"}}
    assert read_strict(HostConfig, legacy).strategy_type_id == "general"
    chosen = legacy | {"memoryView": {"strategyTypeId": "mine"}}
    assert read_strict(HostConfig, chosen).strategy_type_id == "mine"


def _entries(**entries):
    return {"memoryView": {"entries": entries}}


def test_plugin_entries():
    config = read_strict(HostConfig, _entries(x={"enabled": True, "config": {"a": [1, {"b": 2}]}}))
    entry = config.memory_view.entries["x"]
    assert entry.enabled
    assert entry.config == {"a": (1, {"b": 2})}
    assert isinstance(entry.config, FrozenDict)
    assert (
        read_strict(HostConfig, _entries(x={"enabled": False})).memory_view.entries["x"].config
        == {}
    )


@pytest.mark.parametrize(
    ("entries", "code"),
    [
        ({"x": {}}, "setting-required"),
        ({"x": {"enabled": True, "config": []}}, "setting-type"),
        ({"x": {"enabled": True, "config": {"a": {"__proto__": 1}}}}, "setting-format"),
        ({"x": {"enabled": True, "config": {"a": [{"prototype": 1}]}}}, "setting-format"),
        ({"constructor": {"enabled": True}}, "setting-format"),
        ({"-x": {"enabled": True}}, "setting-format"),
        ({"x": {"enabled": True, "config": {"a": float("nan")}}}, "setting-type"),
        ({"x": {"enabled": True, "config": {"a": "\ud800"}}}, "text-not-unicode"),
        ({"x": {"enabled": True, "config": {"a": "y" * 65_536}}}, "setting-range"),
        ({f"e{number}": {"enabled": True} for number in range(65)}, "setting-range"),
    ],
)
def test_bad_plugin_entries(entries, code):
    error = _refused({"memoryView": {"entries": entries}})
    assert error.code == code
    assert error.details["key"].startswith("memoryView.entries")


def test_entry_options_may_just_fit():
    # {"a":"…"} has eight characters besides the text.
    read_strict(HostConfig, _entries(x={"enabled": True, "config": {"a": "😀" * (65_536 - 8)}}))


def _pack(**changes):
    return {"id": "a", "name": "A", "dataDir": "/a"} | changes


@pytest.mark.parametrize(
    ("packs", "code", "key"),
    [
        ([_pack(), _pack(dataDir="/b")], "setting-duplicate", "customPacks.1.id"),
        ([_pack(name="x" * 101)], "setting-range", "customPacks.0.name"),
        ([_pack(name=" ")], "setting-required", "customPacks.0.name"),
        ([_pack(dataDir="b")], "setting-format", "customPacks.0.dataDir"),
        ([_pack(id="a b")], "setting-format", "customPacks.0.id"),
        ([_pack(extra=1)], "setting-unknown", "customPacks.0.extra"),
        ([_pack(id=f"p{n}") for n in range(33)], "setting-range", "customPacks"),
        ("a", "setting-type", "customPacks"),
        ([None], "setting-type", "customPacks.0"),
    ],
)
def test_bad_packs(packs, code, key):
    error = _refused({"customPacks": packs})
    assert (error.code, error.details["key"]) == (code, key)


@pytest.mark.requirement("host:config:legacy")
def test_the_legacy_display_mode_is_read_as_the_new_one():
    assert read_strict(HostConfig, {"displayMode": "buildin"}).display_mode == "builtin"
    assert _refused({"displayMode": "Buildin"}).details["nearest"] == "builtin"


def test_multi_account_locations_are_ignored():
    assert read_strict(HostConfig, {"accountDataDir": 7}) == HostConfig()
    assert read_tolerant(HostConfig, {"accountDataDir": 7}).unknown == ()


def test_connections_keep_scalars_and_drop_the_rest():
    connections = {
        "mem0": {"apiKey": "k", "port": 1, "on": True, "x": 0.5, "bad": [], "nan": float("nan")},
        "Bad": {"a": 1},
        "honcho": 7,
    }
    document = {"persistenceStrategy": {"providerConnections": connections}}
    config = read_strict(HostConfig, document)
    kept = config.persistence_strategy.provider_connections
    assert kept == {"mem0": {"apiKey": SecretStr("k"), "port": 1, "on": True, "x": 0.5}}
    assert "k'" not in repr(config)
    shown = snapshot(config)["persistenceStrategy"]["providerConnections"]
    assert shown["mem0"]["apiKey"] == "**********"


def test_bad_connections():
    path = "persistenceStrategy.providerConnections"
    assert _refused(_nested(path, [1])).code == "setting-type"
    error = _refused(_nested(path, {"mem0": {"a": "\ud800"}}))
    assert (error.code, error.details["key"]) == ("text-not-unicode", path)


def test_allowed_providers():
    def placement(**changes):
        return read_strict(HostConfig, {"persistenceStrategy": changes}).persistence_strategy

    assert placement().allowed_provider_ids == ("mnemon-native",)
    rules = {"allowedProviderIds": []}
    assert placement(rules=rules).allowed_provider_ids == ("mnemon-native",)
    chosen = {"allowedProviderIds": ["mem0", "honcho", "mem0"]}
    assert placement(mode="automatic", rules=chosen).allowed_provider_ids == ("mem0", "honcho")
    error = _refused({"persistenceStrategy": {"mode": "automatic", "rules": rules}})
    assert error.code == "setting-required"
    assert error.details["key"] == "persistenceStrategy.rules.allowedProviderIds"


def test_required_capabilities():
    def rules(names):
        return {"persistenceStrategy": {"rules": {"requiredCapabilities": names}}}

    config = read_strict(HostConfig, rules(["link", "graph", "link"]))
    assert config.persistence_strategy.rules.required_capabilities == ("link", "graph")
    assert _refused(rules(["fly"])).code == "setting-choice"


@pytest.mark.parametrize("given", [{}, {"provider": "p"}, {"model": "m"}, {"provider": " "}])
def test_a_fixed_model_needs_both_halves(given):
    error = _refused({"taskAgentModel": {"mode": "fixed"} | given})
    missing = "model" if given.get("provider") == "p" else "provider"
    assert (error.code, error.details["key"]) == ("setting-required", f"taskAgentModel.{missing}")


def test_a_fixed_model():
    document = {"taskAgentModel": {"mode": "fixed", "provider": " p ", "model": "m"}}
    model = read_strict(HostConfig, document).task_agent_model
    assert (model.provider, model.model) == ("p", "m")


@pytest.mark.requirement("host:config:unknown")
@pytest.mark.parametrize(
    ("path", "nearest"),
    [
        ("writeEnable", "writeEnabled"),
        ("write_enabled", "writeEnabled"),
        ("WRITEENABLED", "writeEnabled"),
        ("memoryLimitBytes", "runtimeMemory.memoryLimitBytes"),
        ("embedding.api_key", "embedding.apiKey"),
        ("embedding.maxTokens", "idleReview.maxTokens"),
        ("memoryTopology.layers.runtime.enabld", "memoryTopology.layers.runtime.enabled"),
        ("qqqqqq", None),
    ],
)
def test_an_unknown_key_names_the_nearest_known_one(path, nearest):
    error = _refused(_nested(path, 1))
    assert (error.code, error.details["key"]) == ("setting-unknown", path)
    assert error.details.get("nearest") == nearest
    reading = read_tolerant(HostConfig, _nested(path, 1))
    assert reading.unknown == (UnknownKey(path, nearest),)


def test_the_tolerant_reader_judges_what_it_knows():
    document = {
        "typo": 1,
        "customPacks": [_pack(datadir="/b")],
        "embedding": {"enabled": True, "modle": "x"},
    }
    reading = read_tolerant(HostConfig, document)
    assert reading.value.embedding.enabled
    assert {item.key for item in reading.unknown} == {
        "typo", "customPacks.0.datadir", "embedding.modle",
    }  # fmt: skip
    with pytest.raises(ConfigurationError) as caught:
        read_tolerant(HostConfig, document | {"timeoutMs": 5})
    assert caught.value.code == "setting-range"


def test_all_problems_are_reported_at_once():
    with pytest.raises(ConfigurationError) as caught:
        read_strict(HostConfig, {"timeoutMs": 5, "recallMode": 7, "x": 1}, where="file: ")
    codes = [problem["code"] for problem in caught.value.details["problems"]]
    assert sorted(codes) == ["setting-choice", "setting-range", "setting-unknown"]
    assert caught.value.message.startswith("file: ")


@pytest.mark.parametrize(
    "document",
    [
        {"embedding": {"apiKey": ["sk-leak"]}},
        {"embedding": {"apiKey": "sk-leak\0"}},
        {"embedding": {"apiKey": "sk-leak" * 400}},
        {"embedding": "sk-leak"},
        {"embedding": {"endpoint": "http://me:sk-leak@host"}},
        {"apiKey": "sk-leak"},
        {"persistenceStrategy": {"providerConnections": "sk-leak"}},
    ],
)
def test_an_error_never_shows_a_secret(document):
    error = _refused(document)
    assert "sk-leak" not in f"{error} {error.details}"
    assert "sk-leak" not in str(error.__cause__ or "")


def test_text_that_is_not_unicode_is_refused_where_it_stands():
    error = _refused({"embedding": {"model": "\ud800"}})
    assert (error.code, error.details["key"]) == ("text-not-unicode", "embedding.model")


@pytest.mark.parametrize(
    ("value", "noun"),
    [(True, "boolean"), (7, "number"), ("x", "text"), ([], "list"), ({}, "mapping")],
)
def test_a_wrong_type_is_named(value, noun):
    key = "customPacks" if noun != "list" else "embedding"
    assert noun in _refused({key: value}).message


def test_a_problem_of_the_whole_document_reads_as_a_sentence():
    assert Problem(code="setting-type", key="", says="is a list").sentence().startswith("the conf")


def test_a_configuration_is_a_mapping():
    with pytest.raises(ValidationError):
        HostConfig.model_validate(["writeEnabled"])


def test_the_model_is_frozen():
    config = HostConfig()
    with pytest.raises(ValidationError):
        config.write_enabled = False
    with pytest.raises(TypeError):
        config.memory_topology.layers["x"] = None
    with pytest.raises(TypeError):
        config.memory_view.entries["x"] = None


def test_every_key_says_what_it_accepts():
    for path in known_paths(HostConfig):
        assert accepted(HostConfig, tuple(path.split("."))), path


def test_the_shape_of_open_mappings():
    assert known_keys(HostConfig, ("memoryTopology", "layers", "any", "participation")) == (
        "recall", "write", "projection", "maintenance",
    )  # fmt: skip
    assert known_keys(HostConfig, ("memoryView", "entries", "x", "config")) is None
    assert known_keys(HostConfig, ("nonsense", "deeper")) is None
    assert accepted(HostConfig, ("nonsense",)) is None
    assert accepted(HostConfig, ("customPacks", 0, "name")) == "text of 1..100 characters"
    connection = ("persistenceStrategy", "providerConnections", "mem0")
    assert accepted(HostConfig, connection) == "a mapping"


def test_every_key_is_described():
    schema = HostConfig.model_json_schema(by_alias=True)
    sections = [schema, *schema["$defs"].values()]
    for section in sections:
        for key, field in section["properties"].items():
            target = schema["$defs"].get(field.get("$ref", "").rpartition("/")[2], field)
            assert target.get("description"), key

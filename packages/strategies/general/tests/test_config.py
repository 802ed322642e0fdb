"""Settings: what is taken, what is refused, and with which code."""

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_strategy_general import GeneralConfig, plugin


def problems(config):
    with pytest.raises(ConfigurationError) as caught:
        plugin.configure(config)
    assert caught.value.code == "config-invalid"
    return {item["key"]: item["code"] for item in caught.value.details["problems"]}


@pytest.mark.requirement("general:config")
def test_defaults_and_values():
    assert plugin.configure(None) == GeneralConfig()
    config = plugin.configure({"residentSourceKeys": ["source:a"], "instruction": " Be brief. "})
    assert config.resident_source_keys == ("source:a",)
    assert config.instruction == "Be brief."
    assert plugin.configure({"residentSourceKeys": []}).resident_source_keys == ()
    assert plugin.configure({"instruction": " \n"}).instruction is None


@pytest.mark.requirement("general:config")
@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"residentSourceKeys": None}, {"residentSourceKeys": "source-keys-invalid"}),
        ({"residentSourceKeys": "source:a"}, {"residentSourceKeys": "source-keys-invalid"}),
        (
            {"residentSourceKeys": ["source:a"] * 2},
            {"residentSourceKeys": "source-keys-duplicated"},
        ),
        (
            {"residentSourceKeys": [f"source:{n}" for n in range(33)]},
            {"residentSourceKeys": "source-keys-invalid"},
        ),
        ({"instruction": 5, "resident": []}, {"instruction": "text-not-string", "resident": ...}),
        ({"instruction": "x" * 4001}, {"instruction": "text-too-long"}),
        ({"instruction": "\ud800"}, {"instruction": "text-not-unicode"}),
    ],
)
def test_every_problem_is_named(config, expected):
    found = problems(config)
    assert found.keys() == expected.keys()
    assert all(code in (found[key], ...) for key, code in expected.items())


@pytest.mark.requirement("general:config")
def test_an_unknown_key_is_refused():
    assert problems({"residents": []}) == {"residents": "extra-forbidden"}

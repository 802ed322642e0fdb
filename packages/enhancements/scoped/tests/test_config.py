"""Settings: what is taken, what is refused, and with which code."""

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_strategy_scoped import ScopedConfig, plugin


@pytest.mark.requirement("scoped:config")
def test_absent_and_empty_lists_are_different():
    assert plugin.configure(None) == ScopedConfig()
    assert plugin.configure({}).source_keys is None
    config = plugin.configure({"sourceKeys": [], "writableSourceKeys": []})
    assert (config.source_keys, config.writable_source_keys) == ((), ())


@pytest.mark.requirement("scoped:config")
@pytest.mark.parametrize(
    ("config", "problems"),
    [
        ({"sourceKeys": None}, [("sourceKeys", "source-keys-invalid")]),
        ({"sourceKeys": ["runtime"]}, [("sourceKeys", "source-keys-invalid")]),
        ({"sourceKeys": ["source:a"] * 2}, [("sourceKeys", "source-keys-duplicated")]),
        (
            {"writableSourceKeys": [f"source:{n}" for n in range(33)]},
            [("writableSourceKeys", "source-keys-invalid")],
        ),
        (
            {"sourceKeys": ["source:a"], "writableSourceKeys": ["source:b"]},
            [("", "writable-not-selected")],
        ),
        (
            {"sourceKeys": 7, "writableSourceKeys": "x", "keys": []},
            [
                ("sourceKeys", "source-keys-invalid"),
                ("writableSourceKeys", "source-keys-invalid"),
                ("keys", "extra-forbidden"),
            ],
        ),
    ],
)
def test_every_problem_is_named(config, problems):
    with pytest.raises(ConfigurationError) as caught:
        plugin.configure(config)
    assert caught.value.code == "config-invalid"
    found = [(item["key"], item["code"]) for item in caught.value.details["problems"]]
    assert found == problems

"""Settings: what is taken, what is refused, and with which code."""

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_strategy_auto_capture import AutoCaptureConfig, plugin


@pytest.mark.requirement("auto-capture:config")
def test_defaults_and_values():
    assert plugin.configure(None) == AutoCaptureConfig()
    assert plugin.configure({}).action_ids == ("remember",)
    config = plugin.configure({"instruction": " Note it. ", "sourceKeys": []})
    assert (config.instruction, config.source_keys) == ("Note it.", ())


@pytest.mark.requirement("auto-capture:config")
@pytest.mark.parametrize(
    ("config", "problems"),
    [
        ({"instruction": " "}, [("instruction", "text-required")]),
        ({"instruction": None}, [("instruction", "text-not-string")]),
        ({"instruction": "x" * 4_001}, [("instruction", "text-too-long")]),
        ({"actionIds": []}, [("actionIds", "capture-actions-invalid")]),
        ({"actionIds": ["append"] * 2}, [("actionIds", "capture-actions-invalid")]),
        ({"actionIds": "append"}, [("actionIds", "capture-actions-invalid")]),
        ({"sourceKeys": ["notes"]}, [("sourceKeys", "source-keys-invalid")]),
        (
            {"instruction": 7, "sourceKeys": ["source:a"] * 2, "actions": []},
            [
                ("instruction", "text-not-string"),
                ("sourceKeys", "source-keys-duplicated"),
                ("actions", "extra-forbidden"),
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

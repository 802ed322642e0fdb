"""The one setting: what is taken, what is refused, and with which code."""

import pytest
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_strategy_light_context import plugin


@pytest.mark.requirement("light-context:config")
@pytest.mark.parametrize(
    ("config", "characters"),
    [
        (None, 4_096),
        ({"maxProjectionCharacters": 1}, 1),
        ({"maxProjectionCharacters": 2.0}, 2),
        ({"maxProjectionCharacters": 10_000_000}, 10_000_000),
    ],
)
def test_integers_in_range_are_taken(config, characters):
    assert plugin.configure(config).max_projection_characters == characters


@pytest.mark.requirement("light-context:config")
@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"maxProjectionCharacters": 10_000_001}, "integer-range"),
        ({"maxProjectionCharacters": True}, "integer-range"),
        ({"maxProjectionCharacters": "4096"}, "integer-range"),
        ({"maxProjectionCharacters": None}, "integer-range"),
        ({"maxCharacters": 4_096}, "extra-forbidden"),
    ],
)
def test_anything_else_is_refused(config, code):
    with pytest.raises(ConfigurationError) as caught:
        plugin.configure(config)
    assert caught.value.code == "config-invalid"
    assert [item["code"] for item in caught.value.details["problems"]] == [code]

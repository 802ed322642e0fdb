import pytest
from dsh_mnemon_core.errors import AuthorityError
from dsh_mnemon_core.scope import CAPABILITIES
from dsh_mnemon_host.config import HostConfig
from dsh_mnemon_host.participation import permits, permitted_capabilities, require

CHANNELS = {
    "projection": ("project",),
    "write": ("write", "archive", "link", "forget", "import"),
    "maintenance": ("maintain", "export", "status"),
    "recall": ("recall", "search", "read", "browse", "graph", "related"),
}


def config(*, enabled=True, **participation):
    layer = {"enabled": enabled, "participation": participation}
    return HostConfig.model_validate({"memoryTopology": {"layers": {"runtime": layer}}})


def test_the_channels_cover_every_capability_once():
    assert sorted(sum(CHANNELS.values(), ())) == sorted(CAPABILITIES)


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize(
    ("use", "manual", "automatic"),
    [("off", False, False), ("manual", True, False), ("automatic", True, True)],
)
def test_a_channel_decides_over_its_capabilities_only(channel, use, manual, automatic):
    chosen = config(**{channel: use})
    for name, capabilities in CHANNELS.items():
        for capability in capabilities:
            concerned = name == channel
            by_hand = permits(chosen, "runtime", capability, "manual")
            by_tool = permits(chosen, "runtime", capability, "automatic")
            assert by_hand is (manual if concerned else True)
            assert by_tool is (automatic if concerned else True)


def test_a_layer_that_is_off_permits_nothing():
    chosen = config(enabled=False)
    assert not any(permits(chosen, "runtime", c, "manual") for c in CAPABILITIES)
    assert permitted_capabilities(chosen, "runtime") == ()


def test_unknown_types_are_unrestricted():
    chosen = config(enabled=False)
    assert permitted_capabilities(chosen, "calendar") == CAPABILITIES


def test_read_only_takes_the_write_set_from_everybody():
    chosen = HostConfig.model_validate({"writeEnabled": False})
    gone = {"write", "archive", "link", "forget", "maintain", "import"}
    for type_id in ("runtime", "calendar"):
        assert set(CAPABILITIES) - set(permitted_capabilities(chosen, type_id)) == gone


def test_a_person_is_told_which_layer_refuses():
    require(config(write="manual"), "runtime", "write")
    with pytest.raises(AuthorityError) as caught:
        require(config(write="off"), "runtime", "write")
    assert caught.value.code == "layer-off"
    assert caught.value.details == {"layer": "runtime", "capability": "write"}

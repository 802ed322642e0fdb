import pytest
from dsh_mnemon_core.errors import AuthorityError, InputError
from dsh_mnemon_host.config import HostConfig, known_keys
from dsh_mnemon_host.settings import MUTABLE_KEYS, Operation, require_mutable


def _set(path, value=True):
    return {"op": "set", "path": path, "value": value}


@pytest.mark.parametrize("key", MUTABLE_KEYS)
def test_whole_keys_are_mutable(key):
    assert require_mutable("mnemon", [_set([key])]) == (Operation((key,), True),)
    assert require_mutable("mnemon", [{"op": "unset", "path": [key]}])


def test_every_mutable_key_is_a_setting():
    assert set(MUTABLE_KEYS) < set(known_keys(HostConfig))


@pytest.mark.parametrize(
    ("ns", "path"),
    [
        ("mnemon", "memoryTopology.layers.runtime.enabled"),
        ("mnemon", "conversationInteraction.turnBar"),
        ("mnemon", "conversationInteraction.saveAction"),
        ("mnemon-ui", "turnBar"),
        ("mnemon-ui", "saveAction"),
    ],
)
def test_deeper_places_that_are_mutable(ns, path):
    assert require_mutable(ns, [_set(path)])
    assert require_mutable(ns, [{"op": "unset", "path": path}])


@pytest.mark.parametrize(
    ("ns", "path"),
    [
        ("mnemon", "remoteAccess"),
        ("mnemon", "memoryView"),
        ("mnemon", "memoryTopology"),
        ("mnemon", "memoryTopology.layers.runtime"),
        ("mnemon", "memoryTopology.layers.runtime.participation"),
        ("mnemon", "memoryTopology.other.runtime.enabled"),
        ("mnemon", "conversationInteraction"),
        ("mnemon", "conversationInteraction.toolviews"),
        ("mnemon", "embedding.apiKey"),
        ("mnemon", "legacySettingsImported"),
        ("mnemon", "nonsense"),
        ("mnemon-ui", "toolviews"),
        ("mnemon-ui", "turnBar.x"),
        ("mnemon-view", "strategyTypeId"),
        ("else", "turnBar"),
    ],
)
def test_everything_else_is_refused(ns, path):
    with pytest.raises(AuthorityError) as caught:
        require_mutable(ns, [_set(path)])
    assert caught.value.code == "settings-path-immutable"
    assert caught.value.details["key"] == path


def test_a_layer_switch_takes_booleans_only():
    with pytest.raises(AuthorityError):
        require_mutable("mnemon", [_set("memoryTopology.layers.runtime.enabled", 1)])


def test_one_call_is_bounded():
    require_mutable("mnemon", [_set("writeEnabled")] * 16)
    with pytest.raises(InputError):
        require_mutable("mnemon", [])
    with pytest.raises(InputError):
        require_mutable("mnemon", [_set("writeEnabled")] * 17)

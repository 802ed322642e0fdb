"""The one short cue of a session."""

import attrs
import pytest
from dsh_mnemon_core.view import Guidance, Reminders
from dsh_mnemon_host.config import HostConfig
from dsh_mnemon_host.turn.cues import choose_cue

GIVEN = Guidance(reminders=Reminders(read="Read.", write="Write.", both="Both."))


@attrs.frozen
class Seen:
    guidance: Guidance | None = GIVEN


def cue(guidance=GIVEN, **settings):
    return choose_cue(Seen(guidance), HostConfig.model_validate(settings))


@pytest.mark.requirement("host:cue:switches")
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "Both."),
        ({"writebackMode": "off"}, "Read."),
        ({"writeEnabled": False}, "Read."),
        ({"recallMode": "off"}, "Write."),
        ({"recallMode": "off", "writebackMode": "off"}, None),
        ({"recallMode": "off", "writeEnabled": False}, None),
        ({"lifecycleEnabled": False}, None),
    ],
)
def test_the_switches_choose(settings, expected):
    assert cue(**settings) == expected


def test_what_a_strategy_leaves_out_stays_unsaid():
    assert cue(Guidance(reminders=Reminders(read="Read."))) is None


@pytest.mark.parametrize("guidance", [None, Guidance()])
def test_without_reminders_the_host_builds_one(guidance):
    both = cue(guidance)
    read = cue(guidance, writebackMode="off")
    write = cue(guidance, recallMode="off")
    assert both.startswith("[MNEMON] ")
    assert "route" in read
    assert "action" not in read
    assert "action" in write
    assert "receipt" in write
    assert "route" not in write
    assert len(both) > max(len(read), len(write))
    assert cue(guidance, lifecycleEnabled=False) is None

"""The Host's own sections of the system prompt."""

import pytest
from dsh_mnemon_host.agent_host import Section
from dsh_mnemon_host.turn.sections import (
    OWN_NAMES,
    PROTOCOL,
    ROUTING,
    STRATEGY,
    own_sections,
    replace_own,
)

MINE = Section(name="theirs", text="Theirs.", order=10)


def names(sections):
    return [section.name for section in sections]


async def view_of(host):
    async with host.agent().turn() as turn:
        return host.lifecycle.memory("main").view, turn


async def test_protocol_strategy_and_routing_in_this_order(home, told_rows):
    async with home.open(*told_rows()) as host:
        view, turn = await view_of(host)
    assert [(section.name, section.text) for section in turn.sections] == [
        (PROTOCOL, "The protocol."),
        (STRATEGY, "The strategy."),
        (ROUTING, "The routing."),
    ]
    assert turn.system == "The protocol.\n\nThe strategy.\n\nThe routing."
    assert names(own_sections(view, routing=True)) == [PROTOCOL, STRATEGY, ROUTING]


@pytest.mark.requirement("host:sections:routing")
async def test_routing_guidance_off_removes_that_section_only(home, told_rows):
    async with home.open(*told_rows(), settings="routingGuidance: false\n") as host:
        _, turn = await view_of(host)
    assert names(turn.sections) == [PROTOCOL, STRATEGY]
    assert turn.messages


async def test_a_strategy_without_routing_text_gets_the_fallback(home, told_rows):
    async with home.open(*told_rows(strategy={"guidance": None})) as host:
        _, turn = await view_of(host)
    [section] = turn.sections
    assert section.name == ROUTING
    for word in ("mnemon_view_route", "mnemon_view_action", "receipt", "never"):
        assert word in section.text


@pytest.mark.requirement("host:sections:protocol")
@pytest.mark.parametrize(
    ("source", "strategy"),
    [({}, {"mode": "routed"}), ({"type_id": "notes"}, {})],
    ids=["routed", "another type"],
)
async def test_protocol_stands_only_beside_an_eager_runtime(home, told_rows, source, strategy):
    async with home.open(*told_rows(source=source, strategy=strategy)) as host:
        _, turn = await view_of(host)
    assert names(turn.sections) == [STRATEGY, ROUTING]


async def test_protocol_goes_when_the_layer_does_not_project(home):
    layer = {"layers": {"runtime": {"participation": {"projection": "manual"}}}}
    async with home.open(overrides={"memoryTopology": layer}) as host:
        view, turn = await view_of(host)
    assert view.projection == ()
    assert PROTOCOL not in names(turn.sections)


@pytest.mark.requirement("host:sections:constant")
async def test_protocol_is_byte_identical_across_writes(home):
    async with home.open() as host:
        agent = host.agent()
        seen = []
        for number in range(3):
            async with agent.turn() as turn:
                seen.append(turn.sections)
                await turn.call(
                    "mnemon_runtime_memory",
                    {"action": "add", "target": "memory", "content": f"Fact {number}"},
                )
        assert len(home.stored()) == 3
    assert seen[0] == seen[1] == seen[2]
    assert seen[0][0].name == PROTOCOL


def test_without_a_view_only_the_fallback_stays():
    assert names(own_sections(None, routing=True)) == [ROUTING]
    assert own_sections(None, routing=False) == []


def test_stale_own_sections_are_replaced_at_the_end():
    stale = [Section(name=name, text="old", order=1) for name in sorted(OWN_NAMES)]
    fresh = own_sections(None, routing=True)
    assert replace_own([stale[0], MINE, *stale[1:]], fresh) == [MINE, *fresh]
    assert "mnemon:runtime-memory" in OWN_NAMES

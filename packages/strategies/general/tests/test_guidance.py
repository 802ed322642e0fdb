"""The trusted texts: every point the specification asks for."""

import re

import pytest
from dsh_mnemon_core.strategy import SourceSelection
from dsh_mnemon_strategy_general._guidance import PROTOCOL, ROUTING_CHARACTERS, routing


def holds(text, *patterns):
    flat = " ".join(text.split())
    missing = [pattern for pattern in patterns if not re.search(pattern, flat)]
    assert not missing


@pytest.mark.requirement("general:guidance:protocol")
@pytest.mark.parametrize(
    "patterns",
    [
        ("^MNEMON GENERAL MEMORY PROTOCOL ", "asks for now decides"),
        ("quotations", "can be wrong", "nothing in them is an instruction"),
        ("routing section lists every Source", "already in the context", "on-demand"),
        ("`MNEMON VIEW TOOLS` serves its own Source",),
        ("read with `mnemon_view_route`", "change with `mnemon_view_action`"),
        ("exactly the ids and schemas of the current `MNEMON VIEW ROUTES`",),
        ("offered is not thereby allowed", "until a receipt says so"),
        ("Source whose role suits", "one fact into one Source only"),
        ("Do not write evidence back", "secrets, guesses and passing progress"),
    ],
)
def test_the_protocol_covers(patterns):
    holds(PROTOCOL, *patterns)


def selection(source, routes=(), actions=()):
    key = source.source_instance_key
    return SourceSelection(source_instance_key=key, route_ids=routes, action_ids=actions)


@pytest.mark.requirement("general:guidance:routing")
def test_routing_names_every_source_its_place_and_its_access(make_source):
    chosen = [make_source("runtime"), make_source("tasks", role="task-log")]
    text = routing(
        chosen,
        [selection(chosen[0]), selection(chosen[1], ("list", "read"), ("append",))],
        {"source:runtime"},
    )
    heading, *lines = text.splitlines()
    assert heading
    assert lines == [
        "- source:runtime (runtime, role working-context): resident, 0 route(s), read-only",
        "- source:tasks (tasks, role task-log): on demand, 2 route(s), 1 action(s)",
    ]


@pytest.mark.requirement("general:guidance:nothing")
def test_without_sources_routing_says_to_go_on_without_memory():
    text = routing([], [], set())
    assert len(text.splitlines()) == 1
    holds(text, "No memory Source", "without memory")


@pytest.mark.requirement("general:guidance:bounded")
def test_routing_counts_the_lines_it_has_no_room_for(make_source):
    chosen = [
        make_source("t" * 128, f"source:{number:02}{'x' * 291}", role="r" * 128)
        for number in range(32)
    ]
    text = routing(chosen, [selection(source) for source in chosen], set())
    assert len(text) <= ROUTING_CHARACTERS
    lines = text.splitlines()[1:]
    assert len(lines) > 20
    assert f"and {32 - len(lines) + 1} more" in lines[-1]
    fitting = chosen[: len(lines) - 1]
    whole = routing(fitting, [selection(source) for source in fitting], set())
    assert whole.splitlines()[1:] == lines[:-1]

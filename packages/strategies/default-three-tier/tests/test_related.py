"""The single related traversal of a turn."""

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, InputError, SourceFault

SPACES = "source:memory-spaces"
OTHER = "source:team"


def row(name, space="a", **more):
    return {
        "id": name,
        "text": f"about {name}",
        "relevanceTier": "high",
        "memoryBodyId": space,
        **more,
    }


def grant(*spaces, key=SPACES):
    return {
        "id": f"g:{key}",
        "sourceInstanceKey": key,
        "schema": "dsh-mnemon.memory-spaces/v1",
        "value": {"memoryBodyIds": list(spaces)},
    }


async def related(turn, item_id, source=SPACES, results=None, fail=False, **input):
    return await turn.call(source, "related", {"id": item_id, **input}, results=results, fail=fail)


@pytest.fixture
async def recalled(make_turn):
    """Return a turn that has recalled ``m`` of Space a and ``n`` of Space b."""
    turn = make_turn()
    found = [row("m"), row("n", "b")]
    await turn.call(SPACES, "recall", {"query": "q"}, results=found)
    return turn


@pytest.mark.requirement("layered:related:admitted")
async def test_an_id_the_turn_has_not_admitted_reaches_no_source(make_turn):
    turn = make_turn()
    evidence = await related(turn, "m", memoryBodyId="a")
    assert turn.reads == []
    assert evidence.items == ()
    assert not evidence.truncated
    assert evidence.metadata == {"notRun": True}
    assert evidence.view_id == "view:1"
    assert evidence.route_id == f"{SPACES}/related"
    assert evidence.output["query"] == "related:m"
    assert evidence.output["mode"] == "related"
    assert "No store was asked" in evidence.output["hint"]


@pytest.mark.requirement("layered:related:admitted")
async def test_the_space_belongs_to_the_reference(recalled):
    assert (await related(recalled, "m", memoryBodyId="b")).output["results"] == ()
    assert len(recalled.reads) == 1


@pytest.mark.requirement("layered:related:admitted")
async def test_what_the_traversal_admitted_may_be_named_too(recalled):
    await related(recalled, "m", memoryBodyId="a", results=[row("k")])
    again = await related(recalled, "k", memoryBodyId="a")
    assert [item["id"] for item in again.output["results"]] == ["k"]


@pytest.mark.requirement("layered:related:input")
async def test_depth_edge_and_the_space_reach_the_source(recalled):
    await related(recalled, "m", memoryBodyId=" a ", depth=3, edge="causal", more=1)
    assert recalled.reads[-1]["input"] == {
        "id": "m",
        "memoryBodyId": "a",
        "depth": 3,
        "edge": "causal",
    }


@pytest.mark.requirement("layered:related:space")
async def test_the_only_granted_space_is_understood(make_turn):
    turn = make_turn(grants=[grant("a")])
    await turn.call(SPACES, "recall", {"query": "q"}, results=[row("m")])
    await related(turn, "m", results=[])
    assert turn.reads[-1]["input"] == {"id": "m", "memoryBodyId": "a"}


@pytest.mark.requirement("layered:related:space")
async def test_one_of_several_spaces_must_be_named_and_granted(recalled):
    with pytest.raises(InputError) as missing:
        await related(recalled, "m")
    assert missing.value.code == "related-space-required"
    with pytest.raises(AuthorityError) as outside:
        await related(recalled, "m", memoryBodyId="z")
    assert outside.value.code == "recall-space-outside-grant"


@pytest.mark.requirement("layered:related:ceilings")
async def test_four_rows_of_any_tier_but_low_are_let_in(recalled):
    found = [
        row("low", relevanceTier="low"),
        row("p", relevanceTier="medium"),
        row("q", relevanceTier="medium"),
        row("r", relevanceTier=None),
        row("s", relevanceTier=None),
        row("t"),
    ]
    evidence = await related(recalled, "m", memoryBodyId="a", results=found)
    assert [item.id for item in evidence.items] == ["p", "q", "r", "s"]
    assert evidence.truncated


@pytest.mark.requirement("layered:related:once")
async def test_a_second_traversal_replays_the_first_within_its_space(recalled):
    found = [row("p"), row("q", "b")]
    first = await related(recalled, "m", memoryBodyId="a", results=found)
    second = await related(recalled, "n", memoryBodyId="b")
    assert [item.id for item in second.items] == ["q"]
    assert second.truncated
    assert second.id == first.id
    assert second.output["query"] == "related:m"
    assert len(recalled.reads) == 2


@pytest.mark.requirement("layered:related:once")
async def test_another_instance_replays_as_empty(make_turn):
    turn = make_turn(grants=[grant("a"), grant("a", key=OTHER)])
    await turn.call(SPACES, "recall", {"query": "q"}, results=[row("m")])
    await turn.call(OTHER, "recall", {"query": "q"}, results=[row("n")])
    await related(turn, "m", results=[row("p")])
    foreign = await related(turn, "n", source=OTHER)
    assert foreign.items == ()
    assert foreign.source_instance_key == OTHER
    assert foreign.output["query"] == "related:n"
    assert len(turn.reads) == 3


@pytest.mark.requirement("layered:related:failure")
async def test_a_failed_traversal_frees_the_slot(recalled):
    with pytest.raises(SourceFault):
        await related(recalled, "m", memoryBodyId="a", fail=True)
    evidence = await related(recalled, "m", memoryBodyId="a", results=[row("p")])
    assert [item.id for item in evidence.items] == ["p"]


@pytest.mark.requirement("layered:related:once")
async def test_parallel_traversals_share_one_read(recalled):
    recalled.gates["m"] = anyio.Event()
    found = []

    async def traverse():
        found.append(await related(recalled, "m", memoryBodyId="a", results=[row("p")]))

    async with anyio.create_task_group() as group:
        group.start_soon(traverse)
        group.start_soon(traverse)
        await anyio.wait_all_tasks_blocked()
        recalled.gates["m"].set()
    assert [[item.id for item in evidence.items] for evidence in found] == [["p"], ["p"]]
    assert len(recalled.reads) == 2


@pytest.mark.requirement("layered:related:once")
async def test_a_traversal_does_not_use_up_recall(recalled):
    await related(recalled, "m", memoryBodyId="a", results=[row(name) for name in "pqrs"])
    evidence = await recalled.call(
        SPACES, "recall", {"query": "other"}, results=[row(name) for name in "ptuvwx"]
    )
    # Two of six were admitted before; what Related has shown is not shown again.
    assert [item.id for item in evidence.items] == ["t", "u", "v", "w"]


@pytest.mark.requirement("layered:related:hint")
async def test_every_situation_has_its_own_hint(make_turn, recalled):
    empty = make_turn(grants=[grant("a")])
    await empty.call(SPACES, "recall", {"query": "q"}, results=[row("m")])
    hints = [
        (await related(make_turn(), "m", memoryBodyId="a")).output["hint"],
        (await related(recalled, "m", memoryBodyId="a", results=[row("p")])).output["hint"],
        (await related(recalled, "m", memoryBodyId="a")).output["hint"],
        (await related(empty, "m", results=[])).output["hint"],
        (await related(empty, "m")).output["hint"],
    ]
    assert len(set(hints)) == len(hints)
    assert all(hints)

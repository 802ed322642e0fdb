"""Recall inside one executing turn."""

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, SourceFault
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SPACES = "source:memory-spaces"
OTHER = "source:team"
TWO_SOURCES = [
    {
        "id": f"g{number}",
        "sourceInstanceKey": key,
        "schema": "dsh-mnemon.memory-spaces/v1",
        "value": {"memoryBodyIds": ["a", "b"]},
    }
    for number, key in enumerate((SPACES, OTHER))
]


def rows(*names, space="a", **more):
    return [
        {
            "id": name,
            "text": f"about {name}",
            "relevanceTier": "high",
            "memoryBodyId": space,
            **more,
        }
        for name in names
    ]


def ids(evidence):
    return [item.id for item in evidence.items]


async def recall(turn, query, source=SPACES, results=None, fail=False, fields=None, **input):
    return await turn.call(
        source,
        "recall",
        {"query": query, **input},
        results=results,
        fail=fail,
        **(fields or {}),
    )


@pytest.mark.requirement("layered:recall:input")
async def test_only_query_mode_limit_and_spaces_reach_the_source(make_turn):
    turn = make_turn()
    await recall(
        turn,
        " q ",
        category="fact",
        intent="x",
        mode="basic",
        limit=9,
        memoryBodyIds=[" b ", "", "b"],
    )
    await recall(turn, "r", limit=2)
    assert [read["input"] for read in turn.reads] == [
        {"query": " q ", "mode": "basic", "limit": 6, "memoryBodyIds": ["b"]},
        {"query": "r", "limit": 2, "memoryBodyIds": ["a", "b"]},
    ]


@pytest.mark.requirement("layered:recall:spaces")
async def test_a_space_outside_the_grant_is_refused_before_any_attempt(make_turn):
    turn = make_turn(rows("p"))
    with pytest.raises(AuthorityError) as caught:
        await recall(turn, "q", memoryBodyIds=["a", "z"])
    assert caught.value.code == "recall-space-outside-grant"
    assert turn.reads == []
    await recall(turn, "q")
    await recall(turn, "r")
    assert len(turn.reads) == 2


@pytest.mark.requirement("layered:recall:output")
async def test_the_answer_names_query_mode_rows_hint_and_what_was_unavailable(make_turn):
    turn = make_turn()
    fields = {"unavailable": "b: offline", "metadata": {"k": 1}}
    evidence = await recall(turn, "q", results=rows("p"), fields=fields)
    hint = evidence.output["hint"]
    assert evidence.output == {
        "query": "q",
        "mode": "smart",
        "results": ({"id": "p", "content": "about p", "memoryBodyId": "a"},),
        "hint": hint,
        "unavailable": "b: offline",
    }
    assert evidence.id == "evidence-1"
    assert evidence.metadata == {"k": 1}
    assert evidence.observed_at == "2026-01-02T03:04:05.678Z"


@pytest.mark.requirement("layered:recall:ceilings")
async def test_limit_and_both_attempts_bound_the_results(make_turn):
    turn = make_turn()
    assert ids(await recall(turn, "q", results=rows(*"abcdef"), limit=3)) == ["a", "b", "c"]
    assert ids(await recall(turn, "r", results=rows(*"ghijkl"))) == ["g", "h", "i"]


@pytest.mark.requirement("layered:recall:ceilings")
async def test_what_the_source_truncated_stays_truncated(make_turn):
    turn = make_turn()
    evidence = await recall(turn, "q", results=rows("p"), fields={"truncated": True})
    assert evidence.truncated
    assert not (await recall(turn, "r", results=rows("s"))).truncated


@pytest.mark.requirement("layered:recall:replay")
async def test_a_replay_names_the_query_whose_evidence_it_shows(make_turn):
    turn = make_turn()
    first = await recall(turn, "C++ build!", results=rows("p"), mode="keyword")
    again = await recall(turn, "c++ BUILD")
    assert (again.output["query"], again.output["mode"]) == ("C++ build!", "keyword")
    assert (again.id, ids(again)) == (first.id, ["p"])
    await recall(turn, "C# build", results=rows("s"))
    third = await recall(turn, "third")
    assert third.output["query"] == "C# build"
    assert ids(third) == ["s"]
    assert len(turn.reads) == 2


@pytest.mark.requirement("layered:recall:replay")
async def test_a_replay_leaves_out_other_spaces_and_items_without_one(make_turn):
    turn = make_turn()
    found = [*rows("p"), *rows("q", space="b"), *rows("r", space=None)]
    assert ids(await recall(turn, "one", results=found)) == ["p", "q", "r"]
    await recall(turn, "two", results=found[:0])
    again = await recall(turn, "one")
    assert ids(again) == ["p", "q"]
    assert [row["id"] for row in again.output["results"]] == ["p", "q"]
    assert again.truncated


@pytest.mark.requirement("layered:recall:replay")
async def test_another_instance_gets_nothing_of_this_one_s_answer(make_turn):
    turn = make_turn(grants=TWO_SOURCES)
    await recall(turn, "one", results=rows("p"))
    latest = await recall(turn, "two", results=rows("q"))
    foreign = await recall(turn, "three", source=OTHER, mode="basic")
    assert ids(foreign) == []
    assert foreign.truncated
    assert foreign.source_instance_key == OTHER
    assert foreign.route_id == f"{OTHER}/recall"
    assert foreign.id == latest.id
    assert foreign.output["query"] == "three"
    assert foreign.output["mode"] == "basic"
    assert len(turn.reads) == 2


@pytest.mark.requirement("layered:recall:replay")
async def test_two_instances_share_the_budget_and_the_seen_contents(make_turn):
    turn = make_turn(grants=TWO_SOURCES)
    await recall(turn, "one", results=rows("p"))
    assert ids(await recall(turn, "one", source=OTHER, results=rows("p", "q"))) == ["q"]
    assert len(turn.reads) == 2


@pytest.mark.requirement("layered:recall:failure")
async def test_a_failed_attempt_does_not_count(make_turn):
    turn = make_turn(rows("p"))
    with pytest.raises(SourceFault) as caught:
        await recall(turn, "one", fail=True)
    assert caught.value.code == "provider-error"
    for query in ("one", "two", "three"):
        await recall(turn, query)
    assert len(turn.reads) == 3


@pytest.mark.requirement("layered:recall:cancel")
async def test_a_cancelled_attempt_does_not_count(make_turn):
    turn = make_turn(rows("p"), gates={"slow": anyio.Event()})
    with anyio.move_on_after(0.01) as scope:
        await recall(turn, "slow")
    assert scope.cancelled_caught
    await recall(turn, "one")
    await recall(turn, "two")
    assert len(turn.reads) == 3


@pytest.mark.requirement("layered:recall:hint")
async def test_every_situation_has_its_own_hint(make_turn):
    turn, empty = make_turn(), make_turn()
    said = {
        "first": await recall(turn, "one", results=rows("p")),
        "first-nothing": await recall(empty, "one", results=[]),
        "repeated-open": await recall(turn, "one"),
        "repeated-open-nothing": await recall(empty, "one"),
        "second": await recall(turn, "two", results=rows("q")),
        "second-nothing": await recall(empty, "two", results=[]),
        "repeated-closed": await recall(turn, "one"),
        "repeated-closed-nothing": await recall(empty, "one"),
        "third": await recall(turn, "three"),
        "third-nothing": await recall(empty, "three"),
    }
    hints = {name: evidence.output["hint"] for name, evidence in said.items()}
    assert len(set(hints.values())) == len(hints)
    allows = "One materially different query is still allowed."
    for name, hint in hints.items():
        assert (allows in hint) == ("first" in name or "open" in name)
        assert "stop searching" in hint.lower() or allows in hint


QUERIES = st.sampled_from(["one", "ONE!", "two", "three"])
RESULTS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from("pqrstuvw"),
            "text": st.sampled_from("123456789").map(lambda digit: digit * 700),
            "relevanceTier": st.sampled_from(["high", "high", "medium", None]),
            "memoryBodyId": st.sampled_from(["a", "b", None]),
        }
    ),
    max_size=8,
)
CALLS = st.lists(
    st.tuples(QUERIES, RESULTS, st.booleans(), st.sampled_from([None, ["a"]])), max_size=8
)


@pytest.mark.requirement("layered:recall:ceilings")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(CALLS)
def test_no_sequence_of_calls_gets_past_the_turn_budget(make_turn, calls):
    async def run():
        turn = make_turn()
        shown = {}
        failures = 0
        for query, results, fail, spaces in calls:
            before = len(turn.reads)
            try:
                evidence = await recall(
                    turn, query, results=results, fail=fail, memoryBodyIds=spaces or []
                )
            except SourceFault:
                failures += 1
                continue
            assert evidence.output["hint"]
            for item, row in zip(evidence.items, evidence.output["results"], strict=True):
                assert (item.id, item.text) == (row["id"], row["content"])
                assert len(item.text) <= 1_200
                if len(turn.reads) > before:
                    assert item.text not in shown.values()
                shown[(evidence.id, item.id, item.provenance["memoryBodyId"])] = item.text
        assert len(turn.reads) - failures <= 2
        assert len(shown) <= 6
        assert sum(map(len, shown.values())) <= 4_800

    anyio.run(run)

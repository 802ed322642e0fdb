"""Who answers which route inside a turn."""

import pytest

SPACES = "source:memory-spaces"
DOCUMENTS = "source:documents"


@pytest.mark.requirement("layered:inspect")
@pytest.mark.parametrize(
    ("texts", "output"),
    [
        (['{"items": [1, "two"], "total": 2}'], {"items": (1, "two"), "total": 2}),
        (["not json"], None),
        (['{"ratio": NaN}'], None),
        (["[" * 60 + "]" * 60], None),
        (["{}", "{}"], None),
        ([], None),
    ],
)
async def test_inspect_shows_a_single_json_item(make_turn, texts, output):
    turn = make_turn([{"id": f"i{number}", "text": text} for number, text in enumerate(texts)])
    evidence = await turn.call(SPACES, "inspect", {"section": "directory"})
    assert evidence.output == output
    assert [item.text for item in evidence.items] == texts
    assert turn.reads == [{"input": {"section": "directory"}}]


@pytest.mark.requirement("layered:inspect")
async def test_inspect_is_never_cut(make_turn):
    text = '{"all": "' + "x" * 11_000 + '"}'
    evidence = await make_turn([{"id": "i", "text": text}]).call(SPACES, "inspect", {})
    assert len(evidence.output["all"]) == 11_000
    assert not evidence.truncated


@pytest.mark.requirement("layered:dispatch")
@pytest.mark.parametrize(
    ("source", "route"),
    [(SPACES, "search"), (SPACES, "export-raw"), (DOCUMENTS, "recall"), (DOCUMENTS, "read")],
)
async def test_other_routes_pass_straight_through(make_turn, source, route):
    turn = make_turn([{"id": "p", "text": "x" * 5_000}] * 9)
    for _ in range(3):
        evidence = await turn.call(source, route, {"query": "q", "any": 1})
        assert len(evidence.items) == 9
        assert evidence.output is None
    assert turn.reads == [{"input": {"query": "q", "any": 1}}] * 3


@pytest.mark.requirement("layered:dispatch")
async def test_the_grant_decides_not_the_type_of_the_source(make_turn):
    grants = [
        {
            "id": "g",
            "sourceInstanceKey": "source:vault",
            "schema": "dsh-mnemon.memory-spaces/v1",
            "value": {"memoryBodyIds": ["a"]},
        }
    ]
    turn = make_turn([{"id": "p", "text": "t", "memoryBodyId": "a"}], grants)
    evidence = await turn.call("source:vault", "recall", {"query": "q"})
    assert evidence.output["mode"] == "smart"


@pytest.mark.requirement("layered:turn:isolated")
async def test_turns_share_nothing(make_turn):
    found = [{"id": "p", "text": "t", "memoryBodyId": "a"}]
    one, two = make_turn(found), make_turn(found)
    for turn in (one, two):
        for query in ("q", "r"):
            await turn.call(SPACES, "recall", {"query": query})
        await turn.call(DOCUMENTS, "search", {"query": "q"})
    assert len(one.reads) == len(two.reads) == 3
    three = make_turn(found)
    evidence = await three.call(SPACES, "related", {"id": "p", "memoryBodyId": "a"})
    assert evidence.items == ()

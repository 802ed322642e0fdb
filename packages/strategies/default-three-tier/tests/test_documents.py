"""The single Documents search of a turn."""

import pytest
from dsh_mnemon_core.errors import SourceFault

DOCUMENTS = "source:documents"


async def search(turn, query, results=None, fail=False, fields=None, **input):
    return await turn.call(
        DOCUMENTS,
        "search",
        {"query": query, **input},
        results=results,
        fail=fail,
        **(fields or {}),
    )


@pytest.mark.requirement("layered:documents:input")
@pytest.mark.parametrize(
    ("given", "reads"),
    [
        ({}, {"includeArchived": False, "limit": 4}),
        ({"limit": 9}, {"includeArchived": False, "limit": 4}),
        ({"limit": 2.0}, {"includeArchived": False, "limit": 2}),
        ({"limit": 0}, {"includeArchived": False, "limit": 4}),
        ({"limit": -3}, {"includeArchived": False, "limit": 1}),
        ({"includeArchived": True}, {"includeArchived": True, "limit": 4}),
        ({"includeArchived": "yes"}, {"includeArchived": False, "limit": 4}),
    ],
)
async def test_the_read_is_bounded(make_turn, given, reads):
    turn = make_turn()
    await search(turn, " q ", **given)
    assert turn.reads == [
        {"input": {"query": "q", **reads}, "limits": {"maxResults": 4, "maxCharacters": 6_000}}
    ]


@pytest.mark.requirement("layered:documents:rows")
async def test_rows_show_known_fields_clipped(make_turn):
    match = {
        "id": "doc",
        "text": "body",
        "score": 0.0,
        "revision": "7",
        "kind": "match",
        "documentId": "doc",
        "title": "t" * 201,
        "description": "d" * 501,
        "status": "active",
        "relativePath": "p" * 501,
        "sourcePaths": ["s" * 501] * 9,
        "truncated": True,
    }
    evidence = await search(make_turn(), "q", results=[match])
    row = evidence.output["results"][0]
    assert list(row) == [
        "id",
        "title",
        "description",
        "status",
        "relativePath",
        "sourcePaths",
        "score",
        "revision",
        "truncated",
        "content",
    ]
    assert (row["title"], row["description"]) == ("t" * 199 + "…", "d" * 499 + "…")
    assert (len(row["relativePath"]), len(row["sourcePaths"])) == (500, 8)
    assert (row["score"], row["revision"], row["truncated"]) == (0.0, 7, True)
    assert evidence.items[0].text == "body"


@pytest.mark.requirement("layered:documents:rows")
async def test_absent_fields_stay_absent(make_turn):
    evidence = await search(make_turn(), "q", results=[{"id": "d", "text": "b", "revision": "r1"}])
    assert evidence.output["results"] == ({"id": "d", "content": "b"},)


@pytest.mark.requirement("layered:documents:rows")
@pytest.mark.parametrize(
    ("metadata", "total"), [(None, 1), ({}, 1), ({"total": 12}, 12), ({"total": 0}, 0)]
)
async def test_the_total_is_the_sources_or_the_count(make_turn, metadata, total):
    found = [{"id": "d", "text": "b"}]
    evidence = await search(make_turn(), "q", results=found, fields={"metadata": metadata})
    assert evidence.output["total"] == total


@pytest.mark.requirement("layered:documents:suggestions")
async def test_suggestions_stand_apart_with_their_own_hint(make_turn):
    suggestion = {
        "id": "d",
        "text": "an excerpt",
        "score": 0,
        "kind": "suggestion",
        "documentId": "d",
        "title": "T",
        "description": "D",
        "status": "active",
        "relativePath": "not shown",
    }
    fields = {"metadata": {"total": 0}, "unavailable": "partly offline"}
    evidence = await search(make_turn(), "q", results=[suggestion], fields=fields)
    output = evidence.output
    assert output["results"] == ()
    assert output["total"] == 0
    assert output["suggestions"] == (
        {"id": "d", "title": "T", "description": "D", "status": "active", "excerpt": "an excerpt"},
    )
    assert output["suggestionHint"]
    assert output["unavailable"] == "partly offline"


@pytest.mark.requirement("layered:documents:slot")
async def test_a_second_search_is_not_run(make_turn):
    turn = make_turn([{"id": "d", "text": "b"}])
    await search(turn, "one")
    evidence = await search(turn, " two ", includeArchived=True)
    hint = evidence.output["hint"]
    assert evidence.output == {
        "query": "two",
        "includeArchived": True,
        "notRun": True,
        "results": (),
        "hint": hint,
    }
    assert evidence.items == ()
    assert evidence.source_instance_key == DOCUMENTS
    assert len(turn.reads) == 1


@pytest.mark.requirement("layered:documents:slot")
async def test_a_failed_search_keeps_the_slot(make_turn):
    turn = make_turn()
    with pytest.raises(SourceFault):
        await search(turn, "one", fail=True)
    assert (await search(turn, "one")).output["notRun"] is True


@pytest.mark.requirement("layered:documents:hint")
async def test_every_situation_has_its_own_hint(make_turn):
    turn, empty = make_turn([{"id": "d", "text": "b"}]), make_turn()
    hints = [
        (await search(turn, "q")).output["hint"],
        (await search(empty, "q")).output["hint"],
        (await search(turn, "q")).output["hint"],
    ]
    assert len(set(hints)) == len(hints)

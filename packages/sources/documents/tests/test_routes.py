"""The mounted source: its routes search and read."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, InputError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_testing import RunningSource

BOOK = {"title": "Release 发布", "content": "Tag, build, 部署 and announce.", "description": "How"}


async def create(source: RunningSource, **fields: Any) -> dict[str, Any]:
    receipt = await source.mutate("create", {**BOOK, **fields})
    return receipt.details["document"]


async def read(source: RunningSource, operation: str, value: Any = None) -> Any:
    request = ManagementRequest(
        source_instance_key=source.key,
        scope=source.scope,
        mode="read",
        operation=operation,
        input=value,
    )
    return (await source.live.runtime.manage(request)).value


@pytest.mark.requirement("documents:route:search")
async def test_a_match_says_where_it_comes_from(source: RunningSource) -> None:
    document = await create(source, sourcePaths=[f"src/{n}.py" for n in range(10)])
    for query in ("announce", "部署"):
        found = await source.query("search", {"query": query})
        (item,) = found.items
        assert item.id == document["id"]
        assert item.text == BOOK["content"]
        assert item.revision == "1"
        assert item.score == 5
        assert item.provenance == {
            "kind": "match",
            "documentId": document["id"],
            "title": "Release 发布",
            "description": "How",
            "status": "active",
            "relativePath": document["relativePath"],
            "sourcePaths": [f"src/{n}.py" for n in range(8)],
        }
        assert found.truncated is False
        assert found.metadata == {"query": query, "includeArchived": False, "total": 1}


@pytest.mark.requirement("documents:route:search")
async def test_long_bodies_show_the_passage_and_say_so(source: RunningSource) -> None:
    for number in range(4):
        await create(source, title=f"Long {number}", content="a" * 5000 + " needle " + "b" * 5000)
    found = await source.query("search", {"query": "needle"}, characters=6000)
    assert found.truncated is True
    assert [len(item.text) for item in found.items] == [2600, 2600, 800]
    assert all("needle" in item.text for item in found.items)
    assert {item.provenance["truncated"] for item in found.items} == {True}
    assert {item.provenance["readRoute"] for item in found.items} == {"read"}
    assert found.metadata["total"] == 4


@pytest.mark.requirement("documents:route:search")
@pytest.mark.parametrize(
    ("limit", "count"), [(None, 10), (0, 1), (-5, 1), (2, 2), (2.0, 2), (20, 12), (99, 12)]
)
async def test_limits_are_clamped(source: RunningSource, limit: Any, count: int) -> None:
    for number in range(12):
        await create(source, title=f"Note {number}")
    asked = {"query": "tag"} if limit is None else {"query": "tag", "limit": limit}
    assert len((await source.query("search", asked, results=20)).items) == count
    assert len((await source.query("search", asked, results=1)).items) == 1


@pytest.mark.requirement("documents:route:suggestions")
async def test_without_a_match_the_latest_are_suggested(source: RunningSource, clock: Any) -> None:
    for number in range(5):
        clock.advance(1)
        await create(source, title=f"Note {number}", content=f"# Text {number}\n" + "x" * 300)
    found = await source.query("search", {"query": "absent"})
    assert [item.provenance["title"] for item in found.items] == ["Note 4", "Note 3", "Note 2"]
    assert {item.score for item in found.items} == {0}
    first = found.items[0]
    assert first.text.startswith("Text 4 xxx")
    assert len(first.text) == 220
    assert set(first.provenance) == {"kind", "documentId", "title", "description", "status"}
    assert first.provenance["kind"] == "suggestion"
    assert found.metadata["total"] == 0
    assert len((await source.query("search", {"query": "absent", "limit": 1})).items) == 1
    narrow = await source.query("search", {"query": "absent"}, characters=250)
    assert [len(item.text) for item in narrow.items] == [220, 30]
    assert (await source.query("search", {"query": " "})).items[0].provenance["kind"] == "match"


@pytest.mark.requirement("documents:route:archived")
async def test_archived_documents_need_to_be_asked_for(source: RunningSource) -> None:
    document = await create(source)
    await source.manage("archive", {"id": document["id"]})
    assert not (await source.query("search", {"query": "tag"})).items
    found = await source.query("search", {"query": "tag", "includeArchived": True})
    assert found.items[0].provenance["status"] == "archived"


@pytest.mark.requirement("documents:route:grant")
async def test_only_what_was_pinned_is_found_but_as_it_is_now(source: RunningSource) -> None:
    document = await create(source)
    grant = await source.grant()
    await create(source, title="Later")
    update = {"action": "update", "id": document["id"], "content": "Tag twice.", "revision": 1}
    await source.mutate("manage", update)
    found = await source.query("search", {"query": "tag"}, grant=grant)
    assert [(item.id, item.text) for item in found.items] == [(document["id"], "Tag twice.")]
    for forged in (attrs.evolve(grant, schema="other/v1"), attrs.evolve(grant, value={})):
        with pytest.raises(AuthorityError) as caught:
            await source.query("search", {"query": "tag"}, grant=forged)
        assert caught.value.code == "grant-invalid"


@pytest.mark.requirement("documents:route:search")
async def test_a_query_of_ten_thousand_characters_is_refused(source: RunningSource) -> None:
    with pytest.raises(InputError) as caught:
        await source.query("search", {"query": "x" * 10_000})
    assert caught.value.code == "text-too-long"
    assert caught.value.details["limit"] == 2000
    assert (await source.query("search", {"query": "x" * 2000})).items == ()


@pytest.mark.requirement("documents:route:read")
async def test_reading_page_by_page(source: RunningSource) -> None:
    body = "".join(chr(0x4E00 + number % 5000) for number in range(30_000))
    document = await create(source, content=body)
    pages: list[str] = []
    offset: int | None = 0
    while offset is not None:
        asked = {"id": document["id"], "offset": offset} if offset else {"id": document["id"]}
        found = await source.query("read", asked)
        (item,) = found.items
        pages.append(item.text)
        assert item.revision == "1"
        assert found.metadata["revision"] == 1
        assert found.metadata["totalCharacters"] == 30_000
        offset = found.metadata.get("nextOffset")
        assert found.truncated == (offset is not None)
    assert [len(page) for page in pages] == [12_000, 12_000, 6_000]
    assert "".join(pages) == body
    with pytest.raises(InputError) as caught:
        await source.query("read", {"id": document["id"], "offset": 30_000})
    assert caught.value.code == "offset-out-of-range"


@pytest.mark.requirement("documents:route:read")
async def test_reading_stays_within_the_grant(source: RunningSource) -> None:
    cold = await create(source)
    await source.manage("archive", {"id": cold["id"]})
    grant = await source.grant()
    later = await create(source)
    assert (await source.query("read", {"id": cold["id"]}, grant=grant)).items
    for document_id in (later["id"], "absent"):
        with pytest.raises(AuthorityError) as caught:
            await source.query("read", {"id": document_id}, grant=grant)
        assert caught.value.code == "document-outside-grant"


@pytest.mark.requirement("documents:route:read")
async def test_reading_counts_as_use(source: RunningSource, clock: Any) -> None:
    document = await create(source)
    clock.advance(60)
    await source.query("read", {"id": document["id"]})
    (row,) = (await read(source, "snapshot"))["documents"]
    assert row["lastAccessedAt"] == "2026-03-01T12:01:00.000Z"


@pytest.mark.requirement("documents:route:search")
async def test_an_unknown_route_or_action_is_refused(source: RunningSource) -> None:
    request = source.query_request("search", {"query": ""}, await source.grant())
    route = attrs.evolve(request.route, source_route_id="other")
    with pytest.raises(InputError) as caught:
        await source.dispatch(attrs.evolve(request, route=route))
    assert caught.value.code == "route-unsupported"
    change = await source.mutate_request("create", BOOK)
    offer = attrs.evolve(change.offer, source_action_id="other")
    with pytest.raises(InputError) as caught:
        await source.execute(attrs.evolve(change, offer=offer))
    assert caught.value.code == "action-unsupported"

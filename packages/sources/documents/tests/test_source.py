"""The mounted source: facts, projection, routes, actions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError, StorageError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing import RunningSource

BOOK = {"title": "Release 发布", "content": "Tag, build, 部署 and announce.", "description": "How"}


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


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


# -- facts and projection --------------------------------------------------------------------------


@pytest.mark.requirement("documents:facts:workspace")
async def test_without_a_workspace_nothing_is_offered(
    run_source: Callable[..., RunningSource], source: RunningSource
) -> None:
    grant = await source.grant()
    homeless = run_source(workspace_id=None)
    facts = await homeless.facts()
    assert (facts.availability, facts.revision) == ("unavailable", "unavailable:no-workspace")
    assert (facts.capabilities, facts.route_ids, facts.action_ids) == (("status",), (), ())
    assert facts.hints == {"reason": "no-workspace"}
    for call in (
        lambda: homeless.project(revision="any"),
        lambda: homeless.query("search", {"query": ""}, grant=grant),
        lambda: homeless.manage("mutate", {"action": "create"}, expected_revision="x"),
    ):
        with pytest.raises(AuthorityError) as caught:
            await call()
        assert caught.value.code == "workspace-required"


@pytest.mark.requirement("documents:facts:workspace")
@pytest.mark.parametrize("workspace_id", ["relative", "/nowhere/at/all"])
async def test_a_workspace_that_is_no_folder_makes_it_unavailable(
    run_source: Callable[..., RunningSource], workspace_id: str
) -> None:
    facts = await run_source(workspace_id=workspace_id).facts()
    assert facts.availability == "unavailable"
    assert facts.hints == {"reason": "workspace-unavailable", "file": workspace_id}


@pytest.mark.requirement("documents:facts:damaged")
async def test_a_damaged_index_is_named_and_left_alone(source: RunningSource, folder: Path) -> None:
    index = folder / "index.json"
    write(index, b"{")
    facts = await source.facts()
    assert facts.availability == "unavailable"
    assert facts.hints == {"reason": "not-json", "file": str(index)}
    with pytest.raises(StorageError) as caught:
        await source.manage("mutate", {"action": "create", **BOOK}, expected_revision="x")
    assert caught.value.code == "index-damaged"
    diagnosis = await read(source, "diagnose")
    assert diagnosis["readable"] is False
    assert diagnosis["reason"] == "not-json"
    assert index.read_bytes() == b"{"


@pytest.mark.requirement("documents:facts:ready")
async def test_facts_count_what_can_be_read(source: RunningSource, folder: Path) -> None:
    first = await create(source)
    await create(source, title="Second")
    facts = await source.facts()
    assert facts.hints == {"activeCount": 2}
    assert facts.route_ids == ("search", "read")
    assert facts.action_ids == ("manage", "create")
    (folder.parent / first["relativePath"]).unlink()
    assert (await source.facts()).hints == {"activeCount": 1, "unhealthyCount": 1}


@pytest.mark.requirement("documents:projection:cover")
async def test_the_cover_counts_and_names_the_route(source: RunningSource) -> None:
    texts: list[str] = []
    for _ in range(3):
        (fragment,) = (await source.project()).fragments
        texts.append(fragment.text)
        await create(source)
    end = "available through the documents/search route."
    assert texts == [
        f"0 active project Documents {end}",
        f"1 active project Document {end}",
        f"2 active project Documents {end}",
    ]
    (fragment,) = (await source.project(10)).fragments
    assert fragment.text == "3 active …"


@pytest.mark.requirement("documents:projection:grant")
async def test_the_grant_names_what_can_be_read(source: RunningSource, workspace: str) -> None:
    kept, cold = await create(source), await create(source, title="Cold")
    await source.manage("archive", {"id": cold["id"]})
    contribution = await source.project()
    grant = contribution.read_grant
    assert grant is not None
    assert grant.schema == "dsh-mnemon.documents/v1"
    assert grant.value == {
        "workspaceRoot": workspace,
        "documentIds": [kept["id"]],
        "archivedDocumentIds": [cold["id"]],
    }
    presentation = contribution.presentation
    assert presentation is not None
    assert presentation.items is not None
    assert [(item.title, item.excerpt) for item in presentation.items] == [("Release 发布", "How")]
    assert (presentation.visible_items, presentation.total_items) == (1, 2)


@pytest.mark.requirement("documents:projection:revision")
async def test_a_projection_is_what_its_facts_saw(source: RunningSource) -> None:
    before = await source.facts()
    await create(source)
    (fragment,) = (await source.project(revision=before.revision)).fragments
    assert fragment.text.startswith("0 active")
    with pytest.raises(ConflictError) as caught:
        await source.project(revision="another")
    assert caught.value.code == "projection-revision-changed"


@pytest.mark.requirement("documents:projection:revision")
async def test_old_captures_are_forgotten(
    source: RunningSource, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents.source._CAPTURES", 1)
    before = await source.facts()
    await create(source)
    await source.facts()
    with pytest.raises(ConflictError):
        await source.project(revision=before.revision)


@pytest.mark.requirement("documents:projection:grant")
async def test_of_too_many_documents_the_latest_are_granted(
    source: RunningSource, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents._projection._GRANTED", 2)
    ids: list[str] = []
    for _ in range(3):
        clock.advance(1)
        ids.append((await create(source))["id"])
    assert list((await source.grant()).value["documentIds"]) == sorted(ids[1:])


@pytest.mark.requirement("documents:revision:search")
async def test_a_search_never_changes_the_revision(source: RunningSource, clock: Any) -> None:
    await create(source)
    before = (await source.facts()).revision
    clock.advance(60)
    assert (await source.query("search", {"query": "tag"})).items
    assert (await source.facts()).revision == before
    await source.dispose()
    assert (await source.facts()).revision == before


# -- routes ----------------------------------------------------------------------------------------


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


# -- bad bodies ------------------------------------------------------------------------------------


@pytest.mark.requirement("documents:health:isolated")
@pytest.mark.parametrize("fault", ["missing", "not-a-regular-file", "folder", "not-unicode"])
async def test_one_bad_body_harms_no_other(source: RunningSource, folder: Path, fault: str) -> None:
    good, bad = await create(source, title="Good"), await create(source, title="Bad")
    grant = await source.grant()
    path = folder.parent / bad["relativePath"]
    path.unlink()
    if fault == "not-a-regular-file":
        path.symlink_to(folder.parent / good["relativePath"])
    elif fault == "folder":
        path.mkdir()
    elif fault == "not-unicode":
        path.write_bytes(b"\xff\xfe tag")
    reason = "not-a-regular-file" if fault == "folder" else fault
    found = await source.query("search", {"query": "tag"}, grant=grant)
    assert [item.id for item in found.items] == [good["id"]]
    assert found.metadata["unhealthy"] == [bad["id"]]
    assert found.unavailable is not None
    assert f"Bad ({reason})" in found.unavailable
    with pytest.raises(StorageError) as caught:
        await source.query("read", {"id": bad["id"]}, grant=grant)
    assert caught.value.code == "document-unreadable"
    assert caught.value.details["reason"] == reason
    assert (await source.grant()).value["documentIds"] == [good["id"]]
    listed = (await read(source, "snapshot"))["documents"]
    assert [(row["healthy"], bool(row["excerpt"])) for row in listed] == [
        (True, True),
        (False, False),
    ]
    assert (await read(source, "diagnose"))["unhealthy"] == [
        {"id": bad["id"], "title": "Bad", "reason": reason}
    ]
    assert (await read(source, "search", {"query": "tag"}))["unhealthy"] == [
        {"id": bad["id"], "title": "Bad", "reason": reason}
    ]
    update = {"action": "update", "id": good["id"], "content": "Tag again.", "revision": 1}
    assert (await source.mutate("manage", update)).completion == "committed"


@pytest.mark.requirement("documents:health:isolated")
async def test_a_body_that_was_mended_is_found_again(source: RunningSource, folder: Path) -> None:
    document = await create(source)
    path = folder.parent / document["relativePath"]
    text = path.read_bytes()
    path.write_bytes(b"\xff")
    assert not (await source.query("search", {"query": "tag"})).items
    assert (await source.facts()).hints == {"activeCount": 0, "unhealthyCount": 1}
    path.write_bytes(text)
    assert (await source.facts()).hints == {"activeCount": 1}
    assert (await source.query("search", {"query": "tag"})).items


@pytest.mark.requirement("documents:health:isolated")
async def test_a_record_that_leaves_the_folder_is_never_followed(
    source: RunningSource,
    folder: Path,
    make_record: Callable[..., DocumentRecord],
    write_store: Callable[..., None],
) -> None:
    good = make_record("good", "Tag")
    write_store([(good, "Tag")])
    outside = folder.parent / "outside.md"
    outside.write_text("Secret", encoding="utf-8")
    bad = make_record("bad", relative_path="documents/active/../../outside.md")
    from dsh_mnemon_source_documents._index import encode

    (folder / "index.json").write_bytes(encode([bad, good]))
    found = await source.query("search", {"query": ""})
    assert [item.id for item in found.items] == ["good"]
    assert "unsafe-path" in (found.unavailable or "")
    with pytest.raises(StorageError) as caught:
        await source.manage("mutate", {"action": "update", "id": "bad", "content": "Overwrite it"})
    assert caught.value.code == "document-unreadable"
    assert outside.read_text(encoding="utf-8") == "Secret"


@pytest.mark.requirement("documents:health:isolated")
async def test_many_bad_bodies_are_named_in_short(source: RunningSource, folder: Path) -> None:
    for number in range(8):
        await create(source, title=f"Note {number}")
    for path in (folder / "active").iterdir():
        path.unlink()
    found = await source.query("search", {"query": "tag"})
    assert found.unavailable is not None
    assert "and 3 more" in found.unavailable


@pytest.mark.requirement("documents:body:live")
async def test_a_body_edited_by_hand_is_what_is_found_and_kept(
    source: RunningSource, folder: Path
) -> None:
    document = await create(source)
    path = folder.parent / document["relativePath"]
    front = path.read_text(encoding="utf-8").split("\n---\n")[0]
    path.write_text(f"{front}\n---\n\nWritten by hand.\n", encoding="utf-8")
    found = await source.query("search", {"query": "hand"})
    assert found.items[0].text == "Written by hand."
    update = {"action": "update", "id": document["id"], "content": "Anew", "revision": 1}
    await source.mutate("manage", update)
    listed = await read(source, "history", {"id": document["id"], "revision": 1})
    assert listed["content"] == "Written by hand."


@pytest.mark.requirement("documents:body:live")
@pytest.mark.parametrize("broken", ["---\nid: [\n---\n\nBody", "---\nno end\nBody", "Body", ""])
async def test_broken_front_matter_is_no_matter(
    source: RunningSource, folder: Path, broken: str
) -> None:
    document = await create(source)
    path = folder.parent / document["relativePath"]
    path.write_text(broken, encoding="utf-8")
    if broken:
        assert (await source.query("search", {"query": "body"})).items
    update = {"action": "update", "id": document["id"], "content": "Anew", "revision": 1}
    assert (await source.mutate("manage", update)).details["document"]["title"] == "Release 发布"
    assert path.read_text(encoding="utf-8").startswith(f'---\nid: "{document["id"]}"\n')


# -- actions ---------------------------------------------------------------------------------------


@pytest.mark.requirement("documents:update:guard")
async def test_new_content_needs_the_revision_that_was_read(source: RunningSource) -> None:
    document = await create(source)
    update: dict[str, Any] = {"action": "update", "id": document["id"], "content": "Anew"}
    with pytest.raises(InputError) as required:
        await source.mutate("manage", update)
    assert required.value.code == "revision-required"
    receipt = await source.mutate("manage", {**update, "expectedRevision": 1})
    assert receipt.details["action"] == "updated"
    assert receipt.details["document"]["revision"] == 2
    with pytest.raises(ConflictError) as conflict:
        await source.mutate("manage", {**update, "revision": 1})
    assert conflict.value.code == "revision-conflict"
    assert conflict.value.details["current"] == 2
    # A new title alone replaces nothing that had to be read.
    receipt = await source.mutate(
        "manage", {"action": "update", "id": document["id"], "title": "T"}
    )
    assert receipt.details["document"]["content"] == "Anew"


@pytest.mark.requirement("documents:update:grant")
async def test_an_update_stays_within_the_grant(source: RunningSource) -> None:
    request = await source.mutate_request(
        "manage", {"action": "update", "id": "later", "title": "T"}
    )
    with pytest.raises(AuthorityError) as caught:
        await source.execute(request)
    assert caught.value.code == "document-outside-grant"
    with pytest.raises(InputError) as missing:
        await source.mutate("manage", {"action": "update", "title": "T"})
    assert missing.value.code == "text-required"
    with pytest.raises(InputError) as unknown:
        await source.execute(attrs.evolve(request, grant=None))
    assert unknown.value.code == "document-not-found"


@pytest.mark.requirement("documents:create:step")
async def test_a_receipt_shows_document_and_store(source: RunningSource) -> None:
    receipt = await source.mutate("create", {**BOOK, "sessionIds": ["s1"]})
    assert receipt.completion == "committed"
    assert receipt.revision == (await source.facts()).revision
    details = receipt.details
    assert set(details) == {"success", "action", "document", "snapshot"}
    assert (details["success"], details["action"]) == (True, "created")
    assert details["document"]["content"] == BOOK["content"]
    assert details["document"]["sessionIds"] == ("s1",)
    assert details["snapshot"]["activeCount"] == 1
    assert details["snapshot"]["documents"][0]["excerpt"] == BOOK["content"]


@pytest.mark.requirement("documents:create:titles")
@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ("....", "document"),
        ("CON", "con"),
        ("नमस्ते दुनिया", "document"),
        ("العربية", "document"),
        ("a/b\\c:d*e?", "a-b-c-d-e"),
        ("x" * 160, "x" * 48),
        ("👍 ok\0", "ok"),
    ],
)
async def test_titles_of_any_kind(
    source: RunningSource, folder: Path, title: str, name: str
) -> None:
    document = await create(source, title=title)
    assert document["filename"] == f"{name}-{document['id'][:8]}.md"
    assert (folder / "active" / document["filename"]).is_file()
    assert (await source.query("search", {"query": document["title"]})).items


@pytest.mark.requirement("documents:create:titles")
async def test_a_title_of_five_hundred_characters_is_refused(source: RunningSource) -> None:
    with pytest.raises(InputError) as caught:
        await create(source, title="x" * 500)
    assert caught.value.code == "text-too-long"
    assert caught.value.details["limit"] == 160

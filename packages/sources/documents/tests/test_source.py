"""The mounted source: facts, projection, actions."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError, StorageError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_documents._library import Library
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


@pytest.mark.requirement("documents:error:place")
async def test_what_a_model_is_told_names_no_place_of_the_machine(
    run_source: Callable[..., RunningSource], source: RunningSource, folder: Path, tmp_path: Path
) -> None:
    document = await create(source)
    grant = await source.grant()
    (folder.parent / document["relativePath"]).unlink()
    with pytest.raises(StorageError) as missing:
        await source.query("read", {"id": document["id"]}, grant=grant)
    assert f"(active/{document['filename']})" in missing.value.message
    request = await source.mutate_request("create", BOOK)
    write(folder / "index.json", b"{")
    for call in (
        lambda: source.query("search", {"query": "tag"}, grant=grant),
        lambda: source.execute(request),
    ):
        with pytest.raises(StorageError) as damaged:
            await call()
        assert damaged.value.message.startswith("index.json is damaged")
        assert damaged.value.details["file"] == str(folder / "index.json")
    homeless = run_source(workspace_id=str(tmp_path / "nowhere"))
    with pytest.raises(StorageError) as unavailable:
        await homeless.query("search", {"query": "tag"}, grant=grant)
    for error in (missing, damaged, unavailable):
        assert str(tmp_path) not in error.value.message


@pytest.mark.requirement("documents:facts:damaged")
async def test_a_damaged_index_is_named_and_left_alone(source: RunningSource, folder: Path) -> None:
    index = folder / "index.json"
    write(index, b"{")
    facts = await source.facts()
    assert facts.availability == "unavailable"
    assert facts.hints.keys() == {"reason", "file", "problem", "remedy"}
    assert (facts.hints["reason"], facts.hints["file"]) == ("not-json", str(index))
    assert "line 1 column 2" in facts.hints["problem"]
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
    assert "next turn" in caught.value.message
    with pytest.raises(InputError) as missing:
        await source.mutate("manage", {"action": "update", "title": "T"})
    assert missing.value.code == "text-required"
    with pytest.raises(InputError) as unknown:
        await source.execute(attrs.evolve(request, grant=None))
    assert unknown.value.code == "document-not-found"


@pytest.mark.requirement("documents:update:grant")
async def test_an_update_of_an_archived_document_says_what_to_do(source: RunningSource) -> None:
    created = await source.mutate("create", {"title": "Note", "content": "Text"})
    document = created.details["document"]
    await source.manage("archive", {"id": document["id"]})
    with pytest.raises(AuthorityError) as caught:
        await source.mutate("manage", {"action": "update", "id": document["id"], "title": "T"})
    assert caught.value.code == "document-outside-grant"
    assert "archived" in caught.value.message
    assert "restore it" in caught.value.message


@pytest.mark.requirement("documents:store:unreadable")
async def test_a_store_that_cannot_be_reached_is_unavailable(
    source: RunningSource, folder: Path
) -> None:
    os.symlink(folder.name, folder)
    facts = await source.facts()
    assert facts.availability == "unavailable"
    assert facts.hints == {"reason": "ELOOP", "file": str(folder / "index.json")}
    with pytest.raises(StorageError) as caught:
        await source.manage("adopt", None, expected_revision="any")
    assert caught.value.code == "store-unwritable"


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


async def test_a_source_that_is_not_asked_makes_no_library(
    run_source: Callable[..., RunningSource], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []

    class Counted(Library):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            made.append(self)

    monkeypatch.setattr("dsh_mnemon_source_documents._library.Library", Counted)
    await run_source().dispose()
    assert made == []
    source = run_source()
    for _ in range(2):
        assert (await source.facts()).availability == "ready"
    await source.dispose()
    assert len(made) == 1

"""Management operations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import ConflictError, InputError, ManagementError, MnemonError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_testing import RunningSource


def exists(path: Path) -> bool:
    return path.exists()


async def read(source: RunningSource, operation: str, value: Any = None) -> Any:
    request = ManagementRequest(
        source_instance_key=source.key,
        scope=source.scope,
        mode="read",
        operation=operation,
        input=value,
    )
    return (await source.live.runtime.manage(request)).value


async def create(source: RunningSource, title: str = "Note", content: str = "Text") -> Any:
    value = {"action": "create", "title": title, "content": content}
    return (await source.manage("mutate", value)).value["document"]


async def update(source: RunningSource, document_id: str, content: str) -> Any:
    value = {"action": "update", "id": document_id, "content": content}
    return (await source.manage("mutate", value)).value["document"]


@pytest.mark.requirement("documents:manage:snapshot")
async def test_snapshot(source: RunningSource, folder: Path, workspace: str) -> None:
    document = await create(source, content="# Text")
    facts = await source.facts()
    snapshot = await read(source, "snapshot")
    row = snapshot.pop("documents")[0]
    assert snapshot == {
        "workspaceRoot": workspace,
        "directory": str(folder),
        "indexPath": str(folder / "index.json"),
        "generatedAt": "2026-03-01T12:00:00.000Z",
        "revision": facts.revision,
        "limitBytes": 10_485_760,
        "activeBytes": document["sizeBytes"],
        "activeCount": 1,
        "archivedCount": 0,
        "total": 1,
    }
    del document["content"]
    assert row == {**document, "healthy": True, "excerpt": "Text"}


@pytest.mark.requirement("documents:manage:snapshot")
async def test_answers_to_changes_list_the_latest(
    source: RunningSource, clock: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents._library._LISTED", 2)
    first = await create(source, "A")
    for title in ("B", "C"):
        clock.advance(1)
        await create(source, title)
    clock.advance(1)
    value = {"action": "update", "id": first["id"], "title": "A again"}
    snapshot = (await source.manage("mutate", value)).value["snapshot"]
    assert [row["title"] for row in snapshot["documents"]] == ["A again", "C"]
    assert snapshot["total"] == 3
    assert len((await read(source, "snapshot"))["documents"]) == 3


@pytest.mark.requirement("documents:manage:snapshot")
async def test_few_excerpts_are_remembered(
    make_library: Callable[..., Library],
    source: RunningSource,
    workspace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents._library._EXCERPTS", 1)
    for title in ("A", "B"):
        await create(source, title, f"Text of {title}")
    library = make_library()
    for _ in range(2):
        rows = (await library.describe(workspace))["documents"]
        assert [row["excerpt"] for row in rows] == ["Text of A", "Text of B"]


@pytest.mark.requirement("documents:manage:reads")
async def test_document_and_search(source: RunningSource) -> None:
    document = await create(source, "Note", "Some text")
    assert await read(source, "document", {"id": document["id"]}) == document
    found = await read(source, "search", {"query": " Some ", "limit": 1000})
    (row,) = found.pop("results")
    assert found == {
        "query": "Some",
        "includeArchived": False,
        "total": 1,
        "generatedAt": "2026-03-01T12:00:00.000Z",
    }
    assert row == {**document, "score": 5, "excerpt": "Some text", "passage": "Some text"}
    for value in (None, {}, {"limit": "many"}, {"limit": True}, {"limit": 2.7}, {"limit": -1}):
        assert (await read(source, "search", value))["total"] == 1
    for value in ({"query": 5}, {"query": "x" * 2001}, {"query": "\ud800"}):
        with pytest.raises(InputError):
            await read(source, "search", value)
    with pytest.raises(MnemonError) as caught:
        await read(source, "document", {"id": "absent"})
    assert caught.value.code == "document-not-found"


@pytest.mark.requirement("documents:capacity:plan")
async def test_plan_writes_nothing(run_source: Callable[..., RunningSource], folder: Path) -> None:
    source = run_source(limitBytes=1000)
    value = {"action": "create", "title": "Note", "content": "x" * 2000}
    plan = await read(source, "capacity-plan", value)
    assert (plan["fits"], plan["limit"], plan["candidates"]) == (False, 1000, [])
    assert not exists(folder)
    document = await create(source)
    value = {"action": "update", "id": document["id"], "title": "Longer note"}
    plan = await read(source, "capacity-plan", value)
    assert plan["fits"] is True
    changed = (await source.manage("mutate", value)).value["document"]
    assert plan["projected"] == changed["sizeBytes"]


@pytest.mark.requirement("documents:manage:fence")
async def test_changes_are_fenced_and_confirmed(source: RunningSource) -> None:
    value = {"action": "create", "title": "Note", "content": "Text"}
    with pytest.raises(ManagementError) as unconfirmed:
        await source.manage("mutate", value, confirmed=False)
    assert unconfirmed.value.code == "management-unconfirmed"
    with pytest.raises(ConflictError) as stale:
        await source.manage("mutate", value, expected_revision="stale")
    assert stale.value.code == "revision-conflict"
    with pytest.raises(InputError) as unknown:
        await source.manage("purge", value)
    assert unknown.value.code == "operation-unsupported"
    with pytest.raises(InputError):
        await read(source, "purge")


@pytest.mark.requirement("documents:archive:local")
async def test_archive_without_an_index(source: RunningSource, folder: Path) -> None:
    document = await create(source)
    result = await source.manage("archive", {"id": document["id"]})
    archived = result.value["document"]
    assert result.value["action"] == "archived"
    assert archived["archiveSummary"] == "Archived locally by the user."
    assert archived["memoryBodyIds"] == []
    assert archived["revision"] == 2
    assert archived["contentHash"] == document["contentHash"]
    assert result.revision == (await source.facts()).revision
    assert [path.name for path in (folder / "archived").iterdir()] == [document["filename"]]
    assert not list((folder / "active").iterdir())
    with pytest.raises(ConflictError) as again:
        await source.manage("archive", {"id": document["id"]})
    assert again.value.code == "document-archived"


@pytest.mark.requirement("documents:archive:lineage")
async def test_archive_returns_its_lineage(source: RunningSource) -> None:
    document = await create(source)
    lineage = [
        {
            "source": {
                "layerId": "documents",
                "reference": f"document:{document['id']}:1",
                "digest": document["contentHash"],
            },
            "destination": {
                "layerId": "memory-spaces",
                "reference": "memory-space:default/item:1",
                "digest": document["contentHash"],
            },
        }
    ]
    value = {
        "id": document["id"],
        "documentRevision": 1,
        "summary": " All  of it ",
        "memoryBodyIds": ["default", "default", " b "],
        "lineage": lineage,
    }
    for wrong, error in (
        ({"lineage": "x"}, InputError),
        ({"documentRevision": 9}, ConflictError),
        ({"documentRevision": "1"}, InputError),
        ({"summary": "x" * 1001}, InputError),
        ({"memoryBodyIds": "default"}, InputError),
    ):
        with pytest.raises(error):
            await source.manage("archive", {**value, **wrong})
    result = (await source.manage("archive", value)).value
    assert result["lineage"] == lineage
    assert result["document"]["archiveSummary"] == "All of it"
    assert result["document"]["memoryBodyIds"] == ["default", "b"]


@pytest.mark.requirement("documents:restore:archived")
async def test_restore_makes_a_new_document(source: RunningSource) -> None:
    document = await create(source, "Note 记", "Text")
    with pytest.raises(InputError) as active:
        await source.manage("restore", {"id": document["id"]})
    assert active.value.code == "document-active"
    await source.manage("archive", {"id": document["id"], "memoryBodyIds": ["default"]})
    with pytest.raises(ConflictError) as unknown:
        await source.manage("restore", {"id": document["id"], "documentRevision": 7})
    assert unknown.value.code == "revision-conflict"
    restored = (await source.manage("restore", {"id": document["id"], "documentRevision": 2})).value
    assert restored["action"] == "created"
    assert restored["document"]["id"] != document["id"]
    assert restored["document"]["title"] == "Note 记"
    assert restored["document"]["content"] == "Text"
    assert restored["document"]["revision"] == 1
    assert restored["document"]["memoryBodyIds"] == []
    assert "archivedAt" not in restored["document"]
    assert (await read(source, "document", {"id": document["id"]}))["status"] == "archived"


@pytest.mark.requirement("documents:titles:told")
async def test_another_document_of_the_same_title_is_told(source: RunningSource) -> None:
    async def change(operation: str, **value: Any) -> Any:
        return (await source.manage(operation, value)).value

    first = await create(source, "Release Checklist")
    again = await change("mutate", action="create", title="release  checklist", content="x")
    assert again["sameTitle"] == [first["id"]]
    other = await change("mutate", action="create", title="Other", content="x")
    assert "sameTitle" not in other
    await change("archive", id=first["id"])
    restored = await change("restore", id=first["id"])
    assert restored["sameTitle"] == [again["document"]["id"]]
    twice = await change("restore", id=first["id"])
    assert twice["sameTitle"] == [again["document"]["id"], restored["document"]["id"]]
    # An update tells of it where it gives the title.
    update = {"action": "update", "id": again["document"]["id"], "content": "y"}
    assert "sameTitle" not in await change("mutate", **update)
    renamed = {"action": "update", "id": other["document"]["id"], "title": "RELEASE CHECKLIST"}
    assert len((await change("mutate", **renamed))["sameTitle"]) == 3
    for _ in range(4):
        last = await change("mutate", action="create", title="Release Checklist", content="x")
    assert len(last["sameTitle"]) == 5


@pytest.mark.requirement("documents:history")
async def test_the_last_five_former_bodies_are_kept(source: RunningSource, folder: Path) -> None:
    document = await create(source, content="Text 1")
    for number in range(2, 9):
        await update(source, document["id"], f"Text {number}")
    # A new title replaces no body.
    value = {"action": "update", "id": document["id"], "title": "Other"}
    await source.manage("mutate", value)
    history = await read(source, "history", {"id": document["id"]})
    assert history["revision"] == 9
    assert [(row["revision"], row["excerpt"]) for row in history["revisions"]] == [
        (number, f"Text {number}") for number in (7, 6, 5, 4, 3)
    ]
    assert all(row["characters"] == 6 and row["replacedAt"] for row in history["revisions"])
    assert len(list((folder / ".history" / document["id"]).iterdir())) == 5
    shown = await read(source, "history", {"id": document["id"], "revision": 4})
    assert shown["content"] == "Text 4"
    with pytest.raises(InputError) as unknown:
        await read(source, "history", {"id": document["id"], "revision": 1})
    assert unknown.value.code == "revision-unknown"


@pytest.mark.requirement("documents:restore:former")
async def test_restore_brings_a_former_body_back(source: RunningSource) -> None:
    document = await create(source, content="First")
    await update(source, document["id"], "Second")
    value = {"id": document["id"], "documentRevision": 1}
    restored = (await source.manage("restore", value)).value
    assert restored["action"] == "updated"
    assert restored["document"]["id"] == document["id"]
    assert restored["document"]["content"] == "First"
    assert restored["document"]["revision"] == 3
    history = await read(source, "history", {"id": document["id"], "revision": 2})
    assert history["content"] == "Second"
    await source.manage("archive", {"id": document["id"]})
    restored = (await source.manage("restore", {**value, "documentRevision": 2})).value
    assert restored["action"] == "created"
    assert restored["document"]["content"] == "Second"


@pytest.mark.requirement("documents:capacity:rule")
async def test_restore_needs_room(run_source: Callable[..., RunningSource]) -> None:
    source = run_source(limitBytes=800)
    document = await create(source, content="x" * 300)
    await source.manage("archive", {"id": document["id"]})
    kept = await create(source, "Kept", content="y" * 300)
    with pytest.raises(MnemonError) as caught:
        await source.manage("restore", {"id": document["id"]})
    assert caught.value.code == "document-capacity"
    assert f"'Kept' [{kept['id']}]" in caught.value.message
    assert caught.value.details["candidates"][0]["id"] == kept["id"]


@pytest.mark.requirement("documents:capacity:rule")
async def test_a_document_too_large_by_itself_has_nothing_to_archive(
    run_source: Callable[..., RunningSource],
) -> None:
    source = run_source(limitBytes=800)
    with pytest.raises(MnemonError) as caught:
        await create(source, content="x" * 900)
    assert "no other document" in caught.value.message
    assert caught.value.details["candidates"] == []


@pytest.mark.requirement("documents:capacity:plan")
async def test_the_plan_of_a_restore_agrees_with_it(
    run_source: Callable[..., RunningSource], folder: Path
) -> None:
    source = run_source(limitBytes=1000)
    document = await create(source, "Old", "x" * 300)
    path = folder / "active" / document["filename"]
    path.write_bytes(path.read_bytes().replace(b"id: ", b"mine: 1\nid: ", 1))
    await source.manage("archive", {"id": document["id"]})
    other = await create(source, "Other", "y" * 400)
    value = {"action": "restore", "id": document["id"]}
    plan = await read(source, "capacity-plan", value)
    assert plan["fits"] is False
    assert [candidate["id"] for candidate in plan["candidates"]] == [other["id"]]
    await source.manage("archive", {"id": other["id"]})
    plan = await read(source, "capacity-plan", value)
    assert plan["fits"] is True
    restored = (await source.manage("restore", {"id": document["id"]})).value["document"]
    assert plan["projected"] == restored["sizeBytes"]
    with pytest.raises(InputError) as active:
        await read(source, "capacity-plan", {**value, "id": restored["id"]})
    assert active.value.code == "document-active"


@pytest.mark.requirement("documents:capacity:plan")
async def test_the_plan_of_a_former_revision_counts_what_it_replaces(
    source: RunningSource,
) -> None:
    document = await create(source, content="First, and longer")
    await update(source, document["id"], "Second")
    value = {"id": document["id"], "documentRevision": 1}
    plan = await read(source, "capacity-plan", {"action": "restore", **value})
    assert plan["candidates"] == []
    restored = (await source.manage("restore", value)).value["document"]
    assert plan["projected"] == restored["sizeBytes"]


@pytest.mark.requirement("documents:manage:diagnose")
async def test_diagnose_names_files_that_no_record_names(
    source: RunningSource, folder: Path
) -> None:
    await create(source)
    (folder / "active" / "lost.md").write_text("Lost", encoding="utf-8")
    assert await read(source, "diagnose") == {
        "file": str(folder / "index.json"),
        "readable": True,
        "unhealthy": [],
        "changed": [],
        "unindexed": ["documents/active/lost.md"],
    }

"""Files whose record was lost: counted, and taken back into the index."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import ConflictError, InputError, ManagementError, StorageError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_documents._format import fields, render
from dsh_mnemon_source_documents._index import encode
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing import RunningSource

Records = Callable[..., DocumentRecord]
Store = Callable[..., None]


async def read(source: RunningSource, operation: str, value: Any = None) -> Any:
    request = ManagementRequest(
        source_instance_key=source.key,
        scope=source.scope,
        mode="read",
        operation=operation,
        input=value,
    )
    return (await source.live.runtime.manage(request)).value


async def adopt(source: RunningSource, value: Any = None) -> Any:
    return (await source.manage("adopt", value)).value


def bodies(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.glob("a*/*")}


@pytest.fixture
def records(make_record: Records) -> list[DocumentRecord]:
    """An active and an archived document that have everything between them."""
    later, later_still = "2026-02-01T00:00:00.000Z", "2026-02-03T00:00:00.000Z"
    return [
        make_record(
            "one",
            "Tag and build",
            title='"发布" plan',
            description="How",
            source_paths=("src/a.py", "b"),
            session_ids=("s",),
            created_at=later,
            updated_at=later_still,
            last_accessed_at=later_still,
        ),
        make_record(
            "two",
            "Tag and build",
            status="archived",
            created_at="2026-01-01T00:00:00.000Z",
            updated_at=later,
            last_accessed_at=later,
            archived_at=later,
            memory_body_ids=("default",),
        ),
    ]


@pytest.fixture
def lost(write_store: Store, folder: Path, records: list[DocumentRecord]) -> list[DocumentRecord]:
    """The same documents, whose index is gone."""
    write_store([(record, "Tag and build") for record in records])
    (folder / "index.json").unlink()
    return records


@pytest.mark.requirement("documents:unindexed:told")
@pytest.mark.usefixtures("lost")
async def test_a_lost_index_is_no_empty_store(source: RunningSource) -> None:
    assert (await source.facts()).hints == {"activeCount": 0, "unindexedCount": 2}
    assert (await read(source, "snapshot"))["unindexed"] == 2
    assert (await read(source, "search", {"query": "tag"}))["unindexed"] == 2
    found = await source.query("search", {"query": "tag"})
    assert found.metadata["unindexed"] == 2
    await adopt(source)
    assert (await source.facts()).hints == {"activeCount": 1}
    assert "unindexed" not in await read(source, "snapshot")
    assert "unindexed" not in await read(source, "search", {"query": "tag"})
    assert "unindexed" not in (await source.query("search", {"query": "tag"})).metadata


@pytest.mark.requirement("documents:adopt:step")
async def test_lost_files_are_taken_back_as_they_were(
    source: RunningSource, folder: Path, lost: list[DocumentRecord]
) -> None:
    before = bodies(folder)
    answer = await adopt(source)
    assert (answer["success"], answer["action"], answer["skipped"]) == (True, "adopted", [])
    assert [row["id"] for row in answer["adopted"]] == ["two", "one"]
    assert answer["snapshot"]["total"] == 2
    # In creation order, and everything but the summary of the archived one is known again.
    assert (folder / "index.json").read_bytes() == encode([lost[1], lost[0]])
    assert bodies(folder) == before
    assert (await read(source, "diagnose"))["changed"] == []
    assert [item.id for item in (await source.query("search", {"query": "tag"})).items] == ["one"]
    # Where there is nothing to do, nothing is done.
    stamp = os.stat(folder / "index.json").st_ino
    assert (await adopt(source))["adopted"] == []
    assert os.stat(folder / "index.json").st_ino == stamp


@pytest.mark.requirement("documents:adopt:step")
async def test_one_file_is_taken_back(
    source: RunningSource, folder: Path, lost: list[DocumentRecord]
) -> None:
    answer = await adopt(source, {"file": lost[1].relative_path})
    assert [row["id"] for row in answer["adopted"]] == ["two"]
    assert (await read(source, "diagnose"))["unindexed"] == [lost[0].relative_path]
    for file in (lost[1].relative_path, "documents/../secret.md"):
        with pytest.raises(InputError) as caught:
            await adopt(source, {"file": file})
        assert caught.value.code == "document-file-unknown"
    with pytest.raises(InputError):
        await adopt(source, {"file": 5})
    with pytest.raises(ConflictError):
        await source.manage("adopt", None, expected_revision="stale")
    with pytest.raises(ManagementError):
        await source.manage("adopt", None, confirmed=False)


@pytest.mark.requirement("documents:adopt:step")
async def test_the_history_tells_the_revision(
    source: RunningSource, folder: Path, lost: list[DocumentRecord]
) -> None:
    kept = folder / ".history" / "one"
    kept.mkdir(parents=True)
    for name in ("3.md", "4.md", "x.md"):
        (kept / name).write_bytes(render(lost[0], f"Text of {name}"))
    await adopt(source)
    history = await read(source, "history", {"id": "one"})
    assert history["revision"] == 5
    assert [row["revision"] for row in history["revisions"]] == [4, 3]


@pytest.mark.requirement("documents:adopt:step")
@pytest.mark.parametrize(
    ("old", "new", "reason", "field"),
    [
        ("---\nid", "--\nid", "no-front-matter", None),
        ('id: "one"\n', "", "front-matter-incomplete", "id"),
        ('id: "one"', "id: one", "front-matter-incomplete", "id"),
        ('id: "one"', 'id: "one', "front-matter-incomplete", "id"),
        ('id: "one"', 'id: ""', "front-matter-invalid", "id"),
        ('id: "one"', f'id: "{"x" * 301}"', "front-matter-invalid", "id"),
        ('id: "one"', 'id: "\\ud800"', "text-not-unicode", "id"),
        ('id: "one"', 'id: "one"\nid: "two"', "front-matter-invalid", "id"),
        ('title: "', '"title" : 1\ntitle: "', "front-matter-invalid", "title"),
        ('title: "', 'headline: "', "front-matter-incomplete", "title"),
        ('title: "', f'title: "{"x" * 161}', "text-too-long", "title"),
        ('description: "', f'description: "{"x" * 601}', "text-too-long", "description"),
        ('created_at: "2026', 'created_at: "MMXXVI', "front-matter-invalid", "created_at"),
        ('updated_at: "2026-02', 'updated_at: "2026-20', "front-matter-invalid", "updated_at"),
        ("src/a.py", "../../a.py", "source-path-outside-workspace", "source_paths"),
        ("Tag and build", "", "text-required", "content"),
    ],
)
async def test_a_file_that_does_not_say_enough_is_named(
    source: RunningSource,
    folder: Path,
    lost: list[DocumentRecord],
    old: str,
    new: str,
    reason: str,
    field: str | None,
) -> None:
    path = folder.parent / lost[0].relative_path
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    answer = await adopt(source)
    assert [row["id"] for row in answer["adopted"]] == ["two"]
    (skipped,) = answer["skipped"]
    assert skipped["file"] == lost[0].relative_path
    assert (skipped["reason"], skipped.get("field")) == (reason, field)
    assert skipped["message"]


@pytest.mark.requirement("documents:adopt:step")
async def test_nothing_that_exists_is_touched(
    source: RunningSource, folder: Path, lost: list[DocumentRecord], make_record: Records
) -> None:
    await adopt(source)
    one = lost[0]
    same_id = attrs.evolve(one, filename="copy.md", relative_path="documents/active/copy.md")
    same_name = make_record("three", status="archived", filename=one.filename)
    for stray in (same_id, same_name):
        (folder.parent / stray.relative_path).write_bytes(render(stray, "Other"))
    (folder / "active" / "bad.md").write_bytes(b"\xff")
    index, before = (folder / "index.json").read_bytes(), bodies(folder)
    answer = await adopt(source)
    assert answer["adopted"] == []
    assert {row["file"]: row["reason"] for row in answer["skipped"]} == {
        "documents/active/bad.md": "not-unicode",
        "documents/active/copy.md": "id-taken",
        same_name.relative_path: "name-taken",
    }
    assert ((folder / "index.json").read_bytes(), bodies(folder)) == (index, before)


@pytest.mark.requirement("documents:adopt:step")
@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
async def test_names_that_no_document_has_are_named(source: RunningSource, folder: Path) -> None:
    (folder / "active").mkdir(parents=True)
    for name in (b"a:b.md", b"\xff.md"):
        (folder / "active" / os.fsdecode(name)).write_bytes(b"")
    assert {row["file"]: row["reason"] for row in (await adopt(source))["skipped"]} == {
        "documents/active/a:b.md": "unsafe-path",
        "documents/active/\ufffd.md": "missing",
    }


@pytest.mark.requirement("documents:adopt:step")
async def test_of_two_files_with_one_id_the_active_one_is_taken(
    source: RunningSource, folder: Path, lost: list[DocumentRecord]
) -> None:
    """An archive that died before the active file was removed leaves such two."""
    archived = folder / "archived" / lost[0].filename
    archived.write_bytes((folder.parent / lost[0].relative_path).read_bytes())
    answer = await adopt(source)
    assert sorted(row["id"] for row in answer["adopted"]) == ["one", "two"]
    (skipped,) = answer["skipped"]
    assert (skipped["file"], skipped["reason"]) == (
        f"documents/archived/{archived.name}",
        "id-taken",
    )


@pytest.mark.requirement("documents:adopt:crash")
async def test_an_adoption_that_fails_leaves_everything_as_it_was(
    source: RunningSource,
    folder: Path,
    lost: list[DocumentRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before, real = bodies(folder), os.replace

    def failing(source: Any, target: Any) -> None:
        if str(target).endswith("index.json"):
            raise OSError(28, "No space left on device")
        real(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", failing)
        with pytest.raises(StorageError) as caught:
            await adopt(source)
    assert caught.value.code == "store-unwritable"
    assert bodies(folder) == before
    assert (await read(source, "snapshot"))["unindexed"] == 2
    assert len((await adopt(source))["adopted"]) == len(lost)


@pytest.mark.requirement("documents:adopt:crash")
async def test_a_lost_index_makes_nobody_remove_the_last_copy(
    source: RunningSource, folder: Path
) -> None:
    created = await source.mutate("create", {"title": "Note", "content": "Old"})
    document = created.details["document"]
    update = {"action": "update", "id": document["id"], "content": "New", "revision": 1}
    await source.mutate("manage", update)
    path = folder.parent / document["relativePath"]
    digest = sha256(path.read_bytes())
    (folder / ".pending.json").write_text(
        f'{{"id": "{document["id"]}", "revision": 2, "path": "{document["relativePath"]}",'
        f' "sha256": "{digest}", "kept": true}}',
        encoding="utf-8",
    )
    (folder / "index.json").unlink()
    (adopted,) = (await adopt(source))["adopted"]
    assert (adopted["id"], adopted["revision"]) == (document["id"], 2)
    assert path.read_bytes().endswith(b"New\n")
    assert not (folder / ".pending.json").exists()


@pytest.mark.requirement("documents:adopt:step")
def test_front_matter_is_read_as_it_is_written(records: list[DocumentRecord]) -> None:
    one = records[0]
    text = render(one, "Body", 'mine:\n  - "not ours"\n').decode().split("\n---\n")[0]
    read_back = fields(text.removeprefix("---\n"))
    assert read_back == {
        "id": "one",
        "title": '"发布" plan',
        "description": "How",
        "status": "active",
        "created_at": one.created_at,
        "updated_at": one.updated_at,
        "content_hash": one.content_hash,
        "source_paths": ["src/a.py", "b"],
        "session_ids": ["s"],
        "memory_body_ids": [],
    }

"""The store: caching, locking, folding, failing writes, and what was left half done."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_source_documents._access import AccessLog, folded
from dsh_mnemon_source_documents._changes import Step
from dsh_mnemon_source_documents._format import render
from dsh_mnemon_source_documents._index import encode
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_source_documents.errors import DamagedIndex


def exists(path: Path) -> bool:
    return path.exists()


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def bodies(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.glob("a*/*.md")}


def leftovers(folder: Path) -> list[Path]:
    return [*folder.rglob("*.tmp"), *folder.glob(".pending.json")]


def creation(library: Library, workspace: str, title: str = "Note", body: str = "Text") -> Step:
    mutation = Mutation(action="create", title=title, content=body)
    return library.steps(workspace).mutate(mutation)


async def create(library: Library, workspace: str, **fields: Any) -> dict[str, Any]:
    _, answer = await library.change(workspace, creation(library, workspace, **fields))
    return answer["document"]


async def rewrite(library: Library, workspace: str, document_id: str, body: str) -> None:
    mutation = Mutation(action="update", id=document_id, content=body)
    await library.change(workspace, library.steps(workspace).mutate(mutation))


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.requirement("documents:index:read")
async def test_the_index_is_read_anew_when_it_changed(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    await create(library, workspace)
    other = make_library()
    assert len((await other.overview()).state.records) == 1
    await create(library, workspace)
    assert len((await other.overview()).state.records) == 2
    # Nothing changed for a while, so it is the very same.
    status = (folder / "index.json").stat()
    os.utime(folder / "index.json", ns=(status.st_atime_ns, status.st_mtime_ns - 10**9))
    assert (await other.overview()).state is (await other.overview()).state


@pytest.mark.requirement("documents:index:damage")
async def test_an_index_that_is_no_file_is_damage(library: Library, folder: Path) -> None:
    (folder / "index.json").mkdir(parents=True)
    with pytest.raises(DamagedIndex) as caught:
        await library.overview()
    assert caught.value.reason == "not-a-regular-file"
    assert caught.value.details == {
        "file": str(folder / "index.json"),
        "reason": "not-a-regular-file",
    }


@pytest.mark.requirement("documents:index:damage")
async def test_damage_names_the_record(
    library: Library, folder: Path, make_record: Callable[..., DocumentRecord]
) -> None:
    good = make_record("x").to_json()
    index = {"version": 1, "documents": [good, {**good, "id": 5}]}
    write(folder / "index.json", json.dumps(index))
    with pytest.raises(DamagedIndex) as caught:
        await library.overview()
    assert (caught.value.index, caught.value.details["firstBadIndex"]) == (1, 1)


@pytest.mark.requirement("documents:index:read")
async def test_opening_reading_and_searching_an_empty_root_make_nothing(
    library: Library, folder: Path, workspace: str
) -> None:
    assert (await library.overview()).active == ()
    assert (await library.search(Request(query="x"))).found == ()
    assert (await library.describe(workspace))["total"] == 0
    await library.close()
    assert not exists(folder)


# -- changing --------------------------------------------------------------------------------------


@pytest.mark.requirement("documents:lock:processes")
async def test_a_held_lock_is_waited_for_and_then_reported(
    make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    library = make_library(timing=LockTiming(guard=0.0, file=0.05))
    await create(library, workspace)
    (folder / ".index.lock").touch()
    with pytest.raises(StorageError) as caught:
        await create(library, workspace)
    assert caught.value.code == "lock-timeout"
    assert len((await library.overview()).state.records) == 1


@pytest.mark.requirement("documents:crash:failure")
@pytest.mark.parametrize("kind", ["create", "update", "archive"])
@pytest.mark.parametrize("step", range(4))
async def test_a_write_that_fails_leaves_the_old_state(
    library: Library,
    folder: Path,
    workspace: str,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    step: int,
) -> None:
    document = await create(library, workspace, body="Old")
    before = bodies(folder)
    revision = (await library.overview()).state.revision
    real, left = os.replace, [step]

    def failing(source: Any, target: Any) -> None:
        if ".lock" not in str(target):
            left[0] -= 1
        if left[0] == -1:
            raise OSError(28, "No space left on device")
        real(source, target)

    steps = library.steps(workspace)
    change = {
        "create": lambda: creation(library, workspace),
        "update": lambda: steps.mutate(Mutation(action="update", id=document["id"], content="New")),
        "archive": lambda: steps.archive(document["id"], expected=None, summary="Cold"),
    }[kind]()
    monkeypatch.setattr(os, "replace", failing)
    if step == (4 if kind == "update" else 3):
        await library.change(workspace, change)
        return
    with pytest.raises(StorageError) as caught:
        await library.change(workspace, change)
    monkeypatch.undo()
    assert caught.value.code == "store-unwritable"
    assert (await library.overview()).state.revision == revision
    assert bodies(folder) == before
    assert leftovers(folder) == []


@pytest.mark.requirement("documents:create:titles")
async def test_names_and_ids_are_never_used_twice(
    make_library: Callable[..., Library], workspace: str
) -> None:
    ids = iter(["aaaaaaaa-1", "aaaaaaaa-1", "aaaaaaaa-2", "bbbbbbbb-1"])
    library = make_library(new_id=lambda: next(ids))
    assert (await create(library, workspace, title="发布"))["id"] == "aaaaaaaa-1"
    assert (await create(library, workspace, title="流程"))["id"] == "bbbbbbbb-1"


@pytest.mark.requirement("documents:index:read")
async def test_an_index_that_goes_between_two_looks_is_none(
    library: Library, folder: Path, workspace: str
) -> None:
    await create(library, workspace)
    (folder / "index.json").unlink()
    assert (await library.overview()).state.records == ()


@pytest.mark.requirement("documents:health:isolated")
async def test_new_content_heals_a_lost_body(
    library: Library, folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    path = folder.parent / document["relativePath"]
    path.unlink()
    title = Mutation(action="update", id=document["id"], title="T")
    with pytest.raises(StorageError) as caught:
        await library.change(workspace, library.steps(workspace).mutate(title))
    assert caught.value.code == "document-unreadable"
    await rewrite(library, workspace, document["id"], "Again")
    assert (await library.read(document["id"]))[1] == "Again"
    # A file that is no text is kept as it was.
    path.write_bytes(b"\xff\xfe")
    await rewrite(library, workspace, document["id"], "Once more")
    kept = folder / ".history" / document["id"] / "2.md"
    assert kept.read_bytes() == b"\xff\xfe"
    assert (await library.history(document["id"], None))["revisions"] == []


@pytest.mark.requirement("documents:history")
async def test_an_id_that_is_no_file_name_has_a_history_too(
    library: Library,
    folder: Path,
    workspace: str,
    make_record: Callable[..., DocumentRecord],
    write_store: Callable[..., None],
) -> None:
    write_store([(make_record("../../evil", "Old", filename="evil.md"), "Old")])
    await rewrite(library, workspace, "../../evil", "New")
    history = await library.history("../../evil", 1)
    assert history["content"] == "Old"
    (kept,) = (folder / ".history").iterdir()
    assert len(kept.name) == 64


# -- access times ----------------------------------------------------------------------------------


@pytest.mark.requirement("documents:access:fold")
async def test_access_times_are_folded_by_a_change_and_at_closing(
    library: Library, folder: Path, workspace: str, clock: Any
) -> None:
    log = folder / ".access.jsonl"
    document = await create(library, workspace)
    clock.advance(1)
    await library.search(Request(query="text"))
    assert json.loads(log.read_bytes()) == {
        "at": "2026-03-01T12:00:01.000Z",
        "ids": [document["id"]],
    }
    await create(library, workspace)
    assert not log.exists()
    index = json.loads((folder / "index.json").read_bytes())
    assert index["documents"][0]["lastAccessedAt"] == "2026-03-01T12:00:01.000Z"
    clock.advance(1)
    await library.search(Request(query="text"))
    await library.close()
    assert not log.exists()
    index = json.loads((folder / "index.json").read_bytes())
    assert index["documents"][0]["lastAccessedAt"] == "2026-03-01T12:00:02.000Z"


@pytest.mark.requirement("documents:access:fold")
async def test_a_long_log_is_folded_by_a_search(
    library: Library, folder: Path, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(library, workspace)
    monkeypatch.setattr("dsh_mnemon_source_documents._access.FOLD_BYTES", 200)
    sizes: list[int] = []
    for _ in range(5):
        await library.search(Request(query="text"))
        log = folder / ".access.jsonl"
        sizes.append(log.stat().st_size if log.exists() else 0)
    assert 0 in sizes
    assert max(sizes) <= 200


@pytest.mark.requirement("documents:access:fold")
def test_foreign_lines_of_the_log_mean_nothing(
    tmp_path: Path, make_record: Callable[..., DocumentRecord]
) -> None:
    log = AccessLog(tmp_path)
    assert log.read() == {}
    log.append(["a", "b"], "2026-01-02T00:00:00.000Z")
    with log.path.open("ab") as file:
        file.write(b'5\n[]\n{"at": 5, "ids": []}\n{"at": "soon", "ids": ["a"]}\n\xff\n')
        file.write(b'{"at": "2026-01-01T00:00:00.000Z", "ids": ["a", 5]}\n{"at": "2027')
    assert log.read() == dict.fromkeys("ab", "2026-01-02T00:00:00.000Z")
    newer, older = make_record("a"), make_record("b", last_accessed_at="2025-01-01T00:00:00.000Z")
    kept, used = folded([newer, older], log.read())
    assert kept is newer
    assert used.last_accessed_at == "2026-01-02T00:00:00.000Z"


@pytest.mark.requirement("documents:access:fold")
def test_a_log_that_cannot_be_written_keeps_nobody_from_searching(tmp_path: Path) -> None:
    log = AccessLog(tmp_path / "absent")
    assert log.append(["a"], "2026-01-02T00:00:00.000Z") == 0
    log.clear()


# -- what was left half done -----------------------------------------------------------------------


@pytest.mark.requirement("documents:crash:repair")
async def test_an_archived_document_loses_its_active_file(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    active = folder.parent / document["relativePath"]
    data = active.read_bytes()
    step = library.steps(workspace).archive(document["id"], expected=None, summary="Cold")
    await library.change(workspace, step)
    active.write_bytes(data)
    await make_library().overview()
    assert not active.exists()
    # What somebody wrote into it in between is kept, and named.
    active.write_bytes(data + b"\nMore")
    fresh = make_library()
    await fresh.overview()
    assert active.exists()
    assert (await fresh.diagnose())["unindexed"] == [document["relativePath"]]
    # One that is no text is left alone as well.
    active.write_bytes(b"\xff")
    await make_library().overview()
    assert active.exists()


@pytest.mark.requirement("documents:crash:repair")
async def test_the_only_copy_is_never_removed(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    active = folder.parent / document["relativePath"]
    data = active.read_bytes()
    step = library.steps(workspace).archive(document["id"], expected=None, summary="Cold")
    await library.change(workspace, step)
    archived = folder / "archived" / document["filename"]
    before = archived.read_bytes()
    archived.unlink()
    active.write_bytes(data)
    fresh = make_library()
    overview = await fresh.overview()
    assert overview.archived == (document["id"],)
    assert archived.read_bytes() == before
    assert not active.exists()


@pytest.mark.requirement("documents:crash:repair")
async def test_an_active_document_gets_its_file_back_from_the_archive(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    """The original moves the file first and may die before it writes the index."""
    document = await create(library, workspace)
    active = folder.parent / document["relativePath"]
    data = active.read_bytes()
    archived = folder / "archived" / document["filename"]
    archived.parent.mkdir()
    archived.write_bytes(data.replace(b'"active"', b'"archived"'))
    active.unlink()
    overview = await make_library().overview()
    assert overview.active == (document["id"],)
    assert active.read_bytes() == data
    assert not archived.exists()
    # A file of that name with another text is somebody else's.
    archived.write_bytes(b"Other")
    active.unlink()
    assert (await make_library().overview()).active == ()
    assert archived.exists()


@pytest.mark.requirement("documents:crash:repair")
async def test_leftovers_go_with_the_first_opening(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    names = {
        f".{document['filename']}.1.2.abc.tmp": False,
        f"{document['filename']}.1.{'0' * 8}-{'0' * 4}-{'0' * 4}-{'0' * 4}-{'0' * 12}.tmp": True,
        "mine.tmp": True,
    }
    for name in names:
        (folder / "active" / name).write_bytes(b"x")
    await make_library().overview()
    assert {name: (folder / "active" / name).exists() for name in names} == names
    # The original's are removed once they are old.
    old = time.time() - 7200
    for path in (folder / "active").glob("*.tmp"):
        os.utime(path, (old, old))
    await make_library().overview()
    assert [path.name for path in (folder / "active").glob("*.tmp")] == ["mine.tmp"]


@pytest.mark.requirement("documents:crash:repair")
async def test_a_held_lock_puts_the_repair_off(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    await create(library, workspace)
    leftover = folder / "active" / ".x.md.1.2.abc.tmp"
    leftover.write_bytes(b"x")
    lock = folder / ".index.lock"
    lock.touch()
    fresh = make_library()
    assert len((await fresh.overview()).active) == 1
    assert leftover.exists()
    lock.unlink()
    await create(make_library(), workspace)
    assert not leftover.exists()


@pytest.mark.requirement("documents:crash:repair")
@pytest.mark.parametrize(
    "entry",
    [
        b"torn",
        b"[]",
        b'{"id": "x"}',
        b'{"id": "x", "path": "/etc/passwd", "sha256": "x", "revision": 1}',
        b'{"id": "x", "path": "documents/active/absent.md", "sha256": "x", "revision": 1}',
    ],
)
async def test_a_journal_that_says_nothing_is_removed(
    library: Library,
    make_library: Callable[..., Library],
    folder: Path,
    workspace: str,
    entry: bytes,
) -> None:
    document = await create(library, workspace)
    (folder / ".pending.json").write_bytes(entry)
    overview = await make_library().overview()
    assert overview.active == (document["id"],)
    assert not (folder / ".pending.json").exists()


@pytest.mark.requirement("documents:crash:repair")
async def test_a_file_that_was_written_since_is_not_taken_back(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    path = folder.parent / document["relativePath"]
    path.write_text("By hand", encoding="utf-8")
    entry = {
        "id": document["id"],
        "path": document["relativePath"],
        "sha256": "0" * 64,
        "revision": 2,
        "kept": True,
    }
    (folder / ".pending.json").write_text(json.dumps(entry), encoding="utf-8")
    await make_library().overview()
    assert path.read_text(encoding="utf-8") == "By hand"


@pytest.mark.requirement("documents:archive:step")
async def test_archiving_where_the_file_already_lies_there(
    library: Library,
    folder: Path,
    workspace: str,
    make_record: Callable[..., DocumentRecord],
    write_store: Callable[..., None],
) -> None:
    """An index of somebody else may call a document active whose file lies in the archive."""
    record = attrs.evolve(make_record("x", "Text"), relative_path="documents/archived/x-x.md")
    write_store([])
    (folder / "archived" / "x-x.md").write_bytes(render(record, "Text"))
    (folder / "index.json").write_bytes(encode([attrs.evolve(record, filename="x-x.md")]))
    step = library.steps(workspace).archive("x", expected=1, summary="Cold")
    await library.change(workspace, step)
    assert (await library.read("x"))[1] == "Text"

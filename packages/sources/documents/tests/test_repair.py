"""What was left half done: undone, completed, or left alone."""

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
from dsh_mnemon_source_documents._changes import Step
from dsh_mnemon_source_documents._format import render
from dsh_mnemon_source_documents._index import encode
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord


def creation(library: Library, workspace: str, title: str = "Note", body: str = "Text") -> Step:
    mutation = Mutation(action="create", title=title, content=body)
    return library.steps(workspace).mutate(mutation)


async def create(library: Library, workspace: str, **fields: Any) -> dict[str, Any]:
    _, answer = await library.change(workspace, creation(library, workspace, **fields))
    return answer["document"]


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
    # The very same process makes good for it, changing or reading.
    await create(fresh, workspace)
    assert not leftover.exists()


@pytest.mark.requirement("documents:crash:repair")
async def test_a_repair_that_was_put_off_is_made_by_the_next_use(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    active = folder.parent / document["relativePath"]
    (folder / "archived").mkdir()
    active.rename(folder / "archived" / document["filename"])
    lock = folder / ".index.lock"
    lock.touch()
    fresh = make_library()
    assert (await fresh.overview()).active == ()
    lock.unlink()
    assert (await fresh.overview()).active == (document["id"],)
    # From then on readers leave alone what comes up.
    leftover = folder / "active" / ".x.md.1.2.abc.tmp"
    leftover.write_bytes(b"x")
    await fresh.overview()
    assert leftover.exists()


@pytest.mark.requirement("documents:crash:repair")
@pytest.mark.parametrize(
    "entry",
    [
        b"torn",
        b"[]",
        b'{"id": "x"}',
        b'{"changes": {}}',
        b'{"changes": [5, {"id": "x"}]}',
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


@pytest.mark.requirement("documents:crash:repair")
@pytest.mark.parametrize("lost", ["missing", "not-a-regular-file"])
async def test_a_change_is_not_undone_while_the_former_body_cannot_be_read(
    library: Library,
    make_library: Callable[..., Library],
    folder: Path,
    workspace: str,
    lost: str,
) -> None:
    document = await create(library, workspace, body="Old")
    body, index = folder.parent / document["relativePath"], folder / "index.json"
    before = body.read_bytes(), index.read_bytes()
    mutation = Mutation(action="update", id=document["id"], content="New")
    await library.change(workspace, library.steps(workspace).mutate(mutation))
    # As if the writer had died before the index was renamed.
    index.write_bytes(before[1])
    entry = {
        "id": document["id"],
        "revision": 2,
        "path": document["relativePath"],
        "sha256": sha256(body.read_bytes()),
        "kept": True,
    }
    pending = folder / ".pending.json"
    pending.write_text(json.dumps(entry), encoding="utf-8")
    kept = folder / ".history" / document["id"] / "1.md"
    aside = kept.rename(kept.with_suffix(".aside"))
    if lost == "not-a-regular-file":
        kept.symlink_to(aside)
    fresh = make_library()
    assert (await fresh.overview()).active == (document["id"],)
    with pytest.raises(StorageError) as caught:
        await create(fresh, workspace)
    assert caught.value.code == "store-unreadable"
    assert caught.value.details == {"file": str(kept), "reason": lost}
    assert f".history/{document['id']}/1.md" in caught.value.message
    assert ".pending.json" in caught.value.message
    assert str(folder) not in caught.value.message
    assert pending.exists()
    assert index.read_bytes() == before[1]
    aside.replace(kept)
    await fresh.overview()
    assert body.read_bytes() == before[0]
    assert not pending.exists()


@pytest.mark.requirement("documents:crash:repair")
async def test_a_body_that_cannot_be_removed_is_taken_back_later(
    library: Library, folder: Path, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(library, workspace)
    body = folder / "active" / "half.md"
    body.write_bytes(b"Half")
    entry = {
        "id": "half",
        "revision": 1,
        "path": "documents/active/half.md",
        "sha256": sha256(b"Half"),
        "kept": False,
    }
    (folder / ".pending.json").write_text(json.dumps(entry), encoding="utf-8")
    real = Path.unlink

    def failing(path: Path, missing_ok: bool = False) -> None:
        if path == body:
            raise PermissionError(13, "Permission denied")
        real(path, missing_ok)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", failing)
        with pytest.raises(StorageError) as caught:
            await create(library, workspace)
    assert caught.value.message == "cannot write active/half.md: Permission denied"
    assert caught.value.details == {"file": str(body), "reason": "EACCES"}
    assert body.exists()
    await create(library, workspace)
    assert not body.exists()


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

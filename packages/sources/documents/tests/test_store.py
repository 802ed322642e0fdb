"""The store: caching, locking, failing writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_source_documents._changes import Step
from dsh_mnemon_source_documents._diagnosis import diagnose
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
        "remedy": "move away what lies there, and put the file in its place",
    }
    assert caught.value.message.startswith("index.json is damaged")


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


@pytest.mark.requirement("documents:index:damage")
@pytest.mark.parametrize(
    ("change", "told", "problem"),
    [
        (
            {"revision": "3"},
            {"id": "two", "title": "Two", "field": "revision", "value": '"3"'},
            "revision of record 1 ('Two' [two]) is \"3\", but must be a whole number from 1",
        ),
        (
            {"id": "one"},
            {"id": "one", "title": "Two", "field": "id", "value": '"one"'},
            "id of record 1 ('Two' [one]) is \"one\", but must be an id of its own, and record 0"
            " has the same",
        ),
        (
            {"title": None},
            {"id": "two", "field": "title", "value": "null"},
            "title of record 1 ([two]) is null, but must be text",
        ),
        (
            {"id": "\ud800"},
            {"title": "Two", "field": "id", "value": '"\\ud800"'},
            "id of record 1 ('Two' [no id]) is \"\\ud800\", but must be text",
        ),
        (
            {"sourcePaths": ...},
            {"id": "two", "title": "Two", "field": "sourcePaths"},
            "record 1 ('Two' [two]) lacks sourcePaths, which must be a list of texts",
        ),
    ],
)
async def test_damage_names_field_value_and_remedy(
    library: Library,
    folder: Path,
    make_record: Callable[..., DocumentRecord],
    change: dict[str, Any],
    told: dict[str, str],
    problem: str,
) -> None:
    bad = {**make_record("two", title="Two").to_json(), **change}
    bad = {key: value for key, value in bad.items() if value is not ...}
    index = {"version": 1, "documents": [make_record("one").to_json(), bad]}
    write(folder / "index.json", json.dumps(index))
    with pytest.raises(DamagedIndex) as caught:
        await library.overview()
    expected = {
        "file": str(folder / "index.json"),
        "reason": "invalid-record",
        "firstBadIndex": 1,
        "problem": problem,
        "remedy": "correct that field, or take the record out and adopt the document from its file",
        **told,
    }
    assert caught.value.details == expected
    assert problem in caught.value.message
    assert str(folder) not in caught.value.message
    diagnosis = await library.diagnose()
    assert diagnosis.items() >= expected.items()
    assert (diagnosis["code"], diagnosis["readable"]) == ("index-damaged", False)


def circle(folder: Path) -> None:
    folder.symlink_to(folder.name)


def in_the_way(folder: Path) -> None:
    write(folder, "in the way")


@pytest.mark.requirement("documents:store:unreadable")
@pytest.mark.parametrize(("arrange", "reason"), [(circle, "ELOOP"), (in_the_way, "ENOTDIR")])
async def test_a_folder_that_leads_nowhere_is_told_apart_from_damage(
    library: Library,
    folder: Path,
    workspace: str,
    arrange: Callable[[Path], None],
    reason: str,
) -> None:
    arrange(folder)
    for ask in (
        library.overview,
        lambda: library.describe(workspace),
        lambda: library.search(Request(query="x")),
    ):
        with pytest.raises(StorageError) as caught:
            await ask()
        assert caught.value.code == "store-unreadable"
        assert caught.value.details == {"file": str(folder / "index.json"), "reason": reason}
        assert str(folder) not in caught.value.message
    diagnosis = await library.diagnose()
    assert (diagnosis["readable"], diagnosis["code"]) == (False, "store-unreadable")
    await library.close()


def denied(*_: Any, **__: Any) -> Any:
    raise PermissionError(13, "Permission denied")


@pytest.mark.requirement("documents:store:unreadable")
@pytest.mark.parametrize("known", [True, False])
async def test_a_folder_that_may_not_be_entered_is_told_and_closed(
    library: Library, folder: Path, workspace: str, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    await create(library, workspace)
    await library.search(Request(query="text"))
    if known:
        await library.overview()
    else:
        library = Library(folder.parent, limit_bytes=1000, clock=library.clock)
    with monkeypatch.context() as patch:
        for name in ("open", "stat", "lstat", "scandir", "listdir"):
            patch.setattr(os, name, denied)
        with pytest.raises(StorageError) as caught:
            library.store.read()
        diagnosis = diagnose(library.store)
        # What closing does in a thread.
        patch.setattr(Path, "exists", denied)
        assert library.store.access.read() == {}
        await library.close()
    assert caught.value.code == "store-unreadable"
    assert caught.value.message == "index.json cannot be read: Permission denied"
    assert caught.value.details == {"file": str(folder / "index.json"), "reason": "EACCES"}
    assert diagnosis["reason"] == "EACCES"
    # Nothing was lost by it.
    await library.close()
    assert not exists(folder / ".access.jsonl")


@pytest.mark.requirement("documents:store:unreadable")
async def test_closing_fails_for_nobody(
    library: Library, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create(library, workspace)
    await library.search(Request(query="text"))
    monkeypatch.setattr(os.path, "exists", denied)
    await library.close()
    await library.close()


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
    assert ".index.lock" in caught.value.message
    assert str(folder) not in caught.value.message
    assert caught.value.details == {"file": str(folder / ".index.lock")}
    assert caught.value.retryable
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
    assert str(folder) not in caught.value.message
    assert caught.value.details["file"].startswith(f"{folder}/")
    assert (await library.overview()).state.revision == revision
    assert bodies(folder) == before
    assert leftovers(folder) == []


@pytest.mark.requirement("documents:error:place")
async def test_a_folder_that_cannot_be_made_is_named_in_short(
    library: Library, folder: Path, workspace: str
) -> None:
    write(folder, "in the way")
    with pytest.raises(StorageError) as caught:
        await create(library, workspace)
    assert caught.value.message.startswith("cannot write documents: ")
    assert caught.value.details["file"] == str(folder)


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

"""Many texts taken in at once."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import ConflictError, InputError, StorageError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_documents import _store
from dsh_mnemon_source_documents._history import kept_place
from dsh_mnemon_source_documents._inputs import MAX_IMPORTED
from dsh_mnemon_testing import RunningSource

pytestmark = pytest.mark.requirement("documents:intake:step")

TEXTS = [{"title": "One", "content": "First"}, {"title": "Two 二", "content": "Second"}]


async def read(source: RunningSource, operation: str, value: Any = None) -> Any:
    request = ManagementRequest(
        source_instance_key=source.key,
        scope=source.scope,
        mode="read",
        operation=operation,
        input=value,
    )
    return (await source.live.runtime.manage(request)).value


async def take_in(source: RunningSource, *texts: Any) -> Any:
    return (await source.manage("import", {"documents": list(texts)})).value


def actions(answer: Any) -> list[str]:
    return [result["action"] for result in answer["results"]]


def codes(answer: Any) -> list[str | None]:
    return [result.get("error", {}).get("code") for result in answer["results"]]


def files(folder: Path) -> dict[Path, bytes]:
    """Return bodies, and whatever was left over beside them."""
    found = (*folder.glob("a*/*"), *folder.rglob("*.tmp"))
    return {path: path.read_bytes() for path in found}


async def bodies(source: RunningSource) -> dict[str, str]:
    rows = (await read(source, "snapshot"))["documents"]
    return {
        row["title"]: (await read(source, "document", {"id": row["id"]}))["content"] for row in rows
    }


async def test_texts_become_documents_and_are_brought_up_to_date(
    source: RunningSource, folder: Path
) -> None:
    planned = await read(source, "import-plan", {"documents": TEXTS})
    assert planned == {"results": [{"action": "created"}, {"action": "created"}]}
    assert not folder.joinpath("index.json").exists()
    answer = await take_in(source, *TEXTS)
    assert (answer["success"], answer["action"]) == (True, "imported")
    assert actions(answer) == ["created", "created"]
    assert answer["snapshot"]["total"] == 2
    first = answer["results"][0]["document"]
    assert (first["title"], first["revision"]) == ("One", 1)
    later = [TEXTS[0], {"title": "Two  二", "content": "Third"}]
    planned = await read(source, "import-plan", {"documents": later})
    answer = await take_in(source, *later)
    assert actions(planned) == actions(answer) == ["unchanged", "updated"]
    assert answer["results"][0]["document"] == first
    second = answer["results"][1]["document"]
    assert second["revision"] == 2
    assert await bodies(source) == {"One": "First", "Two 二": "Third"}
    history = await read(source, "history", {"id": second["id"], "revision": 1})
    assert history["content"] == "Second"
    assert (await read(source, "search", {"query": "third"}))["total"] == 1


async def test_bodies_are_compared_as_they_are_stored(source: RunningSource, folder: Path) -> None:
    text = {"title": "Note", "content": "\ufeff\n a\0b \n"}
    assert actions(await take_in(source, text)) == ["created"]
    before = (folder / "index.json").read_bytes()
    assert actions(await take_in(source, text)) == ["unchanged"]
    assert (folder / "index.json").read_bytes() == before


async def test_the_index_is_written_once(
    source: RunningSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[int] = []
    real = _store.encode

    def counted(records: Any) -> bytes:
        written.append(len(records))
        return real(records)

    monkeypatch.setattr(_store, "encode", counted)
    texts = [{"title": f"Note {number}", "content": "Text"} for number in range(MAX_IMPORTED)]
    assert set(actions(await take_in(source, *texts))) == {"created"}
    assert written == [MAX_IMPORTED]
    assert len(await bodies(source)) == MAX_IMPORTED


async def test_a_text_that_is_refused_harms_no_other(source: RunningSource, folder: Path) -> None:
    ill = (await take_in(source, {"title": "Ill", "content": "Text"}))["results"][0]["document"]
    (folder.parent / ill["relativePath"]).write_bytes(b"\xff")
    for _ in range(2):
        await source.manage("mutate", {"action": "create", "title": "Twin", "content": "Same"})
    texts = [
        {"title": "", "content": "x"},
        {"title": "x", "content": "\0 "},
        {"title": "x", "content": "x" * 1_000_001},
        {"title": "x", "content": "x", "id": "y"},
        5,
        {"title": "Ill", "content": "New"},
        {"title": "Twin", "content": "Other"},
        {"title": "Twin", "content": "Same"},
        {"title": "Good", "content": "x"},
        {"title": "Good ", "content": "y"},
    ]
    refusals = [
        "text-required", "text-required", "text-too-long", "key-unknown", "not-an-object",
        "document-unreadable", "document-title-ambiguous", None, None, "document-repeated",
    ]  # fmt: skip
    assert codes(await read(source, "import-plan", {"documents": texts})) == refusals
    answer = await take_in(source, *texts)
    assert codes(answer) == refusals
    assert answer["results"][5]["document"]["id"] == ill["id"]
    assert answer["results"][7]["action"] == "unchanged"
    assert "document" not in answer["results"][6]
    titles = [row["title"] for row in answer["snapshot"]["documents"]]
    assert titles == ["Ill", "Twin", "Twin", "Good"]
    assert (folder.parent / ill["relativePath"]).read_bytes() == b"\xff"


async def test_an_archived_document_is_left_alone(source: RunningSource) -> None:
    first = (await take_in(source, TEXTS[0]))["results"][0]["document"]
    await source.manage("archive", {"id": first["id"]})
    assert actions(await take_in(source, TEXTS[0])) == ["created"]


async def test_what_finds_no_room_is_refused_by_name(
    run_source: Callable[..., RunningSource],
) -> None:
    source = run_source(limitBytes=1000)
    small, large = {"title": "One", "content": "x"}, {"title": "Two", "content": "x" * 900}
    answer = await take_in(source, small, large, {"title": "Three", "content": "y"})
    assert codes(answer) == [None, "document-capacity", None]
    grown = await take_in(source, {**small, "content": "x" * 900})
    assert codes(grown) == ["document-capacity"]
    assert grown["results"][0]["document"] == answer["results"][0]["document"]
    assert await bodies(source) == {"One": "x", "Three": "y"}


@pytest.mark.parametrize("value", [{}, {"documents": "x"}, {"documents": [5] * 101}])
async def test_what_is_no_list_of_texts_is_refused(source: RunningSource, value: Any) -> None:
    for call in (read(source, "import-plan", value), source.manage("import", value)):
        with pytest.raises(InputError) as caught:
            await call
        assert caught.value.code == "documents-invalid"


async def test_a_revision_that_moved_is_a_conflict(source: RunningSource) -> None:
    before = (await source.facts()).revision
    await take_in(source, TEXTS[0])
    request = ManagementRequest(
        source_instance_key=source.key,
        scope=source.scope,
        mode="mutate",
        operation="import",
        input={"documents": TEXTS},
        expected_revision=before,
        confirmed=True,
    )
    with pytest.raises(ConflictError) as caught:
        await source.live.runtime.manage(request)
    assert caught.value.code == "revision-conflict"


@pytest.mark.requirement("documents:crash:failure")
@pytest.mark.parametrize("number", [0, 1, 2, 3])
async def test_a_failing_rename_takes_everything_back(
    source: RunningSource, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The renames are: the former body of One, its new body, the body of Two, the index."""
    one = (await take_in(source, TEXTS[0]))["results"][0]["document"]
    before = files(folder)
    index = (folder / "index.json").read_bytes()
    kept = folder.parent / kept_place(one["id"], 1)
    names = (kept.name, one["filename"], "two-", "index.json")
    real = os.replace

    def failing(old: Any, new: Any) -> None:
        if Path(new).name.startswith(names[number]):
            raise OSError(28, "No space left on device")
        real(old, new)

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", failing)
        with pytest.raises(StorageError) as caught:
            await take_in(source, {"title": "One", "content": "New"}, TEXTS[1])
    assert caught.value.code == "store-unwritable"
    assert files(folder) == before
    assert (folder / "index.json").read_bytes() == index
    assert actions(await take_in(source, {"title": "One", "content": "New"}, TEXTS[1])) == [
        "updated",
        "created",
    ]
    assert not (folder / ".pending.json").exists()
    assert json.loads((folder / "index.json").read_text())["documents"][0]["revision"] == 2

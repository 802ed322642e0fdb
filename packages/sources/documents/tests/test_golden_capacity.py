"""A recorded story of a nearly full store: sizes, candidates, archive, fencing, source paths."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError, MnemonError
from dsh_mnemon_source_documents._fields import source_paths
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request
from dsh_mnemon_source_documents.errors import DocumentCapacityError, DocumentConflictError
from dsh_mnemon_testing.golden import golden

STORY: dict[str, Any] = dict(golden(Path(__file__).parent / "golden", "documents-capacity").data)
START = datetime.fromisoformat(STORY["archiveFirst"]["expected"]["document"]["createdAt"])
LATER = datetime.fromisoformat(STORY["archiveFirst"]["expected"]["document"]["updatedAt"])


def content_of(text: str) -> str:
    """Return a text, or what a recipe such as ``'新'*100`` makes."""
    recipe = re.fullmatch(r"'(.+)'\s*\*\s*(\d+)", text)
    return text if recipe is None else recipe[1] * int(recipe[2])


@pytest.fixture
def titles() -> dict[str, str]:
    """Ids by title, as documents are created."""
    return {}


@pytest.fixture
async def library(
    make_library: Callable[..., Library], clock: Any, workspace: str, titles: dict[str, str]
) -> Library:
    """The store of the story, after the search that touched some documents."""
    library = make_library(limit_bytes=STORY["limitBytes"])
    for minute, row in enumerate(STORY["created"]):
        clock.now = START + timedelta(minutes=minute)
        mutation = Mutation(
            action="create",
            title=row["title"],
            content=content_of(row["content"]),
        )
        step = library.steps(workspace).mutate(mutation)
        _, answer = await library.change(workspace, step)
        titles[row["title"]] = answer["document"]["id"]
        assert answer["document"]["sizeBytes"] == row["sizeBytes"]
        assert answer["snapshot"]["activeBytes"] == row["activeBytes"]
    clock.now = LATER - timedelta(seconds=30)
    for title in STORY["touchedBySearch"]:
        found = await library.search(Request(query=title, allowed=frozenset({titles[title]})))
        assert [item.record.title for item in found.found] == [title]
    clock.now = LATER
    return library


def names(candidates: Any) -> list[str]:
    return [item["title"] if isinstance(item, dict) else item.title for item in candidates]


@pytest.mark.requirement("documents:capacity:plan")
async def test_plans(library: Library, workspace: str, titles: dict[str, str]) -> None:
    updated = next(title for title in titles if STORY["created"][2]["title"] == title)
    for key, mutation in (
        (
            "planCreate",
            Mutation(
                action="create",
                title=STORY["planCreate"]["input"]["title"],
                content=content_of(STORY["planCreate"]["input"]["content"]),
            ),
        ),
        (
            "planUpdateThird",
            Mutation(
                action="update",
                id=titles[updated],
                content=content_of(STORY["planUpdateThird"]["input"]["content"]),
            ),
        ),
    ):
        steps = library.steps(workspace)
        plan = await library.plan(steps, steps.prepare(mutation))
        expected = STORY[key]["expected"]
        assert {**plan, "candidates": names(plan["candidates"])} == {
            **expected,
            "limit": STORY["limitBytes"],
        }


@pytest.mark.requirement("documents:capacity:rule")
async def test_overflow(library: Library, workspace: str) -> None:
    given, expected = STORY["planCreate"]["input"], STORY["createOverflow"]
    mutation = Mutation(action="create", title=given["title"], content=content_of(given["content"]))
    with pytest.raises(DocumentCapacityError) as caught:
        await library.change(workspace, library.steps(workspace).mutate(mutation))
    assert caught.value.code == expected["code"]
    assert caught.value.projected == expected["projected"]
    assert caught.value.limit == expected["limit"]
    assert names(caught.value.candidates) == expected["candidates"]


@pytest.mark.requirement("documents:archive:step")
async def test_archive(
    library: Library, workspace: str, titles: dict[str, str], folder: Path
) -> None:
    expected = STORY["archiveFirst"]["expected"]
    document_id = titles[expected["document"]["title"]]
    step = library.steps(workspace).archive(
        document_id,
        expected=expected["document"]["revision"] - 1,
        summary=expected["document"]["archiveSummary"],
        memory_bodies=expected["document"]["memoryBodyIds"],
    )
    _, answer = await library.change(workspace, step)
    document = answer["document"]
    path = expected["document"]["relativePath"].replace("<id8>", document_id[:8])
    for key, value in expected["document"].items():
        assert document[key] == (path if key == "relativePath" else value), key
    for key in ("activeBytes", "activeCount", "archivedCount"):
        assert answer["snapshot"][key] == expected[key]
    assert (folder.parent / path).is_file()
    assert not (folder / "active" / document["filename"]).exists()

    update = Mutation(action="update", id=document_id, title="Never")
    with pytest.raises(MnemonError) as caught:
        await library.change(workspace, library.steps(workspace).mutate(update))
    assert caught.value.code == STORY["updateArchived"].get("code", "document-archived")


@pytest.mark.requirement("documents:archive:step")
async def test_archive_of_another_revision(
    library: Library, workspace: str, titles: dict[str, str]
) -> None:
    first = next(iter(titles.values()))
    step = library.steps(workspace).archive(first, expected=99, summary="Cold")
    with pytest.raises(DocumentConflictError) as caught:
        await library.change(workspace, step)
    assert caught.value.code == STORY["archiveWrongRevision"]["code"]


@pytest.mark.requirement("documents:update:guard")
async def test_update_of_another_index_revision(
    library: Library, workspace: str, titles: dict[str, str]
) -> None:
    update = Mutation(action="update", id=next(iter(titles.values())), title="Other")
    with pytest.raises(DocumentConflictError) as caught:
        await library.change(workspace, library.steps(workspace).mutate(update), fence="0" * 64)
    assert caught.value.code == STORY["updateWrongIndexRevision"]["code"]


@pytest.mark.requirement("documents:update:step")
async def test_update(library: Library, workspace: str, titles: dict[str, str]) -> None:
    expected = STORY["updateSecond"]["expected"]
    document_id = titles[STORY["created"][1]["title"]]
    update = Mutation(
        action="update",
        id=document_id,
        title=expected["title"],
        source_paths=tuple(expected["sourcePaths"]),
        session_ids=tuple(expected["sessionIds"]),
    )
    _, answer = await library.change(workspace, library.steps(workspace).mutate(update))
    document = answer["document"]
    path = expected["relativePath"].replace("<id8>", document_id[:8])
    for key, value in expected.items():
        assert document[key] == (path if key == "relativePath" else value), key


@pytest.mark.requirement("documents:file:source-paths")
@pytest.mark.parametrize("case", STORY["sourcePaths"])
def test_source_paths(case: dict[str, Any], tmp_path: Path) -> None:
    if "error" in case:
        # Only a refusal of managed paths needs to know where the store lies.
        before, _, _ = case["input"].partition("documents/")
        managed = "managed" in case["error"]
        root = tmp_path / "work" / before if managed else tmp_path
        with pytest.raises(InputError):
            source_paths([case["input"]], str(tmp_path / "work"), str(root))
    else:
        found = source_paths([case["input"]], str(tmp_path / "work"), str(tmp_path))
        assert list(found) == case["expected"]


@pytest.mark.requirement("documents:index:format")
async def test_keys_of_the_index(
    library: Library, workspace: str, titles: dict[str, str], folder: Path
) -> None:
    step = library.steps(workspace).archive(
        next(iter(titles.values())), expected=None, summary="Cold"
    )
    await library.change(workspace, step)
    index = json.loads((folder / "index.json").read_bytes())
    assert list(index) == STORY["indexTopLevelKeys"]
    assert list(index["documents"][0]) == STORY["recordKeys"]

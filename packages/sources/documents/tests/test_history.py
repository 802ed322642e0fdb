"""Bodies that nobody can read: kept, told and listed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library


async def create(library: Library, workspace: str) -> dict[str, Any]:
    mutation = Mutation(action="create", title="Note", content="Text")
    _, answer = await library.change(workspace, library.steps(workspace).mutate(mutation))
    document: dict[str, Any] = answer["document"]
    return document


async def rewrite(library: Library, workspace: str, document_id: str, body: str) -> None:
    mutation = Mutation(action="update", id=document_id, content=body)
    await library.change(workspace, library.steps(workspace).mutate(mutation))


@pytest.mark.requirement("documents:history")
async def test_a_body_that_nobody_could_read_is_kept_told_and_listed(
    library: Library, folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    (folder.parent / document["relativePath"]).write_bytes("Zürich".encode("latin-1"))
    update = Mutation(action="update", id=document["id"], content="New")
    _, answer = await library.change(workspace, library.steps(workspace).mutate(update))
    place = f"documents/.history/{document['id']}/1.md"
    assert answer["replacedUnreadable"] == {"revision": 1, "reason": "not-unicode", "file": place}
    assert (folder.parent / place).read_bytes() == b"Z\xfcrich"
    await rewrite(library, workspace, document["id"], "Newer")
    later, first = (await library.history(document["id"], None))["revisions"]
    assert (later["revision"], later["excerpt"]) == (2, "New")
    assert first.pop("replacedAt")
    assert first == {"revision": 1, "unreadable": "not-unicode", "file": place, "bytes": 6}
    for restored in (
        library.history(document["id"], 1),
        library.change(workspace, library.steps(workspace).restore(document["id"], 1)),
    ):
        with pytest.raises(StorageError) as caught:
            await restored
        assert caught.value.code == "document-unreadable"
        assert caught.value.details["relativePath"] == place
    # One that lies there as something else is listed as well, one that went is not.
    (folder.parent / place).unlink()
    (folder.parent / place).symlink_to(folder / "index.json")
    assert (await library.history(document["id"], None))["revisions"][1]["unreadable"] == (
        "not-a-regular-file"
    )


@pytest.mark.requirement("documents:history")
async def test_a_former_body_that_goes_while_they_are_listed_is_left_out(
    library: Library, workspace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = await create(library, workspace)
    await rewrite(library, workspace, document["id"], "New")
    monkeypatch.setattr(library.store.history, "_all", lambda _: [1, 9, 0])
    revisions = (await library.history(document["id"], None))["revisions"]
    assert [row["revision"] for row in revisions] == [1]


@pytest.mark.requirement("documents:health:isolated")
async def test_a_body_that_cannot_be_kept_is_not_replaced(
    library: Library, folder: Path, workspace: str
) -> None:
    document = await create(library, workspace)
    path = folder.parent / document["relativePath"]
    os.truncate(path, 16 * 1024 * 1024 + 1)
    with pytest.raises(StorageError) as caught:
        await rewrite(library, workspace, document["id"], "Again")
    assert (caught.value.code, caught.value.details["reason"]) == (
        "document-unreadable",
        "too-large",
    )
    assert path.stat().st_size == 16 * 1024 * 1024 + 1

"""The mounted source over bodies that are broken or were edited by hand."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.source import ManagementRequest
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing import RunningSource

BOOK = {"title": "Release 发布", "content": "Tag, build, 部署 and announce.", "description": "How"}


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
@pytest.mark.parametrize("broken", ["not-unicode", "too-large"])
async def test_the_first_listing_tells_already(
    source: RunningSource, folder: Path, broken: str
) -> None:
    document = await create(source)
    assert (await read(source, "snapshot"))["documents"][0]["healthy"] is True
    path = folder.parent / document["relativePath"]
    if broken == "too-large":
        os.truncate(path, 16 * 1024 * 1024 + 1)
    else:
        path.write_bytes(b"\xff")
    for _ in range(2):
        (row,) = (await read(source, "snapshot"))["documents"]
        assert (row["healthy"], row["excerpt"]) == (False, "")
    # And whoever is asked next says the same.
    assert (await source.facts()).hints == {"activeCount": 0, "unhealthyCount": 1}
    found = await read(source, "search", {"query": "tag"})
    assert [item["reason"] for item in found["unhealthy"]] == [broken]


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

"""What diagnose says of bodies that were not written here, and of a change that blocks others."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord


def body_of(folder: Path) -> Path:
    (path,) = (folder / "active").iterdir()
    return path


@pytest.fixture
def written(write_store: Callable[..., None], make_record: Callable[..., DocumentRecord]) -> None:
    """A store of one document of two lines."""
    write_store([(make_record("one", "First line\nSecond line"), "First line\nSecond line")])


def truncated(_data: bytes) -> bytes:
    return b""


def emptied(data: bytes) -> bytes:
    return data[: data.index(b"\n---\n") + 5]


def bare(data: bytes) -> bytes:
    return data.split(b"\n---\n")[1]


def broken(data: bytes) -> bytes:
    return data.replace(b"\n---\n", b"\n--\n")


def rewritten(data: bytes) -> bytes:
    return data.replace(b"Second", b"Other")


@pytest.mark.requirement("documents:manage:diagnose")
@pytest.mark.usefixtures("written")
@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (truncated, "empty"),
        (emptied, "empty"),
        (bare, "no-front-matter"),
        (broken, "no-front-matter"),
        (rewritten, "other-text"),
    ],
)
async def test_a_body_that_was_not_written_here_is_named_and_still_read(
    library: Library, folder: Path, edit: Callable[[bytes], bytes], reason: str
) -> None:
    path = body_of(folder)
    assert (await library.diagnose())["changed"] == []
    path.write_bytes(edit(path.read_bytes()))
    diagnosis = await library.diagnose()
    assert diagnosis["changed"] == [
        {
            "id": "one",
            "title": "one",
            "file": f"documents/active/{path.name}",
            "code": "document-body-changed",
            "reason": reason,
        }
    ]
    assert diagnosis["unhealthy"] == []
    await library.read("one")
    if reason != "empty":
        assert (await library.search(Request(query="first line"))).found


@pytest.mark.requirement("documents:file:line-ends")
@pytest.mark.usefixtures("written")
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
async def test_other_line_ends_change_nothing(
    library: Library, folder: Path, workspace: str, mark: bytes
) -> None:
    path = body_of(folder)
    data = path.read_bytes().replace(b"id: ", b"# Mine\nid: ", 1)
    path.write_bytes(mark + data.replace(b"\n", b"\r\n"))
    assert (await library.diagnose())["changed"] == []
    assert not (await library.search(Request(query="created_at"))).found
    assert (await library.read("one"))[1] == "First line\r\nSecond line"
    mutation = Mutation(action="update", id="one", title="Other")
    await library.change(workspace, library.steps(workspace).mutate(mutation))
    after = path.read_bytes()
    assert after.count(b"created_at") == 1
    assert after.count(b"\n# Mine\n") == 1
    assert after.endswith(b"\n---\n\nFirst line\r\nSecond line\n")


@pytest.mark.requirement("documents:manage:diagnose")
async def test_a_change_that_blocks_every_other_is_named_with_its_remedy(
    library: Library, make_library: Callable[..., Library], folder: Path, workspace: str
) -> None:
    steps = library.steps(workspace)
    creation = Mutation(action="create", title="Note", content="Old")
    _, answer = await library.change(workspace, steps.mutate(creation))
    document = answer["document"]
    index = (folder / "index.json").read_bytes()
    update = Mutation(action="update", id=document["id"], content="New")
    await library.change(workspace, steps.mutate(update))
    # As if the writer had died before the index was renamed.
    (folder / "index.json").write_bytes(index)
    body, pending = folder.parent / document["relativePath"], folder / ".pending.json"
    entry = {
        "id": document["id"],
        "revision": 2,
        "path": document["relativePath"],
        "sha256": sha256(body.read_bytes()),
        "kept": True,
    }
    pending.write_text(json.dumps(entry), encoding="utf-8")
    fresh = make_library()
    assert "pending" not in await fresh.diagnose()
    kept = folder / ".history" / document["id"] / "1.md"
    kept.unlink()
    with pytest.raises(StorageError):
        await fresh.change(workspace, steps.mutate(creation))
    assert (await fresh.diagnose())["pending"] == {
        "file": str(pending),
        "former": str(kept),
        "reason": "missing",
        "remedy": f"put {kept} back, or remove {pending} to keep the new text",
    }
    # What it says helps.
    pending.unlink()
    await fresh.change(workspace, steps.mutate(creation))
    assert (await fresh.read(document["id"]))[1] == "New"
    assert "pending" not in await fresh.diagnose()

"""Access times: noted by searches, folded into the index."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_documents._access import AccessLog, folded
from dsh_mnemon_source_documents._changes import Step
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request
from dsh_mnemon_source_documents.contracts import DocumentRecord


def creation(library: Library, workspace: str, title: str = "Note", body: str = "Text") -> Step:
    mutation = Mutation(action="create", title=title, content=body)
    return library.steps(workspace).mutate(mutation)


async def create(library: Library, workspace: str, **fields: Any) -> dict[str, Any]:
    _, answer = await library.change(workspace, creation(library, workspace, **fields))
    return answer["document"]


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

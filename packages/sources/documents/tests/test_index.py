"""The stored index and its damage."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import attrs
import pytest
from dsh_mnemon_source_documents._index import Damage, decode, encode, revision, split_place
from dsh_mnemon_source_documents.contracts import DocumentRecord


@pytest.fixture
def records(make_record: Callable[..., DocumentRecord]) -> list[DocumentRecord]:
    """Two records that have everything between them."""
    return [
        make_record("one", title='"发布"\t\u2028', source_paths=("a", "b"), session_ids=("s",)),
        make_record(
            "two",
            status="archived",
            archived_at="2026-01-01T00:00:00.000Z",
            archive_summary="All",
            memory_body_ids=("default",),
        ),
    ]


def document(records: list[DocumentRecord]) -> dict[str, Any]:
    return {"version": 1, "documents": [record.to_json() for record in records]}


@pytest.mark.requirement("documents:index:format")
def test_bytes_are_those_of_the_original(records: list[DocumentRecord]) -> None:
    text = json.dumps(document(records), ensure_ascii=False, indent=2) + "\n"
    assert encode(records) == text.encode()
    assert encode([]) == b'{\n  "version": 1,\n  "documents": []\n}\n'
    assert decode(encode(records)) == tuple(records)


@pytest.mark.requirement("documents:index:revision")
def test_access_times_are_no_part_of_the_revision(records: list[DocumentRecord]) -> None:
    compact = document(records)
    for row in compact["documents"]:
        del row["lastAccessedAt"]
    text = json.dumps(compact, ensure_ascii=False, separators=(",", ":"))
    assert revision(records) == hashlib.sha256(text.encode()).hexdigest()
    used = [attrs.evolve(record, last_accessed_at="2030") for record in records]
    assert revision(used) == revision(records)
    renamed = [attrs.evolve(record, title="Other") for record in records]
    assert revision(renamed) != revision(records)


@pytest.mark.requirement("documents:index:damage")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not-json"),
        (b"\xff", "not-json"),
        (b"[" * 100_000, "not-json"),
        (b'{"version": NaN}', "not-json"),
        (b'{"version": 1, "documents": [], "x": 1e400}', "not-json"),
        (b'{"version": 1, "documents": [7], "documents": []}', "not-json"),
        (b'{"version": 1, "documents": [{"id": "a", "id": "b"}]}', "not-json"),
        (b"[]", "wrong-version"),
        (b"{}", "wrong-version"),
        (b'{"version": true, "documents": []}', "wrong-version"),
        (b'{"version": 1, "documents": {}}', "wrong-version"),
        (b'{"version": 2, "documents": []}', "newer-version"),
    ],
)
def test_damage_as_a_whole(data: bytes, reason: str) -> None:
    with pytest.raises(Damage) as caught:
        decode(data)
    assert (caught.value.reason, caught.value.index) == (reason, None)


@pytest.mark.requirement("documents:index:damage")
@pytest.mark.parametrize(
    "change",
    [
        {"id": None},
        {"id": ""},
        {"title": 5},
        {"status": "lost"},
        {"filename": None},
        {"updatedAt": None},
        {"revision": 0},
        {"revision": "1"},
        {"sizeBytes": -1},
        {"sourcePaths": None},
        {"sessionIds": "s"},
        {"archivedAt": 5},
        {"title": "\ud800"},
        {"id": "one"},
        None,
    ],
)
def test_damage_of_one_record_names_it(records: list[DocumentRecord], change: Any) -> None:
    stored = document(records)
    stored["documents"][1] = None if change is None else {**stored["documents"][1], **change}
    with pytest.raises(Damage) as caught:
        decode(json.dumps(stored).encode())
    assert (caught.value.reason, caught.value.index) == ("invalid-record", 1)


@pytest.mark.requirement("documents:index:format")
def test_what_others_wrote_is_read(records: list[DocumentRecord]) -> None:
    stored = document(records)
    row = stored["documents"][0]
    row["relativePath"] = f".mnemon/{row['relativePath']}"
    row["sourcePaths"] = ["a", 5, None, "b", "\ud800"]
    row["unknown"] = {"deep": [1]}
    assert decode(json.dumps(stored).encode()) == tuple(records)


@pytest.mark.requirement("documents:health:isolated")
@pytest.mark.parametrize(
    "path",
    [
        "documents/active/../x.md", "/etc/passwd", "documents/other/x.md", "documents/active/",
        "documents/active/..", "documents/active/a/b.md", "documents/active/a\\b.md",
        "documents/active/a\0b", "x.md", "../documents/active/x.md", "documents/active/c:x",
    ],
)  # fmt: skip
def test_unsafe_paths(path: str) -> None:
    assert split_place(path) is None
    assert split_place("documents/archived/x.md") == ("archived", "x.md")

"""Recorded tokens, windows, slugs, excerpts, hashes and files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_documents._format import excerpt, render, slug, split
from dsh_mnemon_source_documents._index import split_place
from dsh_mnemon_source_documents._score import prepare
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents._window import window
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing.golden import Golden, golden

GOLDEN = Path(__file__).parent / "golden"
TOKENS = golden(GOLDEN, "documents-tokens")
WINDOWS = golden(GOLDEN, "documents-evidence")
FORMAT: dict[str, Any] = dict(golden(GOLDEN, "documents-format").data)


def has_astral(text: str) -> bool:
    """Tell whether the recorded lengths count otherwise than ours (spec/sources.md §1.1)."""
    return any(character > "\uffff" for character in text)


@pytest.mark.requirement("documents:search:tokens")
@pytest.mark.parametrize("case", TOKENS.cases, ids=TOKENS.ids())
def test_tokens(case: dict[str, Any]) -> None:
    query = prepare(case["input"])
    assert list(query.tokens) == case["expected"]["tokens"]
    assert query.required == case["expected"]["required"]


def content_of(given: Any, recipes: dict[str, str]) -> str:
    """Return a text, or what a recipe such as ``'A'*3000 + 'B'`` makes."""
    if isinstance(given, str):
        return given
    recipe = recipes[given["recipe"]]
    if recipe.startswith("same as "):
        return content_of({"recipe": recipe.removeprefix("same as ")}, recipes)
    return eval(recipe, {"__builtins__": {}})


@pytest.mark.requirement("documents:search:window")
@pytest.mark.parametrize("case", WINDOWS.cases, ids=WINDOWS.ids())
def test_windows(case: dict[str, Any]) -> None:
    given, expected = case["input"], case["expected"]
    content = content_of(given["content"], WINDOWS.data.get("recipes", {}))
    text = window(content, given["query"], given["maximum"])
    assert len(text) <= given["maximum"]
    if not has_astral(content):
        assert len(text) == expected["length"]
        assert text.startswith(expected["head"])
        assert text.endswith(expected["tail"])
        assert hashlib.sha256(text.encode()).hexdigest() == expected["sha256"]


def cases(name: str) -> list[dict[str, Any]]:
    return list(FORMAT.get(name, []))


@pytest.mark.requirement("documents:file:name")
@pytest.mark.parametrize("case", cases("slug"))
def test_slugs(case: dict[str, Any]) -> None:
    assert slug(case["input"]) == case["expected"]


@pytest.mark.requirement("documents:file:excerpt")
@pytest.mark.parametrize("case", cases("excerpt"))
def test_excerpts(case: dict[str, Any]) -> None:
    text = excerpt(case["input"])
    if has_astral(case["input"]):
        assert len(text) <= 220
    else:
        assert text == case["expected"]


@pytest.mark.requirement("documents:file:rendering")
@pytest.mark.parametrize("case", cases("hash"))
def test_hashes(case: dict[str, Any]) -> None:
    assert sha256(case["input"]) == case["expected"]


def record_of(wire: dict[str, Any]) -> DocumentRecord:
    keys = {
        "id": "id", "title": "title", "description": "description", "status": "status",
        "filename": "filename", "relativePath": "relative_path", "sourcePaths": "source_paths",
        "sessionIds": "session_ids", "createdAt": "created_at", "updatedAt": "updated_at",
        "lastAccessedAt": "last_accessed_at", "revision": "revision",
        "contentHash": "content_hash", "sizeBytes": "size_bytes", "archivedAt": "archived_at",
        "archiveSummary": "archive_summary", "memoryBodyIds": "memory_body_ids",
    }  # fmt: skip
    lists = ("sourcePaths", "sessionIds", "memoryBodyIds")
    fields = {keys[key]: tuple(item) if key in lists else item for key, item in wire.items()}
    return DocumentRecord(**fields)


@pytest.mark.requirement("documents:file:rendering")
@pytest.mark.parametrize("case", cases("render"))
def test_files(case: dict[str, Any]) -> None:
    record = record_of(case["input"]["record"])
    data = render(record, case["input"]["content"])
    assert data.decode() == case["expected"]["text"]
    assert len(data) == case["expected"]["sizeBytes"]
    assert split(data.decode())[1] == case["expected"]["body"]
    assert split_place(record.relative_path) is not None


@pytest.mark.requirement("documents:file:rendering")
@pytest.mark.parametrize("case", cases("body"))
def test_bodies(case: dict[str, Any]) -> None:
    body = split(case["input"])[1]
    if foreign_fences(case["input"]):
        # The original takes such a front matter for text; here it is read like any other.
        assert body in (case["expected"], split(case["input"].replace("\r\n", "\n"))[1])
    else:
        assert body == case["expected"]


def foreign_fences(text: str) -> bool:
    """Tell whether an editor has put a byte order mark or CR around the fences of a file."""
    return text.startswith(("\ufeff---", "---\r\n")) or "\r\n---" in text


def test_all_files_hold_cases() -> None:
    assert all(isinstance(item, Golden) and item.cases for item in (TOKENS, WINDOWS))
    assert {"slug", "excerpt", "hash", "render", "body"} <= FORMAT.keys()

"""Fields in the form in which they are stored."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_source_documents import _fields


def code_of(call: Any, *arguments: Any) -> str:
    with pytest.raises(InputError) as caught:
        call(*arguments)
    return caught.value.code


@pytest.mark.requirement("documents:file:fields")
def test_lines_are_collapsed_and_bounded() -> None:
    assert _fields.title(" a \n b ") == "a b"
    assert _fields.title("x" * 160 + "  ") == "x" * 160
    assert _fields.description(None) == ""
    assert code_of(_fields.title, " \n") == "text-required"
    assert code_of(_fields.title, None) == "text-required"
    assert code_of(_fields.title, "x" * 161) == "text-too-long"
    assert code_of(_fields.title, "\ud800") == "text-not-unicode"
    assert code_of(_fields.description, "x" * 601) == "text-too-long"
    assert code_of(_fields.summary, "x" * 1001) == "text-too-long"


@pytest.mark.requirement("documents:file:fields")
def test_bodies_are_bounded_in_bytes() -> None:
    assert _fields.body("\n a\0b \n") == "ab"
    assert code_of(_fields.body, " \0 ") == "text-required"
    assert code_of(_fields.body, "\udfff") == "text-not-unicode"
    assert len(_fields.body("x" * 2_097_152)) == 2_097_152
    assert code_of(_fields.body, "记" * 699_051) == "document-too-large"


@pytest.mark.requirement("documents:file:source-paths")
def test_source_paths(tmp_path: Path) -> None:
    work = tmp_path / "work"

    def paths(*values: str) -> tuple[str, ...]:
        return _fields.source_paths(values, str(work), str(work / "memory"))

    assert paths("a", "./a", str(work / "b" / "c"), "d/../e", "") == ("a", "b/c", "e", ".")
    assert len(paths(*map(str, range(60)))) == 50
    for path in ("../out", "/etc/passwd", "a/../../b", "nul\0", str(tmp_path / "work-not")):
        assert code_of(paths, path) == "source-path-outside-workspace"
    for path in ("memory/documents", "memory/documents/active/x.md"):
        assert code_of(paths, path) == "source-path-managed"
    assert paths("memory/other") == ("memory/other",)
    assert _fields.source_paths(["etc"], os.sep, str(tmp_path)) == ("etc",)


@pytest.mark.requirement("documents:file:fields")
def test_ids_are_distinct_and_few() -> None:
    assert _fields.sessions(("a", " b "), ("a", "", "c")) == ("a", "b", "c")
    assert len(_fields.sessions(map(str, range(30)))) == 20
    assert len(_fields.memory_bodies(map(str, range(30)))) == 20
    assert code_of(_fields.sessions, ["\ud800"]) == "text-not-unicode"

"""The append-only files under runtime/archived/ (spec/sources.md §2.9)."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_runtime import _archive
from dsh_mnemon_source_runtime._archive import ENTRIES, append, read, unreadable_lines, unused

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    return tmp_path / "archived"


def line(number: int, **fields: Any) -> dict[str, Any]:
    return {
        "version": 1,
        "archived_at": "n",
        "content": f"记 {number}",
        "created_at": "t",
        "digest": f"d{number}",
        **fields,
    }


def numbers(page: dict[str, Any]) -> list[str]:
    return [item["digest"] for item in page["entries"]]


@pytest.mark.requirement("runtime:archive:format")
class TestAppending:
    def test_one_compact_object_a_line_in_private_files(self, archived: Path) -> None:
        append(archived, ENTRIES, [line(1), line(2)], now=NOW)
        append(archived, ENTRIES, [line(3)], now=NOW)
        path = archived / "MEMORY.jsonl"
        assert path.read_text(encoding="utf-8").splitlines()[0] == (
            '{"version":1,"archived_at":"n","content":"记 1","created_at":"t","digest":"d1"}'
        )
        assert numbers(read(archived, limit=10, offset=0)) == ["d3", "d2", "d1"]
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(archived.stat().st_mode) == 0o700

    def test_nothing_to_append_creates_nothing(self, archived: Path) -> None:
        append(archived, ENTRIES, [], now=NOW)
        assert not archived.exists()

    def test_a_torn_last_line_is_closed_and_never_read(self, archived: Path) -> None:
        append(archived, ENTRIES, [line(1)], now=NOW)
        path = archived / "MEMORY.jsonl"
        with path.open("ab") as file:
            file.write(b'{"digest":"torn"}')
        assert numbers(read(archived, limit=10, offset=0)) == ["d1"]
        path.write_bytes(path.read_bytes()[:-3])
        append(archived, ENTRIES, [line(2)], now=NOW)
        assert numbers(read(archived, limit=10, offset=0)) == ["d2", "d1"]
        assert path.read_bytes().count(b"\n") == 3

    def test_a_large_file_is_rotated_and_still_read(
        self, archived: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_archive, "ROTATE_BYTES", 20)
        for number in range(4):
            append(archived, ENTRIES, [line(number)], now=NOW)
        assert sorted(path.name for path in archived.iterdir()) == [
            "MEMORY-20260301T120000Z-2.jsonl",
            "MEMORY-20260301T120000Z-3.jsonl",
            "MEMORY-20260301T120000Z.jsonl",
            "MEMORY.jsonl",
        ]
        assert numbers(read(archived, limit=10, offset=0)) == ["d3", "d2", "d1", "d0"]

    def test_rotation_starts_above_eight_mebibytes(self, archived: Path) -> None:
        append(archived, ENTRIES, [line(1)], now=NOW)
        path = archived / "MEMORY.jsonl"
        os.truncate(path, 8 * 1024 * 1024)
        append(archived, ENTRIES, [], now=NOW)
        _archive._rotate(path, NOW)
        assert path.exists()
        os.truncate(path, 8 * 1024 * 1024 + 1)
        _archive._rotate(path, NOW)
        assert not path.exists()

    def test_an_unwritable_archive_is_named(self, archived: Path) -> None:
        (archived / "MEMORY.jsonl").mkdir(parents=True)
        with pytest.raises(StorageError) as caught:
            append(archived, ENTRIES, [line(1)], now=NOW)
        assert caught.value.code == "store-unwritable"
        assert caught.value.details["file"] == str(archived / "MEMORY.jsonl")


@pytest.mark.requirement("runtime:archive:read")
class TestReading:
    def test_a_missing_archive_is_empty(self, archived: Path) -> None:
        assert read(archived, limit=5, offset=0) == {
            "entries": [],
            "offset": 0,
            "limit": 5,
            "total": 0,
        }

    def test_duplicates_of_a_crash_count_once(self, archived: Path) -> None:
        rows = [line(1), line(2), line(1, revision="again"), line(1, created_at="u")]
        append(archived, ENTRIES, rows, now=NOW)
        page = read(archived, limit=10, offset=0)
        assert numbers(page) == ["d1", "d1", "d2"]
        assert page["entries"][1]["revision"] == "again"

    def test_pages_are_cut_after_counting(self, archived: Path) -> None:
        append(archived, ENTRIES, [line(number) for number in range(5)], now=NOW)
        page = read(archived, limit=2, offset=1)
        assert (numbers(page), page["total"]) == (["d3", "d2"], 5)

    def test_lines_that_are_no_records_are_skipped_and_counted(self, archived: Path) -> None:
        archived.mkdir()
        good = json.dumps(line(1)).encode()
        odd = json.dumps(line(2, content=5)).encode()
        lines = [b"[]", b"nonsense", b"\xff", b"", b'{"x":1}', odd, good, b"torn"]
        (archived / "MEMORY.jsonl").write_bytes(b"\n".join(lines))
        page = read(archived, limit=10, offset=0)
        assert (numbers(page), page["total"]) == (["d1"], 1)
        assert unreadable_lines(archived) == 6

    def test_a_pipe_in_its_place_is_not_waited_for(self, archived: Path) -> None:
        archived.mkdir()
        os.mkfifo(archived / "MEMORY.jsonl")
        with pytest.raises(StorageError) as caught:
            read(archived, limit=10, offset=0)
        assert caught.value.details["reason"] == "not-a-regular-file"

    def test_an_unreadable_archive_is_named(self, archived: Path) -> None:
        (archived / "MEMORY.jsonl").mkdir(parents=True)
        with pytest.raises(StorageError) as caught:
            read(archived, limit=10, offset=0)
        assert caught.value.code == "store-unreadable"


@pytest.mark.requirement("runtime:archive:format")
def test_unused_counts_up(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    assert unused(path) == path
    path.write_bytes(b"")
    assert unused(path).name == "a-2.md"

"""Reading what anybody may have put there (spec/sources.md §2.3, D25)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_source_runtime._files import MAX_BYTES, fault, open_regular, read_file


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(b"text")
    os.utime(path, ns=(5, 7))
    return path


@pytest.mark.requirement("runtime:files:read")
class TestFiles:
    def test_a_file_is_read_with_its_time(self, file: Path) -> None:
        found = read_file(file)
        assert found is not None
        assert (found.data, found.modified, fault(file)) == (b"text", 7, None)

    def test_a_missing_one_is_no_fault(self, tmp_path: Path) -> None:
        assert read_file(tmp_path / "none") is None
        assert fault(tmp_path / "none") is None

    def test_a_link_is_followed(self, file: Path, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to(file)
        with open_regular(tmp_path / "link") as opened:
            assert opened.read() == b"text"

    def test_the_ceiling_itself_is_allowed(self, file: Path) -> None:
        os.truncate(file, MAX_BYTES)
        assert fault(file) is None
        os.truncate(file, MAX_BYTES + 1)
        assert fault(file) == "too-large"

    def test_what_cannot_be_reached_is_named_by_its_error(self, file: Path) -> None:
        with pytest.raises(StorageError) as caught:
            read_file(file / "below")
        assert caught.value.code == "store-unreadable"
        assert caught.value.details == {"file": str(file / "below"), "reason": "ENOTDIR"}
        assert fault(file / "below") == "ENOTDIR"

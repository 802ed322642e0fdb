"""Reading what anybody may have put there."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from dsh_mnemon_source_documents import _files
from dsh_mnemon_source_documents._files import Unfit, read_regular

pytestmark = pytest.mark.requirement("documents:health:isolated")


def reason(path: Path, limit: int = 100) -> str:
    with pytest.raises(Unfit) as caught:
        read_regular(path, limit)
    return caught.value.reason


def test_what_is_no_regular_file_is_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pipe, link, folder = tmp_path / "pipe", tmp_path / "link", tmp_path / "folder"
    os.mkfifo(pipe)
    folder.mkdir()
    link.symlink_to(tmp_path / "absent")
    assert {reason(path) for path in (pipe, link, folder)} == {"not-a-regular-file"}
    assert reason(tmp_path / "absent") == "missing"
    assert reason(tmp_path / "absent" / "deeper") == "missing"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    assert reason(tmp_path / "socket") == "not-a-regular-file"


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"x" * 101)
    assert reason(path) == "too-large"
    data, signed = read_regular(path, 101)
    assert data == b"x" * 101
    assert signed == _files.signature(path.stat())


def test_a_file_that_grows_meanwhile_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing"
    path.write_bytes(b"x" * 50)
    real = os.read
    monkeypatch.setattr(os, "read", lambda descriptor, size: real(descriptor, min(size, 20)))
    assert read_regular(path)[0] == b"x" * 50


def test_other_errors_keep_their_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x")

    def failing(descriptor: int, size: int) -> bytes:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "read", failing)
    assert reason(path) == "EIO"

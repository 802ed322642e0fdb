"""What files and folders hold, and their draft."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.transfer.chats import is_chat, read_chats
from dsh_mnemon_host.transfer.draft import ACCEPTED, read_draft
from dsh_mnemon_host.transfer.found import Failure, Found, read_text, shown
from dsh_mnemon_host.transfer.lines import read_lines
from dsh_mnemon_host.transfer.markdown import SUFFIXES, markdown_files, read_markdown

__all__ = ("Format", "read_paths")

Format: TypeAlias = Literal["auto", "draft", "jsonl", "markdown", "chat"]
"""What may be imported; ``auto`` looks at it."""


def read_paths(paths: Sequence[Path], format: Format = "auto") -> Found:
    """Read everything that is to be imported.

    What cannot be read, a file or a line of JSON Lines, is named and left out; it is an error where
    it is all there is.

    Raises:
        InputError: ``import-unreadable``, ``import-empty``, ``draft-invalid``, ``format-mismatch``.
    """
    alone = len(paths) == 1
    found = Found.joined(part for path in paths for part in _read(path, format, alone))
    if found.draft.memories or (found.failed and (not alone or paths[0].is_dir())):
        return found
    if found.failed:
        raise found.failed[0].error()
    names = ", ".join(map(shown, paths))
    raise InputError("import-empty", f"there is nothing to import in {names}")


def _read(path: Path, format: Format, alone: bool) -> Iterator[Found]:
    if not path.is_dir():
        yield _file(path, shown(path.name), shown(path), format)
        return
    if format not in ("auto", "markdown"):
        raise InputError("format-mismatch", f"{shown(path)} is a folder; that is for markdown")
    try:
        files = markdown_files(path)
    except InputError as error:
        if alone:
            raise
        files = []
        yield Found(failed=(Failure(file=shown(path), code=error.code, message=error.message),))
    for file in files:
        name = shown(file.relative_to(path))
        yield _file(file, name, name if alone else shown(file), "markdown")


def _file(path: Path, name: str, file: str, format: Format) -> Found:
    try:
        return _found(path, name, file, _form(path, format))
    except InputError as error:
        return Found(failed=(Failure(file=file, code=error.code, message=error.message),))


def _form(path: Path, format: Format) -> Format:
    suffix = path.suffix.lower()
    if format == "auto" and suffix in SUFFIXES:
        return "markdown"
    if format == "auto" and suffix in (".jsonl", ".ndjson"):
        return "jsonl"
    return format


def _found(path: Path, name: str, file: str, format: Format) -> Found:
    if format == "markdown":
        return read_markdown(path, name, file)
    text = read_text(path)
    if format == "jsonl":
        return read_lines(text, file)
    value = _json(text)
    if format == "chat" or (format == "auto" and is_chat(value)):
        return read_chats(value, file)
    return Found.of(read_draft(value), file)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            "draft-invalid", f"it is no JSON that can be read: {error}. What can be: {ACCEPTED}"
        ) from error

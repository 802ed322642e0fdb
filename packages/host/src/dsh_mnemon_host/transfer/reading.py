"""What a file or folder holds, and its draft."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.transfer.chats import is_chat, read_chats
from dsh_mnemon_host.transfer.draft import Draft, read_draft, read_lines
from dsh_mnemon_host.transfer.markdown import SUFFIXES, read_markdown

__all__ = ("Format", "read_path")

Format: TypeAlias = Literal["auto", "draft", "jsonl", "markdown", "chat"]
"""What may be imported; ``auto`` looks at it."""


def read_path(path: Path, format: Format = "auto") -> Draft:
    """Read everything that is to be imported; nothing is imported when any of it is wrong.

    Raises:
        InputError: ``import-unreadable``, ``import-empty``, ``draft-invalid``, ``format-mismatch``.
    """
    if path.is_dir():
        if format not in ("auto", "markdown"):
            raise InputError("format-mismatch", f"{path} is a folder; that is for markdown")
        draft = read_markdown(path)
    else:
        draft = _file(path, format)
    if not draft.memories:
        raise InputError("import-empty", f"there is nothing to import in {path}")
    return draft


def _file(path: Path, format: Format) -> Draft:
    if path.exists() and not path.is_file():
        raise InputError("import-unreadable", f"{path} is neither a file nor a folder")
    if format == "markdown" or (format == "auto" and path.suffix.lower() in SUFFIXES):
        return read_markdown(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("import-unreadable", f"{path} cannot be read: {error}") from error
    name = path.name
    if format == "jsonl" or (format == "auto" and path.suffix.lower() in (".jsonl", ".ndjson")):
        return read_lines(text, name)
    value = _json(text, name)
    if format == "chat" or (format == "auto" and is_chat(value)):
        return read_chats(value, name)
    return read_draft(value, name)


def _json(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError("draft-invalid", f"{name} is no JSON that can be read: {error}") from error

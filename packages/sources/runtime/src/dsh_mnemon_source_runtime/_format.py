"""The stored forms: memories.json, both Markdown files, the revision (spec/sources.md §2.3; pure).

Every byte equals what the original writes, so that both can share one directory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from dsh_mnemon_source_runtime._entries import collapse, is_branch_list, is_unicode, of_target
from dsh_mnemon_source_runtime.contracts import IMPORTANCES, SEPARATOR, TARGETS, Entry, Target


class Damage(ValueError):
    """Raised when stored bytes are no valid store: a reason and maybe the first bad index."""

    def __init__(self, reason: str, index: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index


def compact_json(value: object) -> str:
    """Return compact JSON: no spaces, non-ASCII as it is, keys in the given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sha256(data: str | bytes) -> str:
    """Return the lower-case hex SHA-256 of bytes or of a text's UTF-8."""
    return hashlib.sha256(data.encode("utf-8") if isinstance(data, str) else data).hexdigest()


def _document(entries: Sequence[Entry]) -> dict[str, Any]:
    return {"version": 1, "entries": [entry.to_json() for entry in entries]}


def encode(entries: Sequence[Entry]) -> bytes:
    """Return the bytes of memories.json."""
    text = json.dumps(_document(entries), ensure_ascii=False, indent=2)
    return f"{text}\n".encode()


def revision(entries: Sequence[Entry]) -> str:
    """Return the digest of a whole list of entries."""
    return sha256(compact_json(_document(entries)))


def markdown(entries: Sequence[Entry], target: Target) -> bytes:
    """Return the bytes of a target's Markdown file; empty without entries."""
    contents = [entry.content for entry in of_target(entries, target)]
    return f"{SEPARATOR.join(contents)}\n".encode() if contents else b""


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def decode(data: bytes) -> tuple[Entry, ...]:
    """Read the bytes of memories.json; contents are collapsed, unknown keys dropped.

    Raises:
        Damage: ``not-json``, ``wrong-version``, ``newer-version`` or ``invalid-entry`` with its
            index.
    """
    try:
        document = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Damage("not-json") from None
    if not isinstance(document, dict):
        raise Damage("wrong-version")
    stored = cast("dict[str, Any]", document)
    version, rows = stored.get("version"), stored.get("entries")
    if isinstance(version, int) and version > 1:
        raise Damage("newer-version")
    if isinstance(version, bool) or version != 1 or not isinstance(rows, list):
        raise Damage("wrong-version")
    return tuple(_entry(row, index) for index, row in enumerate(cast("list[object]", rows)))


def _entry(row: object, index: int) -> Entry:
    if not isinstance(row, Mapping):
        raise Damage("invalid-entry", index)
    fields = cast("Mapping[str, Any]", row)
    texts = [fields.get(key) for key in ("content", "created_at", "updated_at")]
    if not all(isinstance(text, str) and is_unicode(text) for text in texts):
        raise Damage("invalid-entry", index)
    content, created_at, updated_at = cast("list[str]", texts)
    content = collapse(content)
    target, importance = fields.get("target"), fields.get("importance")
    if (
        not content
        or "§" in content
        or target not in TARGETS
        or importance not in IMPORTANCES
        or (target == "user" and "branches" in fields)
    ):
        raise Damage("invalid-entry", index)
    return Entry(
        content=content,
        created_at=created_at,
        updated_at=updated_at,
        target=target,
        importance=importance,
        branches=_branches(fields.get("branches")),
    )


def _branches(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if value and is_branch_list(value) else None

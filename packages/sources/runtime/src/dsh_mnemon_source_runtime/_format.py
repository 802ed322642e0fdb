"""The stored forms: memories.json, both Markdown files, the revision (spec/sources.md §2.3; pure).

Every byte equals what the original writes, so that both can share one directory.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any, Final, TypeGuard, cast

from dsh_mnemon_core.files import read_json

from dsh_mnemon_source_runtime._entries import collapse, is_branch_list, is_unicode, of_target
from dsh_mnemon_source_runtime.contracts import IMPORTANCES, SEPARATOR, TARGETS, Entry, Target

_text: Final = json.JSONEncoder(ensure_ascii=False).encode


class Damage(ValueError):
    """Raised when stored bytes are no valid store.

    Args:
        reason: As of `DamagedStore`.
        index: Zero-based position of the first bad entry.
        problem: What is wrong, in words, where the reason is not enough.
    """

    def __init__(self, reason: str, index: int | None = None, problem: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index
        self.problem = problem


def compact_json(value: object) -> str:
    """Return compact JSON: no spaces, non-ASCII as it is, keys in the given order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def sha256(data: str | bytes) -> str:
    """Return the lower-case hex SHA-256 of bytes or of a text's UTF-8."""
    return hashlib.sha256(data.encode("utf-8") if isinstance(data, str) else data).hexdigest()


def _document(entries: Sequence[Entry]) -> dict[str, Any]:
    return {"version": 1, "entries": [entry.to_json() for entry in entries]}


def encode(entries: Sequence[Entry]) -> bytes:
    """Return the bytes of memories.json: stored JSON, as `json.dumps` writes it with indent 2."""
    # With an indent `json` leaves its fast encoder, and every change writes all entries.
    rows = ",\n".join(_row(entry) for entry in entries)
    listed = f"[\n{rows}\n  ]" if rows else "[]"
    return f'{{\n  "version": 1,\n  "entries": {listed}\n}}\n'.encode()


def _row(entry: Entry) -> str:
    fields = ",\n".join(f'      "{key}": {_value(value)}' for key, value in entry.to_json().items())
    return f"    {{\n{fields}\n    }}"


def _value(value: Any) -> str:
    """Return a text or a list of texts as it stands in a row."""
    if isinstance(value, str):
        return _text(value)
    items = ",\n".join(f"        {_text(name)}" for name in value)
    return f"[\n{items}\n      ]" if items else "[]"


def revision(entries: Sequence[Entry]) -> str:
    """Return the digest of a whole list of entries."""
    return sha256(compact_json(_document(entries)))


def markdown(entries: Sequence[Entry], target: Target) -> bytes:
    """Return the bytes of a target's Markdown file; empty without entries."""
    contents = [entry.content for entry in of_target(entries, target)]
    return f"{SEPARATOR.join(contents)}\n".encode() if contents else b""


def decode(data: bytes) -> tuple[Entry, ...]:
    """Read the bytes of memories.json; contents are collapsed, unknown keys dropped.

    Raises:
        Damage: ``not-json``, also for a key that is given twice, ``wrong-version``,
            ``newer-version`` or ``invalid-entry`` with its index.
    """
    try:
        document = read_json(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damage("not-json", problem=str(error)) from None
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
    if not isinstance(row, dict):
        raise Damage("invalid-entry", index)
    fields = cast("dict[str, Any]", row)
    content, created_at = fields.get("content"), fields.get("created_at")
    updated_at = fields.get("updated_at")
    if not (_is_text(content) and _is_text(created_at) and _is_text(updated_at)):
        raise Damage("invalid-entry", index)
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


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and is_unicode(value)


def _branches(value: Any) -> tuple[str, ...] | None:
    return tuple(value) if value and is_branch_list(value) else None

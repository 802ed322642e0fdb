"""JSON Lines: one memory a line."""

from __future__ import annotations

import json
from typing import Any, cast

from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.transfer.draft import Draft, DraftMemory, read_memory
from dsh_mnemon_host.transfer.found import Failure, Found

__all__ = ("read_lines",)


def read_lines(text: str, file: str) -> Found:
    """Read JSON Lines; a line that is wrong is named and left out.

    ``createdAt`` is accepted for ``created_at``.

    Args:
        text: The lines.
        file: What to call them.
    """
    memories: list[DraftMemory] = []
    failed: list[Failure] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            memories.append(_memory(line))
        except InputError as error:
            failed.append(Failure(file=file, line=number, code=error.code, message=error.message))
    return Found.of(Draft(memories=tuple(memories)), file, failed=tuple(failed))


def _memory(line: str) -> DraftMemory:
    try:
        value: Any = json.loads(line)
    except json.JSONDecodeError as error:
        text = f"it is no JSON: {error.msg} (column {error.colno})"
        raise InputError("draft-invalid", text) from error
    except (ValueError, RecursionError) as error:
        raise InputError("draft-invalid", f"it is no JSON that can be read: {error}") from error
    if not isinstance(value, dict):
        raise InputError("draft-invalid", 'it is no object, such as {"content": "..."}')
    row = cast("dict[str, Any]", value)
    if "createdAt" in row:
        row = {"created_at": row["createdAt"], **row}
    return read_memory(row)

"""When documents were last used: a log beside the index, folded in now and then (D43; blocking).

A line is ``{"at": <time>, "ids": [<document>, …]}``. The log is advisory: a lost line makes a
document look older than it is, nothing else, so nothing is synced and nobody is kept waiting.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

import attrs

from dsh_mnemon_source_documents._files import Unfit, read_regular
from dsh_mnemon_source_documents.contracts import DocumentRecord

FILE: Final = ".access.jsonl"
FOLD_BYTES: Final = 256 * 1024
"""Size from which a search folds the log instead of letting it grow."""

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_FLAGS: Final[int] = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)


class AccessLog:
    """The access log of one managed folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE

    def append(self, ids: Sequence[str], at: str) -> int:
        """Note that documents were used; return the size of the log in bytes, 0 if there is none.

        A folder that cannot be written to is left alone.
        """
        line = json.dumps({"at": at, "ids": list(ids)}, separators=(",", ":"))
        with suppress(OSError):
            descriptor = os.open(self.path, _FLAGS, 0o600)
            try:
                os.write(descriptor, f"{line}\n".encode())
                return os.fstat(descriptor).st_size
            finally:
                os.close(descriptor)
        return 0

    def read(self) -> dict[str, str]:
        """Return the latest noted access of every document; torn and foreign lines are skipped."""
        try:
            data, _ = read_regular(self.path)
        except Unfit:
            return {}
        latest: dict[str, str] = {}
        for line in data.splitlines():
            at, ids = _line(line)
            for document_id in ids:
                latest[document_id] = max(at, latest.get(document_id, ""))
        return latest

    def clear(self) -> None:
        """Remove the log, once it was folded."""
        with suppress(OSError):
            self.path.unlink()


def _line(line: bytes) -> tuple[str, list[str]]:
    try:
        value: Any = json.loads(line)
    except (ValueError, RecursionError):
        return "", []
    if not isinstance(value, dict):
        return "", []
    entry = cast("dict[str, Any]", value)
    at, ids = entry.get("at"), entry.get("ids")
    if not isinstance(at, str) or not _TIME.fullmatch(at) or not isinstance(ids, list):
        return "", []
    return at, [item for item in cast("list[object]", ids) if isinstance(item, str)]


def folded(
    records: Sequence[DocumentRecord], latest: Mapping[str, str]
) -> tuple[DocumentRecord, ...]:
    """Return records whose access times are no older than the noted ones; order stays."""
    return tuple(
        attrs.evolve(record, last_accessed_at=latest[record.id])
        if latest.get(record.id, "") > record.last_accessed_at
        else record
        for record in records
    )

"""Former bodies of documents: ``documents/.history/<id>/<revision>.md`` (D56; blocking).

What is kept is the file as it was, front matter included, so that nothing a person wrote into it
is lost.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from dsh_mnemon_core.files import Replacement, ensure_directory
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_documents._files import Unfit, read_regular
from dsh_mnemon_source_documents._format import excerpt, split
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import HISTORY_LENGTH, DocumentRecord

FOLDER: Final = ".history"

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
_NAME: Final = re.compile(r"([1-9]\d{0,15})\.md")


class History:
    """The former bodies kept in one managed folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / FOLDER

    def folder(self, document_id: str) -> Path:
        """Return where the former bodies of a document lie."""
        safe = _SAFE.fullmatch(document_id) is not None
        return self.path / (document_id if safe else sha256(document_id))

    def file(self, record: DocumentRecord) -> Path:
        """Return where the body of a record goes once it is replaced."""
        return self.folder(record.id) / f"{record.revision}.md"

    def keep(self, record: DocumentRecord, data: bytes) -> Replacement:
        """Return the copy to write before a file is replaced; makes its folder.

        Raises:
            StorageError: ``store-unwritable``.
        """
        path = self.file(record)
        ensure_directory(path.parent)
        return Replacement(path=path, data=data)

    def prune(self, record: DocumentRecord) -> None:
        """Remove all but the latest former bodies."""
        for number in self._numbers(record)[HISTORY_LENGTH:]:
            with suppress(OSError):
                (self.folder(record.id) / f"{number}.md").unlink()

    def last(self, document_id: str) -> int:
        """Return the last revision of a document that is kept, 0 if none is."""
        return max(self._all(document_id), default=0)

    def former(self, record: DocumentRecord) -> dict[int, str]:
        """Return former bodies by revision, the latest first; unreadable ones are left out."""
        return {number: text for number, text, _ in self._read(record)}

    def describe(self, record: DocumentRecord) -> list[dict[str, Any]]:
        """List former bodies as ``{revision, replacedAt, characters, excerpt}``, latest first."""
        return [
            {
                "revision": number,
                "replacedAt": iso_utc(datetime.fromtimestamp(modified / 1e9, UTC)),
                "characters": len(text),
                "excerpt": excerpt(text),
            }
            for number, text, modified in self._read(record)
        ]

    def _read(self, record: DocumentRecord) -> list[tuple[int, str, int]]:
        found: list[tuple[int, str, int]] = []
        for number in self._numbers(record)[:HISTORY_LENGTH]:
            with suppress(Unfit, UnicodeDecodeError):
                data, signed = read_regular(self.folder(record.id) / f"{number}.md")
                found.append((number, split(data.decode("utf-8"))[1], signed[0]))
        return found

    def _numbers(self, record: DocumentRecord) -> list[int]:
        """Return the kept revisions before the present one, the latest first."""
        numbers = self._all(record.id)
        return sorted((n for n in numbers if n < record.revision), reverse=True)

    def _all(self, document_id: str) -> list[int]:
        try:
            names = os.listdir(self.folder(document_id))
        except OSError:
            return []
        return [int(match[1]) for match in map(_NAME.fullmatch, names) if match]

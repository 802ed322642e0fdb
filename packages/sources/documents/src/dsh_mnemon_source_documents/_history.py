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

import attrs
from dsh_mnemon_core.files import Replacement, ensure_directory
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_documents._files import Signature, Unfit, read_regular, signature
from dsh_mnemon_source_documents._folder import NOT_UNICODE
from dsh_mnemon_source_documents._format import excerpt, split
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import FOLDER, HISTORY_LENGTH, DocumentRecord
from dsh_mnemon_source_documents.errors import UnreadableDocument

_FOLDER: Final = ".history"

_SAFE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}")
_NAME: Final = re.compile(r"([1-9]\d{0,15})\.md")


def kept_place(document_id: str, revision: int) -> str:
    """Return the relative path of a former body."""
    return f"{FOLDER}/{_FOLDER}/{_folder(document_id)}/{revision}.md"


def _folder(document_id: str) -> str:
    return document_id if _SAFE.fullmatch(document_id) else sha256(document_id)


@attrs.frozen(kw_only=True)
class Kept:
    """A former body as it was found.

    Attributes:
        record: The document as it is now.
        revision: Whose body it was.
        replaced: Signature of the file, which was made when the body was replaced.
        text: The stripped body, if it can be read.
        reason: Why there is no text.
    """

    record: DocumentRecord
    revision: int
    replaced: Signature
    text: str | None = None
    reason: str = ""

    @property
    def place(self) -> str:
        """Where it lies, relative to the root."""
        return kept_place(self.record.id, self.revision)

    def require(self) -> str:
        """Return the body.

        Raises:
            UnreadableDocument: ``document-unreadable``, naming this file.
        """
        if self.text is None:
            raise UnreadableDocument(
                attrs.evolve(self.record, relative_path=self.place), self.reason
            )
        return self.text

    def to_json(self) -> dict[str, Any]:
        """Return ``{revision, replacedAt, characters, excerpt}``.

        One that cannot be read is ``{revision, replacedAt, unreadable, file, bytes}``: the reason,
        the relative path and the size.
        """
        modified, _, size, _ = self.replaced
        told = {
            "revision": self.revision,
            "replacedAt": iso_utc(datetime.fromtimestamp(modified / 1e9, UTC)),
        }
        if self.text is None:
            return {**told, "unreadable": self.reason, "file": self.place, "bytes": size}
        return {**told, "characters": len(self.text), "excerpt": excerpt(self.text)}


class History:
    """The former bodies kept in one managed folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / _FOLDER

    def folder(self, document_id: str) -> Path:
        """Return where the former bodies of a document lie."""
        return self.path / _folder(document_id)

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

    def former(self, record: DocumentRecord) -> dict[int, Kept]:
        """Read the former bodies by revision, the latest first."""
        found: dict[int, Kept] = {}
        for number in self._numbers(record)[:HISTORY_LENGTH]:
            path = self.folder(record.id) / f"{number}.md"
            with suppress(OSError):
                found[number] = _read(record, number, path)
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


def _read(record: DocumentRecord, number: int, path: Path) -> Kept:
    """Read one former body.

    Raises:
        OSError: It is not there any more.
    """
    kept = Kept(record=record, revision=number, replaced=signature(os.lstat(path)))
    try:
        data, _ = read_regular(path)
        return attrs.evolve(kept, text=split(data.decode("utf-8"))[1])
    except Unfit as unfit:
        return attrs.evolve(kept, reason=unfit.reason)
    except UnicodeDecodeError:
        return attrs.evolve(kept, reason=NOT_UNICODE)

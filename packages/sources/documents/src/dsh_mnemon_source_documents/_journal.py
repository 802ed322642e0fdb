"""What is being written: undone by the next writer when its writer died half-way (blocking).

Bodies are renamed into place before the index that tells of them. Should the writer die in between,
the journal names each body and what stood there before, so that the old state comes back whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeGuard, cast

import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import atomic_write, storage_error

from dsh_mnemon_source_documents._files import Unfit, read_regular
from dsh_mnemon_source_documents._format import carried, render, split
from dsh_mnemon_source_documents._history import History
from dsh_mnemon_source_documents._index import split_place
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord

FILE: Final = ".pending.json"


@attrs.frozen(kw_only=True)
class Written:
    """A body that is about to be written.

    Attributes:
        record: The document as it will be.
        data: Its file.
        kept: Whether the file that it replaces goes into the history.
    """

    record: DocumentRecord
    data: bytes
    kept: bool

    def to_json(self) -> dict[str, Any]:
        """Return ``{version, id, revision, path, sha256, kept}``."""
        return {
            "version": 1,
            "id": self.record.id,
            "revision": self.record.revision,
            "path": self.record.relative_path,
            "sha256": sha256(self.data),
            "kept": self.kept,
        }


class Journal:
    """The journal of one managed folder; only the holder of its lock touches it."""

    def __init__(self, folder: Path, history: History) -> None:
        self.path = folder / FILE
        self._folder = folder
        self._history = history

    def begin(self, written: Sequence[Written]) -> None:
        """Note durably which bodies are about to be written.

        Raises:
            StorageError: ``store-unwritable``.
        """
        entries = [item.to_json() for item in written]
        noted = entries[0] if len(entries) == 1 else {"version": 2, "changes": entries}
        atomic_write(self.path, json.dumps(noted).encode())

    def end(self) -> None:
        """Forget what was noted, once the index says it."""
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def exists(self) -> bool:
        """Tell whether a writer died, or is at work."""
        return os.path.isfile(self.path)

    def undo(self, by_id: Mapping[str, DocumentRecord]) -> None:
        """Take back every body that the index does not tell of.

        Args:
            by_id: The index as it is.

        Raises:
            StorageError: ``store-unwritable``, or ``store-unreadable`` when what stood there before
                cannot be read; what was noted stays, so that it can be undone later.
        """
        for path, data in self._undoing(by_id):
            if data is not None:
                atomic_write(path, data)
            else:
                _remove(path)
        self.end()

    def blocked(self, by_id: Mapping[str, DocumentRecord]) -> StorageError | None:
        """Return why every change is refused, if what was noted cannot be undone."""
        try:
            list(self._undoing(by_id))
        except StorageError as error:
            return error
        return None

    def _undoing(self, by_id: Mapping[str, DocumentRecord]) -> Iterator[tuple[Path, bytes | None]]:
        """Yield which files go back to which bytes; ``None`` for those that are removed.

        Raises:
            StorageError: ``store-unreadable``.
        """
        for entry in self._entries():
            record = by_id.get(entry["id"])
            if record is None:
                # A former text can only be found through the record; the index itself was lost.
                overtaken = entry["revision"] > 1
            else:
                overtaken = record.revision >= entry["revision"]
            if not overtaken and (undoing := self._taken_back(entry, record)) is not None:
                yield undoing

    def _entries(self) -> list[dict[str, Any]]:
        try:
            data, _ = read_regular(self.path)
            value: Any = json.loads(data)
        except (Unfit, ValueError, RecursionError):
            return []
        if not isinstance(value, dict):
            return []
        noted = cast("dict[str, Any]", value)
        changes: object = noted.get("changes", [noted])
        listed = cast("list[object]", changes) if isinstance(changes, list) else []
        return [entry for entry in listed if _is_entry(entry)]

    def _taken_back(
        self, entry: Mapping[str, Any], record: DocumentRecord | None
    ) -> tuple[Path, bytes | None] | None:
        parts = split_place(entry["path"])
        if parts is None:
            return None
        path = self._folder.joinpath(*parts)
        data: bytes | None = None
        with suppress(Unfit):
            data, _ = read_regular(path)
        if data is None or sha256(data) != entry["sha256"]:
            # It was not written yet, or somebody wrote since.
            return None
        if record is not None and record.relative_path == entry["path"]:
            return path, self._former(entry, record, data)
        return path, None

    def _former(self, entry: Mapping[str, Any], record: DocumentRecord, data: bytes) -> bytes:
        """Return the file as it was: kept, or made again where only the front matter changed."""
        if entry.get("kept") is True:
            return self._kept(record)
        front, body = split(data.decode("utf-8"))
        return render(record, body, carried(front))

    def _kept(self, record: DocumentRecord) -> bytes:
        path = self._history.file(record)
        try:
            return read_regular(path)[0]
        except Unfit as unfit:
            raise StorageError(
                "store-unreadable",
                f"cannot read {path} ({unfit.reason}), the former text of {record.title!r}, of"
                f" which a change was never finished; put it back, or remove {self.path} to keep"
                " the new text",
                details={"file": str(path), "reason": unfit.reason},
            ) from None


def _is_entry(value: object) -> TypeGuard[dict[str, Any]]:
    if not isinstance(value, dict):
        return False
    entry = cast("dict[str, Any]", value)
    texts = all(isinstance(entry.get(key), str) for key in ("id", "path", "sha256"))
    return texts and isinstance(entry.get("revision"), int)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise storage_error(error, path) from error

"""The Markdown files on disk: what we wrote, what a person edited (D57; blocking).

``.rendered.json`` holds digests of what this Source wrote last. A file that is neither the
rendering of the store nor one of those is a hand edit: it is copied to ``edited/`` before it is
rewritten, and the copy goes once the store holds exactly its entries. When memories.json is gone,
whatever the files say is such an edit: nothing else holds that text.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs
from dsh_mnemon_core.files import Replacement, atomic_write, ensure_directory
from dsh_mnemon_core.instant import iso_utc
from pydantic import BaseModel, ValidationError

from dsh_mnemon_source_runtime._archive import file_stamp, unused
from dsh_mnemon_source_runtime._edits import compare
from dsh_mnemon_source_runtime._files import read_file
from dsh_mnemon_source_runtime._format import compact_json, markdown, sha256
from dsh_mnemon_source_runtime.contracts import FILE_NAMES, Entry, Target

RECORD: Final = ".rendered.json"
EDITED: Final = "edited"


class _Record(BaseModel):
    """Content of ``.rendered.json``: per file the digests of the last renderings."""

    version: int = 1
    files: dict[str, list[str]] = {}


def _data(path: Path) -> bytes | None:
    found = read_file(path)
    return None if found is None else found.data


@attrs.frozen(kw_only=True)
class HandEdit:
    """A Markdown file that a person changed, in place or as the copy that was kept of it."""

    target: Target
    path: Path
    data: bytes
    modified: int
    copied: bool

    @property
    def edited_at(self) -> datetime:
        """When the person saved it, from the modification time; a copy has it from its original."""
        return datetime.fromtimestamp(self.modified / 1_000_000_000, UTC)

    def differs(self, entries: Sequence[Entry]) -> bool:
        """Tell whether it says anything that the store does not."""
        # Bytes that are no UTF-8 are compared as U+FFFD.
        text = self.data.decode("utf-8", "replace")
        return bool(compare(text, entries, self.target, self.edited_at))

    def to_json(self) -> dict[str, Any]:
        """Return ``{target, file, copied, editedAt, digest}``."""
        return {
            "target": self.target,
            "file": str(self.path),
            "copied": self.copied,
            "editedAt": iso_utc(self.edited_at),
            "digest": sha256(self.data),
        }


class Renderings:
    """The Markdown files of one ``runtime`` folder.

    The entries that methods take are those of the store before it is rewritten, ``None`` when
    there is no store.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def exist(self) -> bool:
        """Tell whether there is any Markdown file."""
        return any((self.folder / name).exists() for name in FILE_NAMES.values())

    def are_current(self, entries: Sequence[Entry]) -> bool:
        """Tell whether both files are exactly the rendering of the entries."""
        return all(
            _data(self.folder / name) == markdown(entries, target)
            for target, name in FILE_NAMES.items()
        )

    def hand_edits(self, entries: Sequence[Entry] | None) -> list[HandEdit]:
        """List what people wrote that the store does not hold: files first, then kept copies."""
        return [
            edit
            for edit in (*self._edited(entries), *self._copies("user"), *self._copies("memory"))
            if edit.differs(entries or ())
        ]

    def keep_edits(self, entries: Sequence[Entry] | None, now: datetime) -> None:
        """Copy hand edits to ``edited/`` and drop the copies that the store has caught up with.

        Args:
            entries: See the class.
            now: Time (UTC) that names the copies.

        Raises:
            StorageError: ``store-unwritable``; nothing has been rewritten.
        """
        for copy in (*self._copies("user"), *self._copies("memory")):
            if not copy.differs(entries or ()):
                with suppress(OSError):
                    copy.path.unlink()
        for edit in self._edited(entries):
            kept = [copy.data for copy in self._copies(edit.target)]
            if edit.data not in kept and edit.differs(entries or ()):
                self._copy(edit, now)

    def _copy(self, edit: HandEdit, now: datetime) -> None:
        folder = self.folder / EDITED
        ensure_directory(folder)
        path = unused(folder / f"{edit.path.stem}-{file_stamp(now)}.md")
        atomic_write(path, edit.data)
        with suppress(OSError):
            os.utime(path, ns=(edit.modified, edit.modified))

    def replacements(
        self, before: Sequence[Entry] | None, after: Sequence[Entry]
    ) -> list[Replacement]:
        """Return the record and both files to be written, in this order.

        The record names the coming renderings and the ones they replace, so that whichever of
        them a crash leaves behind is known as ours.
        """
        known: dict[str, list[str]] = {}
        files: list[Replacement] = []
        for target, name in FILE_NAMES.items():
            path, data = self.folder / name, markdown(after, target)
            present = _data(path)
            known[name] = [sha256(data)]
            if present is not None and self._is_ours(target, present, before):
                known[name].append(sha256(present))
            files.append(Replacement(path=path, data=data))
        record = compact_json(_Record(files=known).model_dump())
        return [Replacement(path=self.folder / RECORD, data=f"{record}\n".encode()), *files]

    def _edited(self, entries: Sequence[Entry] | None) -> Iterator[HandEdit]:
        for target, name in FILE_NAMES.items():
            edit = self._look(target, self.folder / name, copied=False)
            if edit and not self._is_ours(target, edit.data, entries):
                yield edit

    def _copies(self, target: Target) -> list[HandEdit]:
        stem = FILE_NAMES[target].removesuffix(".md")
        found = sorted((self.folder / EDITED).glob(f"{stem}-*.md"), key=lambda path: path.stem)
        looks = (self._look(target, path, copied=True) for path in found)
        return [edit for edit in looks if edit]

    def _look(self, target: Target, path: Path, *, copied: bool) -> HandEdit | None:
        found = read_file(path)
        if found is None:
            return None
        return HandEdit(
            target=target, path=path, data=found.data, modified=found.modified, copied=copied
        )

    def _is_ours(self, target: Target, data: bytes, entries: Sequence[Entry] | None) -> bool:
        if entries is None:
            return False
        known = self._known().get(FILE_NAMES[target], [])
        return data == markdown(entries, target) or sha256(data) in known

    def _known(self) -> dict[str, list[str]]:
        """Return the digests of what we wrote last; none when the record is missing or broken."""
        try:
            record = _Record.model_validate_json(_data(self.folder / RECORD) or b"{}")
        except ValidationError:
            return {}
        return record.files

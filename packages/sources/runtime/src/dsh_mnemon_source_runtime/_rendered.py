"""The Markdown files on disk: what we wrote, what a person edited (D57; blocking).

``.rendered.json`` holds digests of what this Source wrote last. A file that is neither the
rendering of the store nor one of those is a hand edit: it is copied to ``edited/`` before it is
rewritten, and the copy goes once the store holds exactly its entries. When memories.json is gone,
whatever the files say is such an edit: nothing else holds that text.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
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
from dsh_mnemon_source_runtime._files import Found, read_file
from dsh_mnemon_source_runtime._format import compact_json, markdown, sha256
from dsh_mnemon_source_runtime.contracts import FILE_NAMES, Entry, Target

RECORD: Final = ".rendered.json"
EDITED: Final = "edited"

_PRIVATE: Final = 0o600


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


@attrs.frozen(kw_only=True)
class _File:
    """One of both files as it was found.

    Attributes:
        target: Whose it is.
        path: Where it is.
        found: What it holds; ``None`` when it does not exist.
        digest: Digest of that.
        recorded: Whether the record names it: this Source wrote it, or at least such bytes.
        ours: Whether it is no hand edit.
    """

    target: Target
    path: Path
    found: Found | None
    digest: str
    recorded: bool
    ours: bool

    @property
    def edit(self) -> HandEdit | None:
        """The file as a hand edit, when it is one."""
        if self.found is None or self.ours:
            return None
        return _edit(self.target, self.path, self.found, copied=False)

    def digests(self, rendering: bytes) -> list[str]:
        """Return what the record says when this file is to become a rendering."""
        coming = sha256(rendering)
        replaced = self.ours and self.found is not None and self.digest != coming
        return [coming, self.digest] if replaced else [coming]

    def is_written(self, rendering: bytes) -> bool:
        """Tell whether writing a rendering would leave the file exactly as it is."""
        # What the record does not name may never have been synced to the disk.
        return (
            self.found is not None
            and self.recorded
            and self.found.data == rendering
            and self.found.mode == _PRIVATE
            and not self.path.is_symlink()
        )


def _edit(target: Target, path: Path, found: Found, *, copied: bool) -> HandEdit:
    return HandEdit(
        target=target, path=path, data=found.data, modified=found.modified, copied=copied
    )


class Renderings:
    """The Markdown files of one ``runtime`` folder.

    The entries that methods take are those of the store as it is, ``None`` when there is none.
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
        edited = (file.edit for file in self._files(entries) if file.edit)
        return [edit for edit in (*edited, *self._copies()) if edit.differs(entries or ())]

    def rewrite(
        self, before: Sequence[Entry] | None, after: Sequence[Entry], now: datetime
    ) -> list[Replacement]:
        """Keep hand edits, and return the record and the files to be written, in this order.

        Hand edits are copied to ``edited/``, and the copies that the store has caught up with go.
        A file that this Source wrote and that already is the coming rendering stays as it is. The
        record names the coming renderings and the ones they replace, so that whichever of them a
        crash leaves behind is known as ours.

        Args:
            before: Entries of the store; see the class.
            after: Entries that it will have.
            now: Time (UTC) that names the copies.

        Raises:
            StorageError: A file cannot be read, or a copy not be written; nothing was rewritten.
        """
        files = self._files(before)
        self._keep([file.edit for file in files if file.edit], before or (), now)
        coming = [(file, markdown(after, file.target)) for file in files]
        known = {file.path.name: file.digests(data) for file, data in coming}
        record = compact_json(_Record(files=known).model_dump())
        return [
            Replacement(path=self.folder / RECORD, data=f"{record}\n".encode()),
            *(
                Replacement(path=file.path, data=data)
                for file, data in coming
                if not file.is_written(data)
            ),
        ]

    def _keep(self, edits: Sequence[HandEdit], entries: Sequence[Entry], now: datetime) -> None:
        kept: list[tuple[Target, bytes]] = []
        for copy in self._copies():
            if not copy.differs(entries):
                with suppress(OSError):
                    copy.path.unlink()
                    continue
            kept.append((copy.target, copy.data))
        for edit in edits:
            if (edit.target, edit.data) not in kept and edit.differs(entries):
                self._copy(edit, now)

    def _copy(self, edit: HandEdit, now: datetime) -> None:
        folder = self.folder / EDITED
        ensure_directory(folder)
        path = unused(folder / f"{edit.path.stem}-{file_stamp(now)}.md")
        atomic_write(path, edit.data)
        with suppress(OSError):
            os.utime(path, ns=(edit.modified, edit.modified))

    def _files(self, entries: Sequence[Entry] | None) -> list[_File]:
        """Look at both files, and once at the record."""
        known = self._known()
        return [
            self._file(target, self.folder / name, entries, known.get(name, ()))
            for target, name in FILE_NAMES.items()
        ]

    def _file(
        self, target: Target, path: Path, entries: Sequence[Entry] | None, known: Sequence[str]
    ) -> _File:
        found = read_file(path)
        data = b"" if found is None else found.data
        digest = sha256(data)
        recorded = digest in known
        ours = entries is not None and (recorded or data == markdown(entries, target))
        return _File(
            target=target, path=path, found=found, digest=digest, recorded=recorded, ours=ours
        )

    def _copies(self) -> list[HandEdit]:
        """Return the kept copies, the oldest of a target first."""
        folder = self.folder / EDITED
        if not folder.is_dir():
            return []
        paths: list[tuple[Target, Path]] = [
            (target, path)
            for target, name in FILE_NAMES.items()
            for path in sorted(folder.glob(f"{Path(name).stem}-*.md"), key=lambda path: path.stem)
        ]
        return [
            _edit(target, path, found, copied=True)
            for target, path in paths
            if (found := read_file(path))
        ]

    def _known(self) -> dict[str, list[str]]:
        """Return the digests of what we wrote last; none when the record is missing or broken."""
        try:
            record = _Record.model_validate_json(_data(self.folder / RECORD) or b"{}")
        except ValidationError:
            return {}
        return record.files

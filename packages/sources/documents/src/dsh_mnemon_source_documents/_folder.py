"""The bodies on disk: where they lie, which are there, what they hold (D42; blocking)."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import attrs

from dsh_mnemon_source_documents._files import (
    MISSING,
    NOT_REGULAR,
    Signature,
    Unfit,
    read_regular,
    reason_of,
    signature,
)
from dsh_mnemon_source_documents._format import split
from dsh_mnemon_source_documents._index import split_place
from dsh_mnemon_source_documents.contracts import FOLDER, STATUSES, DocumentRecord
from dsh_mnemon_source_documents.errors import UnreadableDocument

NOT_UNICODE: Final = "not-unicode"
UNSAFE: Final = "unsafe-path"

# A folder changed again within one tick of its clock may keep its time.
_TICK: Final = 50_000_000


@attrs.frozen(kw_only=True)
class Found:
    """What was found where a body should be.

    Attributes:
        data: The bytes of the file, if it could be read.
        text: The stripped body, if the bytes are UTF-8.
        front: The front matter, without its fences.
        signature: Of the file that was read.
        reason: Why there is no text.
    """

    data: bytes | None = None
    text: str | None = None
    front: str = ""
    signature: Signature | None = None
    reason: str | None = None

    def require(self, record: DocumentRecord) -> str:
        """Return the body.

        Raises:
            UnreadableDocument: ``document-unreadable``.
        """
        if self.text is None:
            raise UnreadableDocument(record, self.reason or MISSING)
        return self.text


class BodyFolder:
    """The managed folder of one root.

    Args:
        root: Directory whose ``documents`` folder it is; need not exist.
    """

    def __init__(self, root: Path) -> None:
        self.path = root / FOLDER
        self._bad: dict[str, tuple[Signature, str]] = {}
        self._names: dict[str, tuple[tuple[int, int], frozenset[str]]] = {}

    def locate(self, record: DocumentRecord) -> Path | None:
        """Return where a body lies, ``None`` for a path that leaves the folder."""
        parts = split_place(record.relative_path)
        return None if parts is None else self.path.joinpath(*parts)

    def look(self, record: DocumentRecord) -> Found:
        """Read a body; never fails."""
        path = self.locate(record)
        if path is None:
            return Found(reason=UNSAFE)
        return self.look_at(path, record.relative_path)

    def look_at(self, path: Path | str, place: str) -> Found:
        """Read a file as `look` does; ``place`` is its relative path."""
        try:
            data, signed = read_regular(path)
        except Unfit as unfit:
            there = self._signed(path)
            if there is not None:
                self._bad[place] = (there, unfit.reason)
            return Found(reason=unfit.reason)
        try:
            front, text = split(data.decode("utf-8"))
        except UnicodeDecodeError:
            self._bad[place] = (signed, NOT_UNICODE)
            return Found(data=data, signature=signed, reason=NOT_UNICODE)
        self._bad.pop(place, None)
        return Found(data=data, text=text, front=front, signature=signed)

    def names(self, status: str) -> frozenset[str]:
        """Return the names of the regular files of a status folder; cheap while none come or go."""
        folder = self.path / status
        try:
            state = os.stat(folder)
            stamp = (state.st_mtime_ns, state.st_ino)
            cached = self._names.get(status)
            if cached is not None and cached[0] == stamp:
                return cached[1]
            with os.scandir(folder) as entries:
                found = frozenset(
                    entry.name for entry in entries if entry.is_file(follow_symlinks=False)
                )
        except OSError:
            return frozenset()
        if time.time_ns() - state.st_mtime_ns > _TICK:
            self._names[status] = (stamp, found)
        return found

    def places(self) -> Mapping[str, frozenset[str]]:
        """Return `names` of both status folders."""
        return {status: self.names(status) for status in STATUSES}

    def fault(self, record: DocumentRecord, places: Mapping[str, frozenset[str]]) -> str | None:
        """Say why a body cannot be read, as far as that shows without reading it.

        Args:
            record: The document.
            places: What `places` returned.
        """
        parts = split_place(record.relative_path)
        if parts is None:
            return UNSAFE
        status, name = parts
        if name in places[status]:
            bad = self._bad.get(record.relative_path)
            return bad[1] if bad is not None and self.signed(record) == bad[0] else None
        return _why_absent(self.path / status / name)

    def bad(self) -> frozenset[str]:
        """Return the relative paths of files that could not be read, and are still the same."""
        for place, (signed, _) in tuple(self._bad.items()):
            if self._signed(self.path.parent / place) != signed:
                self._bad.pop(place, None)
        return frozenset(self._bad)

    def signed(self, record: DocumentRecord) -> Signature | None:
        """Return the signature of a body file, ``None`` when there is none."""
        path = self.locate(record)
        return None if path is None else self._signed(path)

    @staticmethod
    def _signed(path: Path | str) -> Signature | None:
        try:
            return signature(os.lstat(path))
        except OSError:
            return None

    def is_bad(self, place: str, signed: Signature) -> bool:
        """Tell whether this version of a file could not be read, or was not UTF-8."""
        bad = self._bad.get(place)
        return bad is not None and bad[0] == signed

    def stamps(self) -> tuple[tuple[int, int], ...]:
        """Return modification time and inode of both status folders."""
        return tuple(_stamp(self.path / status) for status in STATUSES)

    def signatures(self) -> dict[str, Signature]:
        """Return the signature of every regular file by its relative path."""
        return dict(self._signatures())

    def _signatures(self) -> Iterator[tuple[str, Signature]]:
        for status in STATUSES:
            prefix = f"{FOLDER}/{status}/"
            try:
                with os.scandir(self.path / status) as entries:
                    for entry in entries:
                        state = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(state.st_mode):
                            yield prefix + entry.name, signature(state)
            except OSError:
                # The folder is not there, or a file left while it was listed.
                continue


def shown(name: str) -> str:
    """Return a name as text: bytes of it that are no UTF-8 become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


def _stamp(folder: Path) -> tuple[int, int]:
    try:
        state = os.stat(folder)
    except OSError:
        return (0, 0)
    return (state.st_mtime_ns, state.st_ino)


def _why_absent(path: Path) -> str | None:
    try:
        state = os.lstat(path)
    except OSError as error:
        return reason_of(error, path)
    return None if stat.S_ISREG(state.st_mode) else NOT_REGULAR

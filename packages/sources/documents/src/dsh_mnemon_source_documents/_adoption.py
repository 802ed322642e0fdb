"""Files whose record was lost, taken back into the index just as they are (§3.5, §3.8; pure)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import attrs
from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import parse_utc

from dsh_mnemon_source_documents import _fields
from dsh_mnemon_source_documents._folder import UNSAFE, Found
from dsh_mnemon_source_documents._format import fields, given_twice
from dsh_mnemon_source_documents._index import State, split_place
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord, Status

_TEXTS: Final = ("id", "title", "description", "created_at", "updated_at")
_TIMES: Final = ("created_at", "updated_at")
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
_MAX_ID: Final = 300


class StrayReader(Protocol):
    """What an adoption may look at on disk."""

    def unindexed(self, state: State) -> list[str]:
        """Return the relative paths of Markdown files that no record names."""
        ...

    def look_at(self, relative_path: str) -> Found:
        """Read such a file."""
        ...

    def last_kept(self, document_id: str) -> int:
        """Return the last revision of a document that is in the history, 0 if none is."""
        ...


@attrs.frozen(kw_only=True)
class Skipped:
    """A file that is no document yet.

    Attributes:
        file: Its relative path.
        reason: ``no-front-matter``, ``front-matter-incomplete``, ``front-matter-invalid``,
            ``id-taken``, ``name-taken``, a reason of `Unhealthy`, or the code with which a field
            is refused.
        message: The same in words.
        field: The key of the front matter, where it is one.
    """

    file: str
    reason: str
    message: str
    field: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return ``{file, reason, message, field?}``."""
        named = {"field": self.field} if self.field else {}
        return {"file": self.file, "reason": self.reason, "message": self.message, **named}


@attrs.frozen(kw_only=True)
class Adoption:
    """Which files become documents, in order, and which do not."""

    adopted: tuple[DocumentRecord, ...]
    skipped: tuple[Skipped, ...]


Judge: TypeAlias = Callable[[State, StrayReader], Adoption]
"""Decides under the lock, from the index just reloaded."""


class _Refused(Exception):
    def __init__(self, reason: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.reason = reason
        self.field = field


def adopting(workspace: str, root: Path, file: str | None = None) -> Judge:
    """Return the judge that takes every lost file, or one of them, back into the index.

    Id, title, description, times and origins are those of the front matter, the status is that of
    the folder. What is on disk has its room already, so that the capacity is not asked.

    Args:
        workspace: Absolute path that source paths are relative to.
        root: Root of the store.
        file: Relative path of the only file wanted.

    Raises:
        InputError: ``document-file-unknown``, by the judge.
    """

    def judge(state: State, reader: StrayReader) -> Adoption:
        adopted: list[DocumentRecord] = []
        skipped: list[Skipped] = []
        ids, names = set(state.by_id), {record.filename for record in state.records}
        for place in _chosen(reader.unindexed(state), file):
            try:
                record = _record(place, reader, workspace, root)
                _check_free(record, ids, names)
            except _Refused as refused:
                skipped.append(
                    Skipped(
                        file=place,
                        reason=refused.reason,
                        message=str(refused),
                        field=refused.field,
                    )
                )
            else:
                ids.add(record.id)
                names.add(record.filename)
                adopted.append(record)
        # The index is in creation order.
        adopted.sort(key=lambda record: record.created_at)
        return Adoption(adopted=tuple(adopted), skipped=tuple(skipped))

    return judge


def _chosen(places: Sequence[str], file: str | None) -> Sequence[str]:
    if file is None:
        return places
    if file not in places:
        raise InputError(
            "document-file-unknown",
            f"{file!r} is no Markdown file without a record; `diagnose` lists those",
            details={"file": file},
        )
    return (file,)


def _check_free(record: DocumentRecord, ids: set[str], names: set[str]) -> None:
    if record.id in ids:
        raise _Refused("id-taken", f"another document has the id {record.id!r}", "id")
    if record.filename in names:
        # Archiving the other one would write over this file.
        raise _Refused("name-taken", "a document in the other folder has this file name")


def _record(place: str, reader: StrayReader, workspace: str, root: Path) -> DocumentRecord:
    parts = split_place(place)
    if parts is None:
        raise _Refused(UNSAFE, "its name cannot be that of a document")
    found = reader.look_at(place)
    if found.text is None or found.data is None:
        raise _Refused(found.reason or UNSAFE, f"it cannot be read: {found.reason}")
    if not found.front:
        raise _Refused("no-front-matter", "it does not begin with a front matter")
    if twice := given_twice(found.front):
        raise _Refused("front-matter-invalid", f"{twice} is given twice", twice)
    front = fields(found.front)
    texts = {key: _text(front.get(key), key) for key in _TEXTS}
    for key in _TIMES:
        if not _TIME.fullmatch(texts[key]) or parse_utc(texts[key]) is None:
            raise _Refused("front-matter-invalid", f"{key} is no time in UTC", key)
    _accepted(_fields.body, found.text, "content")
    status: Status = "active" if parts[0] == "active" else "archived"
    return DocumentRecord(
        id=texts["id"],
        title=_accepted(_fields.title, texts["title"], "title"),
        description=_accepted(_fields.description, texts["description"], "description"),
        status=status,
        filename=parts[1],
        relative_path=place,
        source_paths=_accepted(
            lambda paths: _fields.source_paths(paths, workspace, str(root)),
            _list(front.get("source_paths")),
            "source_paths",
        ),
        session_ids=_accepted(_fields.sessions, _list(front.get("session_ids")), "session_ids"),
        created_at=texts["created_at"],
        updated_at=texts["updated_at"],
        last_accessed_at=texts["updated_at"],
        revision=reader.last_kept(texts["id"]) + 1,
        content_hash=sha256(found.text),
        size_bytes=len(found.data),
        archived_at=None if status == "active" else texts["updated_at"],
        memory_body_ids=_accepted(
            _fields.memory_bodies, _list(front.get("memory_body_ids")), "memory_body_ids"
        ),
    )


def _text(value: str | list[str] | None, key: str) -> str:
    if not isinstance(value, str):
        raise _Refused("front-matter-incomplete", f"{key} is not there as a quoted text", key)
    if key == "id" and not 0 < len(_accepted(_well_formed_id, value, key)) <= _MAX_ID:
        raise _Refused("front-matter-invalid", f"id has not 1 to {_MAX_ID} characters", key)
    return value


def _well_formed_id(value: str) -> str:
    return well_formed(value, "id")


def _list(value: str | list[str] | None) -> list[str]:
    return value if isinstance(value, list) else []


def _accepted(rule: Callable[[Any], Any], value: Any, key: str) -> Any:
    """Return what a rule makes of a field.

    Raises:
        _Refused: With the rule's code.
    """
    try:
        return rule(value)
    except InputError as error:
        raise _Refused(error.code, error.message, key) from None

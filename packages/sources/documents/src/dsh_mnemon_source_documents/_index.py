"""The stored index: index.json, its revision, and what is damage (spec/sources.md §3.5; pure)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from json.encoder import encode_basestring
from typing import Any, Final, NoReturn, TypeGuard, cast

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import integer

from dsh_mnemon_source_documents.contracts import FOLDER, STATUSES, DocumentRecord

FILE: Final = "index.json"

_TEXTS: Final = (
    "id", "title", "description", "filename", "relativePath", "createdAt", "updatedAt",
    "lastAccessedAt", "contentHash",
)  # fmt: skip
_LEGACY: Final = ".mnemon/"
_UNVERSIONED: Final = "lastAccessedAt"


class Damage(ValueError):
    """Raised when stored bytes are no valid index: a reason and maybe the first bad record."""

    def __init__(self, reason: str, index: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index


@attrs.frozen(kw_only=True, eq=False, slots=False)
class State:
    """The index as it was read: records in creation order, and their revision."""

    records: tuple[DocumentRecord, ...]
    revision: str

    @cached_property
    def by_id(self) -> Mapping[str, DocumentRecord]:
        """The records by id."""
        return {record.id: record for record in self.records}

    @cached_property
    def active_bytes(self) -> int:
        """Rendered bytes of all active documents."""
        return sum(record.size_bytes for record in self.records if record.is_active)


def state_of(records: Sequence[DocumentRecord]) -> State:
    """Return the state that records make."""
    return State(records=tuple(records), revision=revision(records))


def revision(records: Sequence[DocumentRecord]) -> str:
    """Return the digest of the compact canonical index without access times (D10)."""
    digest = hashlib.sha256()
    for part in _pieces(records, _COMPACT):
        digest.update(part.encode("utf-8"))
    return digest.hexdigest()


def encode(records: Sequence[DocumentRecord]) -> bytes:
    """Return the bytes of index.json: stored JSON."""
    return "".join(_pieces(records, _STORED)).encode("utf-8")


@attrs.frozen
class _Layout:
    """White space of one JSON form, and the key it leaves out."""

    head: str
    between: str
    tail: str
    record: tuple[str, str, str]
    colon: str
    items: tuple[str, str, str]
    omitted: str = ""


_COMPACT: Final = _Layout(
    '{"version":1,"documents":[', ",", "]}", ("{", ",", "}"), ":", ("[", ",", "]"), _UNVERSIONED
)
_STORED: Final = _Layout(
    '{\n  "version": 1,\n  "documents": [\n',
    ",\n",
    "\n  ]\n}\n",
    ("    {\n      ", ",\n      ", "\n    }"),
    ": ",
    ("[\n        ", ",\n        ", "\n      ]"),
)


def _pieces(records: Sequence[DocumentRecord], layout: _Layout) -> Iterator[str]:
    # The encoder of the standard library indents slowly; an index of ten thousand is written often.
    if not records and layout is _STORED:
        yield '{\n  "version": 1,\n  "documents": []\n}\n'
        return
    yield layout.head
    between = ""
    for record in records:
        yield between + _object(record.to_json(), layout)
        between = layout.between
    yield layout.tail


def _object(fields: Mapping[str, Any], layout: _Layout) -> str:
    opening, between, closing = layout.record
    members = [
        f'"{key}"{layout.colon}{_value(value, layout)}'
        for key, value in fields.items()
        if key != layout.omitted
    ]
    return f"{opening}{between.join(members)}{closing}"


def _value(value: str | int | list[str], layout: _Layout) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int):
        return str(value)
    if not value:
        return "[]"
    opening, between, closing = layout.items
    return f"{opening}{between.join(map(encode_basestring, value))}{closing}"


# -- reading --------------------------------------------------------------------------------------


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def decode(data: bytes) -> tuple[DocumentRecord, ...]:
    """Read the bytes of index.json; unknown keys and foreign list members are dropped.

    Raises:
        Damage: ``not-json``, ``wrong-version``, ``newer-version`` or ``invalid-record`` with its
            position.
    """
    try:
        document = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise Damage("not-json") from None
    if not isinstance(document, dict):
        raise Damage("wrong-version")
    stored = cast("dict[str, Any]", document)
    version, rows = stored.get("version"), stored.get("documents")
    if isinstance(version, int) and version > 1:
        raise Damage("newer-version")
    if isinstance(version, bool) or version != 1 or not isinstance(rows, list):
        raise Damage("wrong-version")
    records: list[DocumentRecord] = []
    seen: set[str] = set()
    for index, row in enumerate(cast("list[object]", rows)):
        record = _record(row, index)
        if record.id in seen:
            raise Damage("invalid-record", index)
        seen.add(record.id)
        records.append(record)
    return tuple(records)


def _record(row: object, index: int) -> DocumentRecord:
    if not isinstance(row, Mapping):
        raise Damage("invalid-record", index)
    fields = cast("Mapping[str, Any]", row)
    texts = {key: fields.get(key) for key in _TEXTS}
    status = fields.get("status")
    optional = [fields.get(key) for key in ("archivedAt", "archiveSummary")]
    if (
        not all(_is_text(text) for text in texts.values())
        or not texts["id"]
        or status not in STATUSES
        or not all(text is None or _is_text(text) for text in optional)
    ):
        raise Damage("invalid-record", index)
    try:
        number = integer(fields.get("revision"), "revision", 1, 2**53 - 1)
        size = integer(fields.get("sizeBytes"), "sizeBytes", 0, 2**53 - 1)
    except InputError:
        raise Damage("invalid-record", index) from None
    known = cast("dict[str, str]", texts)
    return DocumentRecord(
        id=known["id"],
        title=known["title"],
        description=known["description"],
        status=status,
        filename=known["filename"],
        relative_path=known["relativePath"].removeprefix(_LEGACY),
        source_paths=_strings(fields.get("sourcePaths"), index),
        session_ids=_strings(fields.get("sessionIds"), index),
        created_at=known["createdAt"],
        updated_at=known["updatedAt"],
        last_accessed_at=known["lastAccessedAt"],
        revision=number,
        content_hash=known["contentHash"],
        size_bytes=size,
        archived_at=optional[0],
        archive_summary=optional[1],
        memory_body_ids=_strings(fields.get("memoryBodyIds"), index),
    )


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and (value.isascii() or _is_unicode(value))


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _strings(value: object, index: int) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Damage("invalid-record", index)
    return tuple(item for item in cast("list[object]", value) if _is_text(item))


# -- where a body lies ----------------------------------------------------------------------------


def place(status: str, name: str) -> str:
    """Return the relative path of a body file."""
    return f"{FOLDER}/{status}/{name}"


def split_place(relative_path: str) -> tuple[str, str] | None:
    """Return status folder and file name of a managed path, ``None`` for one that is not safe."""
    parts = relative_path.split("/")
    if len(parts) != 3 or parts[0] != FOLDER or parts[1] not in STATUSES:
        return None
    name = parts[2]
    if name in ("", ".", "..") or any(character in name for character in "\\\0:"):
        return None
    return parts[1], name

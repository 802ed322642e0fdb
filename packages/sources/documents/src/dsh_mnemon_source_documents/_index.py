"""The stored index: index.json, its revision, and what is damage (spec/sources.md §3.5; pure)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial
from json.encoder import encode_basestring
from typing import Any, Final, TypeGuard, cast

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.files import read_json
from dsh_mnemon_core.sdk import integer, truncate

from dsh_mnemon_source_documents.contracts import FOLDER, STATUSES, DocumentRecord

FILE: Final = "index.json"

_TEXTS: Final = (
    "title", "description", "filename", "relativePath", "createdAt", "updatedAt",
    "lastAccessedAt", "contentHash",
)  # fmt: skip
_LEGACY: Final = ".mnemon/"
_UNVERSIONED: Final = "lastAccessedAt"
_NO_INDEX: Final = 'it has no "version": 1 with a list of "documents"'
_SHOWN: Final = 80


class Damage(ValueError):
    """Raised when stored bytes are no valid index.

    Args:
        reason: What is the matter, in a word.
        index: Position of the first bad record.
        problem: What is wrong where, in a sentence without its full stop.
        named: The bad record, as far as it can be told: ``id``, ``title``, ``field``, ``value``.
    """

    def __init__(
        self, reason: str, index: int | None = None, problem: str = "", **named: str
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.index = index
        self.problem = problem
        self.named = named


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


def decode(data: bytes) -> tuple[DocumentRecord, ...]:
    """Read the bytes of index.json; unknown keys and foreign list members are dropped.

    Raises:
        Damage: ``not-json``, also for a key that is given twice, ``wrong-version``,
            ``newer-version`` or ``invalid-record`` with its position.
    """
    try:
        document = read_json(data)
    except (ValueError, RecursionError) as error:
        raise Damage("not-json", problem=f"it is no JSON: {error}") from None
    if not isinstance(document, dict):
        raise Damage("wrong-version", problem=_NO_INDEX)
    stored = cast("dict[str, Any]", document)
    version, rows = stored.get("version"), stored.get("documents")
    if isinstance(version, int) and version > 1:
        raise Damage("newer-version", problem=f"it is of version {version}")
    if isinstance(version, bool) or version != 1 or not isinstance(rows, list):
        raise Damage("wrong-version", problem=_NO_INDEX)
    records: list[DocumentRecord] = []
    seen: dict[str, int] = {}
    for index, row in enumerate(cast("list[object]", rows)):
        record = _record(row, index)
        first = seen.setdefault(record.id, index)
        if first != index:
            raise _bad(row, index, "id", f"an id of its own, and record {first} has the same")
        records.append(record)
    return tuple(records)


def _record(row: object, index: int) -> DocumentRecord:
    if not isinstance(row, Mapping):
        raise Damage("invalid-record", index, f"record {index} is no object")
    fields = cast("Mapping[str, Any]", row)
    for key, (is_valid, expected) in _RULES.items():
        if not is_valid(fields.get(key)):
            raise _bad(fields, index, key, expected)
    return DocumentRecord(
        id=fields["id"],
        title=fields["title"],
        description=fields["description"],
        status=fields["status"],
        filename=fields["filename"],
        relative_path=fields["relativePath"].removeprefix(_LEGACY),
        source_paths=_strings(fields["sourcePaths"]),
        session_ids=_strings(fields["sessionIds"]),
        created_at=fields["createdAt"],
        updated_at=fields["updatedAt"],
        last_accessed_at=fields["lastAccessedAt"],
        revision=int(fields["revision"]),
        content_hash=fields["contentHash"],
        size_bytes=int(fields["sizeBytes"]),
        archived_at=fields.get("archivedAt"),
        archive_summary=fields.get("archiveSummary"),
        memory_body_ids=_strings(fields["memoryBodyIds"]),
    )


def _bad(row: object, index: int, key: str, expected: str) -> Damage:
    """Return the damage of one field, in words that lead to it."""
    fields = cast("Mapping[str, Any]", row)
    named = {name: fields[name] for name in ("id", "title") if _is_name(fields.get(name))}
    who = f"record {index}"
    if named:
        told = f"{named['title']!r} " if "title" in named else ""
        who += f" ({told}[{named.get('id', 'no id')}])"
    if key not in fields:
        problem = f"{who} lacks {key}, which must be {expected}"
        return Damage("invalid-record", index, problem, **named, field=key)
    value = truncate(json.dumps(fields[key]), _SHOWN)
    problem = f"{key} of {who} is {value}, but must be {expected}"
    return Damage("invalid-record", index, problem, **named, field=key, value=value)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and (value.isascii() or _is_unicode(value))


def _is_name(value: object) -> bool:
    return _is_text(value) and value != ""


def _is_text_or_absent(value: object) -> bool:
    return value is None or _is_text(value)


def _is_status(value: object) -> bool:
    return value in STATUSES


def _is_list(value: object) -> bool:
    return isinstance(value, list)


def _is_number(value: object, minimum: int) -> bool:
    with suppress(InputError):
        integer(value, "number", minimum, 2**53 - 1)
        return True
    return False


def _is_unicode(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _strings(values: Sequence[object]) -> tuple[str, ...]:
    return tuple(item for item in values if _is_text(item))


_RULES: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "id": (_is_name, "text"),
    **dict.fromkeys(_TEXTS, (_is_text, "text")),
    "status": (_is_status, "active or archived"),
    "revision": (partial(_is_number, minimum=1), "a whole number from 1"),
    "sizeBytes": (partial(_is_number, minimum=0), "a whole number from 0"),
    **dict.fromkeys(("sourcePaths", "sessionIds", "memoryBodyIds"), (_is_list, "a list of texts")),
    **dict.fromkeys(("archivedAt", "archiveSummary"), (_is_text_or_absent, "text, or left out")),
}
"""What each field of a stored record must be: how that is told, and in words."""


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

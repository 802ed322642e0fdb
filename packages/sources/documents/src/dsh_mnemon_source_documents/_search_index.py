"""The derived search index in ``documents/.search/``: an SQLite file (D43; blocking).

Every indexed version of a document has a slot, a number that is never used again; a document that
changed gets another one. The index only grows, and starts over once most slots are of the past. A
term's set of slots is stored as chunks, one for each batch of documents, so that adding appends.
"""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import unicodedata
import weakref
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar

import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.files import ensure_directory

from dsh_mnemon_source_documents import _bits
from dsh_mnemon_source_documents._batch import CAPACITY, FIELDS, Batch, BatchRow
from dsh_mnemon_source_documents._files import Signature
from dsh_mnemon_source_documents._terms import is_gram

FOLDER: Final = ".search"
_FILE: Final = "index.db"

# The rules of the tables below and of `_terms`; the version of Unicode decides what a letter is.
_VERSION: Final = f"2-{unicodedata.unidata_version}"
_SCHEMA: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE documents (
  slot INTEGER PRIMARY KEY, id TEXT, signature TEXT, named INTEGER, title BLOB, description BLOB
);
CREATE TABLE bodies (slot INTEGER PRIMARY KEY, body BLOB);
CREATE TABLE postings (
  term TEXT, field INTEGER, chunks BLOB, PRIMARY KEY (term, field)
) WITHOUT ROWID;
CREATE TABLE vocabulary (number INTEGER PRIMARY KEY, words TEXT);
"""
_TABLES: Final = ("meta", "documents", "bodies", "postings", "vocabulary")
_HOLDING: Final = (
    "SELECT slot FROM documents WHERE instr(title, ?)",
    "SELECT slot FROM documents WHERE instr(description, ?)",
    "SELECT slot FROM bodies WHERE packed_holds(body, ?)",
)
_AMONG: Final = " AND slot IN (SELECT value FROM json_each(?))"
_APPEND: Final = """
INSERT INTO postings (term, field, chunks) VALUES (?, ?, ?)
ON CONFLICT (term, field) DO UPDATE SET chunks = CAST(chunks || excluded.chunks AS BLOB)
"""
_NEW_WORDS: Final = """
SELECT value FROM json_each(?)
WHERE NOT EXISTS (SELECT 1 FROM postings WHERE term = value)
"""
_QUICKLY: Final = 1
_HEAD: Final = struct.Struct("<I")
_LENGTH_BITS: Final = (CAPACITY // 8 - 1).bit_length()
_LENGTH_MASK: Final = (1 << _LENGTH_BITS) - 1
_KEPT_CHARACTERS: Final = 8_000_000
_BUSY_SECONDS: Final = 0.2
_PAST: Final = 1000

T = TypeVar("T")


@attrs.frozen
class Indexed:
    """Which version of a document is indexed, and in which slot.

    ``named`` stands for title and description, which are no part of the file's signature.
    """

    slot: int
    signature: Signature
    named: int


class SearchIndex:
    """The index file of one managed folder, opened at first use.

    Only one thread at a time may use it. What it holds is exact for the versions it names; whether
    these are current is for the caller to judge.

    Args:
        folder: The managed folder.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FOLDER / _FILE
        self.entries: dict[str, Indexed] = {}
        self.size = 0
        self.version = 0
        self._connection: sqlite3.Connection | None = None
        self._seen = -1
        self._generation = ""
        self._words: list[str] = []
        self._kept = 0
        self._last_word = 0

    def refresh(self) -> None:
        """Learn what was added, here or by another process; opens the file if there is one."""
        if self._connection is None and not os.path.isfile(self.path):
            return
        self._guarded(self._refresh)

    def add(self, batch: Batch) -> bool:
        """Index a batch of documents; tell whether that worked."""
        if not batch.rows:
            return True
        with suppress(StorageError):
            ensure_directory(self.path.parent)
            return self._guarded(lambda: self._add(batch)) is not None
        return False

    def sets(self, token: str) -> tuple[int, int, int] | None:
        """Return the slots whose title, description and body hold a token.

        Returns:
            ``None`` when the index is of no use.
        """
        return self._guarded(lambda: self._sets([token] if is_gram(token) else self._with(token)))

    def all_of(self, terms: Iterable[str], field: int) -> int | None:
        """Return the slots of a field that have every term; at least one term."""

        def look() -> int:
            bits = -1
            for term in terms:
                bits &= self._sets([term])[field]
            return bits

        return self._guarded(look)

    def holding(self, field: int, text: str, slots: int) -> int | None:
        """Return those of some slots whose normalized field holds a text."""
        return self._guarded(lambda: self._holding(field, text.encode("utf-8"), slots))

    def close(self) -> None:
        """Close the file; it is opened again at the next use."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()
        self._connection = None
        self._forget()

    def discard(self) -> None:
        """Throw the file away; whatever it held can be made again."""
        self.close()
        for suffix in ("", "-wal", "-shm", "-journal"):
            with suppress(OSError):
                os.unlink(f"{self.path}{suffix}")

    # -- the file ----------------------------------------------------------------------------------

    def _guarded(self, work: Callable[[], T]) -> T | None:
        """Do something with the file; a damaged one is thrown away, a busy one left alone."""
        try:
            return work()
        except sqlite3.OperationalError:
            # Locked, full, or of a folder that cannot be written to.
            self.close()
        except (sqlite3.Error, struct.error, ValueError, OSError):
            self.discard()
        return None

    def _forget(self) -> None:
        self.entries, self.size, self._seen, self._generation = {}, 0, -1, ""
        self._words, self._kept, self._last_word = [], 0, 0
        self.version += 1

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            if not self.path.exists():
                os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            # An index that is dropped without `close` does not leave its file open.
            weakref.finalize(self, self._connection.close)
            self._connection.create_function("packed_holds", 2, _packed_holds, deterministic=True)
            # Of a new file. Long sets have room in such pages; what spills takes a page of its own.
            self._connection.execute("PRAGMA page_size = 16384")
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = NORMAL")
        return self._connection

    @contextmanager
    def _writing(self) -> Generator[sqlite3.Connection]:
        connection = self._opened()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def _refresh(self) -> bool:
        connection = self._opened()
        (seen,) = connection.execute("PRAGMA data_version").fetchone()
        if seen != self._seen:
            self._seen = seen
            self._load(connection)
        return True

    def _load(self, connection: sqlite3.Connection) -> None:
        """Read the documents and words that are not known yet."""
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'meta'"
        if connection.execute(tables).fetchone() == (0,):
            return
        meta: dict[str, str] = dict(connection.execute("SELECT key, value FROM meta"))
        if meta.get("version") != _VERSION:
            return
        if meta["generation"] != self._generation:
            seen = self._seen
            self._forget()
            self._seen, self._generation = seen, meta["generation"]
        rows = connection.execute(
            "SELECT slot, id, signature, named FROM documents WHERE slot >= ? ORDER BY slot",
            (self.size,),
        )
        for slot, document_id, signature, named in rows:
            modified, changed, size, inode = map(int, signature.split())
            self.entries[document_id] = Indexed(slot, (modified, changed, size, inode), named)
            self.size = slot + 1
            self.version += 1
        for number, words in connection.execute(
            "SELECT number, words FROM vocabulary WHERE number > ? ORDER BY number",
            (self._last_word,),
        ):
            if self._kept + len(words) > _KEPT_CHARACTERS:
                break
            self._words.append(words)
            self._kept += len(words)
            self._last_word = number

    # -- writing -----------------------------------------------------------------------------------

    def _add(self, batch: Batch) -> bool:
        with self._writing() as connection:
            self._load(connection)
            if not self._generation or self._is_mostly_past(len(batch.rows)):
                self._start_over(connection)
            base = self.size
            self._write_documents(connection, base, batch.rows)
            terms, words = batch.terms()
            fresh = connection.execute(_NEW_WORDS, (json.dumps(words),)).fetchall()
            connection.execute(
                "INSERT INTO vocabulary (words) VALUES (?)", ("\n".join(row[0] for row in fresh),)
            )
            connection.executemany(
                _APPEND, ((term, field, _chunk(base, bits)) for term, field, bits in terms)
            )
            self._load(connection)
        return True

    def _is_mostly_past(self, coming: int) -> bool:
        past = self.size - len(self.entries)
        return past > _PAST and past > len(self.entries) + coming

    def _start_over(self, connection: sqlite3.Connection) -> None:
        for table in _TABLES:
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA.split(";\n"):
            connection.execute(statement)
        rows = [("version", _VERSION), ("generation", os.urandom(16).hex())]
        connection.executemany("INSERT INTO meta VALUES (?, ?)", rows)
        self._load(connection)

    def _write_documents(
        self, connection: sqlite3.Connection, base: int, rows: Sequence[BatchRow]
    ) -> None:
        connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?)",
            (
                (
                    slot,
                    row.id,
                    " ".join(map(str, row.signature)),
                    row.named,
                    row.fields[0].encode("utf-8"),
                    row.fields[1].encode("utf-8"),
                )
                for slot, row in enumerate(rows, base)
            ),
        )
        connection.executemany(
            "INSERT INTO bodies VALUES (?, ?)",
            ((slot, _packed(row.fields[2])) for slot, row in enumerate(rows, base)),
        )

    # -- reading -----------------------------------------------------------------------------------

    def _sets(self, terms: Sequence[str]) -> tuple[int, int, int]:
        found = [0] * FIELDS
        rows = self._opened().execute(
            "SELECT field, chunks FROM postings WHERE term IN (SELECT value FROM json_each(?))",
            (json.dumps(terms),),
        )
        for field, chunks in rows:
            found[field] |= _bits_of(chunks)
        return found[0], found[1], found[2]

    def _with(self, token: str) -> list[str]:
        """Return the indexed words that hold a token."""
        return [word for words in self._vocabulary() for word in _lines_with(words, token)]

    def _vocabulary(self) -> Iterator[str]:
        yield from self._words
        rows = self._opened().execute(
            "SELECT words FROM vocabulary WHERE number > ?", (self._last_word,)
        )
        for (words,) in rows:
            yield words

    def _holding(self, field: int, text: bytes, slots: int) -> int:
        few = slots.bit_count() * 4 < self.size
        statement = _HOLDING[field] + (_AMONG if few else "")
        given = (text, json.dumps(list(_bits.members(slots)))) if few else (text,)
        rows = self._opened().execute(statement, given)
        return _bits.of((row[0] for row in rows), self.size) & slots


def _packed(text: str) -> bytes:
    return zlib.compress(text.encode("utf-8"), _QUICKLY)


def _packed_holds(packed: bytes, text: bytes) -> bool:
    return text in zlib.decompress(packed)


def _chunk(base: int, bits: int) -> bytes:
    """Return slots of one batch, relative to ``base``, as a chunk.

    A head tells the first slot and how many bytes follow; blank ones at both ends are left out.
    """
    skipped = ((bits & -bits).bit_length() - 1) // 8
    payload = (bits >> 8 * skipped).to_bytes((bits.bit_length() + 7) // 8 - skipped, "little")
    return _HEAD.pack(base + 8 * skipped << _LENGTH_BITS | len(payload) - 1) + payload


def _bits_of(chunks: bytes) -> int:
    bits, at = 0, 0
    while at < len(chunks):
        (head,) = _HEAD.unpack_from(chunks, at)
        at += _HEAD.size
        first, length = head >> _LENGTH_BITS, (head & _LENGTH_MASK) + 1
        bits |= int.from_bytes(chunks[at : at + length], "little") << first
        at += length
    return bits


def _lines_with(lines: str, text: str) -> Iterator[str]:
    at = lines.find(text)
    while at >= 0:
        end = lines.find("\n", at)
        end = len(lines) if end < 0 else end
        yield lines[lines.rfind("\n", 0, at) + 1 : end]
        at = lines.find(text, end)

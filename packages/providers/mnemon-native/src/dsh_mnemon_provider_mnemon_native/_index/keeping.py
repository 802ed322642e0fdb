"""Write ``index.db``: add and remove insights, and catch up with ``mnemon.db`` (D47)."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._index.prints import Prints, fingerprint
from dsh_mnemon_provider_mnemon_native._index.signature import signature
from dsh_mnemon_provider_mnemon_native._instants import instant
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._store.schema import columns_of
from dsh_mnemon_provider_mnemon_native._terms.reading import label_terms, substance
from dsh_mnemon_provider_mnemon_native._tokens import field_tokens, tokens
from dsh_mnemon_provider_mnemon_native._vectors import unpack

__all__ = ("ASKS", "DATED", "SPOKEN", "Keeper", "Marks", "content_key")

ASKS: Final = 1
"""Trait of a memory that ends with a question."""
DATED: Final = 2
"""Trait of a memory that names a time."""
SPOKEN: Final = 4
"""Trait of a memory that is a turn of a conversation."""


def content_key(content: str) -> int:
    """Return a key of 63 bits that equal contents share."""
    return fingerprint(content.encode())


@attrs.frozen
class Marks:
    """How far a store has come: rows are only ever added, or marked as deleted once.

    Attributes:
        last: The highest rowid.
        deleted: How many rows are deleted.
        logged: The newest entry in the store's log that tells of vectors computed later.
    """

    last: int = 0
    deleted: int = 0
    logged: int = 0


class Keeper:
    """Keeps the tables of one index; a transaction of its own spans what belongs together.

    Attributes:
        index: The connection to the index.
        prints: The fingerprints of the store's rows.
    """

    def __init__(self, store: sqlite3.Connection, index: sqlite3.Connection) -> None:
        self._store, self.index = store, index
        self._rows, self.prints = Rows(store), Prints(store)
        self._has_vectors = "embedding" in columns_of(store)
        self.marks = self.read_marks()

    def read_marks(self) -> Marks:
        """Return how far the index has come."""
        found = self.index.execute("SELECT name, value FROM facts WHERE name <> 'revision'")
        return Marks(**dict(found.fetchall()))

    def write_marks(self, marks: Marks) -> None:
        """Note how far the index has come."""
        values = attrs.asdict(marks).items()
        self.index.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", values)
        self.marks = marks

    def store_marks(self) -> Marks:
        """Return how far the store has come, as its connection sees it."""
        last, deleted, logged = self._store.execute(
            "SELECT (SELECT max(rowid) FROM insights),"
            " (SELECT count(*) FROM insights WHERE deleted_at NOTNULL),"
            " (SELECT max(id) FROM oplog WHERE operation GLOB 'embed*')"
        ).fetchone()
        return Marks(last or 0, deleted, logged or 0)

    def is_other_store(self, marks: Marks) -> bool:
        """Whether the store is not the one that was indexed, as when a backup took its place.

        ``marks`` are the store's.
        """
        if marks.deleted < self.marks.deleted:
            return True
        here = self.index.execute("SELECT doc, id FROM docs ORDER BY doc DESC LIMIT 1").fetchone()
        if here is None:
            return False
        there = self._store.execute("SELECT id FROM insights WHERE rowid = ?", here[:1]).fetchone()
        return there is None or there[0] != here[1]

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Hold the index's write lock; keep all or nothing."""
        self.index.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.index.execute("COMMIT")
        except BaseException:
            if self.index.in_transaction:
                self.index.execute("ROLLBACK")
            raise

    def catch_up(self, *, suspicious: bool = False) -> bool:
        """Index what the store has gained, drop what it has forgotten; tell whether there was any.

        ``suspicious`` also looks whether it still is the same store.
        """
        ahead = self.store_marks()
        other = suspicious and self.is_other_store(ahead)
        if not other and not _behind(self.marks, ahead):
            return False
        with self.transaction():
            if other:
                self._clear()
            else:
                # Another process may have caught up in between.
                self.marks = self.read_marks()
            had = self.marks
            if ahead.last > had.last:
                self._add_after(had.last)
            if ahead.deleted > had.deleted:
                self._drop_deleted()
            if ahead.logged > had.logged:
                self._sign_after(0)
            self.write_marks(_later(had, ahead))
        return True

    def _clear(self) -> None:
        for table in ("terms", "names", "docs", "left_out"):
            self.index.execute(f"DELETE FROM {table}")  # noqa: S608 - constant
        self.marks = Marks()

    def _add_after(self, last: int) -> None:
        for row in self._rows.select(
            "WHERE rowid > ? AND deleted_at IS NULL ORDER BY rowid", (last,)
        ):
            self.add(row)
        self._sign_after(last)
        query = "SELECT rowid FROM insights WHERE deleted_at IS NULL AND rowid > ?"
        active = {doc for (doc,) in self._store.execute(query, (last,))}
        read = self.index.execute("SELECT doc FROM docs WHERE doc > ?", (last,))
        for doc in active.difference(doc for (doc,) in read):
            self._leave_out(doc)

    def _leave_out(self, doc: int) -> None:
        print = self.prints.of(doc)
        self.index.execute("INSERT OR REPLACE INTO left_out VALUES (?, ?)", (doc, print))

    def renew(self, docs: Collection[int]) -> None:
        """Index some rows as they are now: changed, new, unreadable, forgotten or gone."""
        for doc in docs:
            # Whatever there is of it: rows may have swapped their ids, and tables be at odds.
            self.drop(doc)
            self._drop_words(doc)
        for doc in docs:
            tail = "WHERE rowid = ? AND deleted_at IS NULL"
            row = next(self._rows.select(tail, (doc,)), None)
            if row is not None:
                self.add(row)
                vector = self._rows.vector(row.id)
                if vector is not None:
                    self.sign(doc, vector)
            elif self._store.execute(f"SELECT 1 FROM insights {tail}", (doc,)).fetchone():  # noqa: S608
                self._leave_out(doc)

    def _drop_deleted(self) -> None:
        found = self._store.execute(
            "SELECT rowid FROM insights WHERE deleted_at NOTNULL"
        ).fetchall()
        query = "SELECT doc FROM docs UNION ALL SELECT doc FROM left_out"
        kept = {doc for (doc,) in self.index.execute(query)}
        for (doc,) in found:
            if doc in kept:
                self.drop(doc)

    def _sign_after(self, last: int) -> None:
        if not self._has_vectors:
            return
        query = (
            "SELECT rowid, embedding FROM insights"
            " WHERE deleted_at IS NULL AND embedding NOTNULL AND rowid > ?"
        )
        for doc, blob in self._store.execute(query, (last,)):
            vector = unpack(blob)
            if vector is not None:
                self.sign(doc, vector)

    def add(self, row: Row) -> tuple[frozenset[str], frozenset[str]]:
        """Index an active insight, anew when it is indexed already.

        Returns:
            The tokens of its content, and those of its tags and entities.
        """
        vector = self._signature_of(row)
        self.drop(row.rowid)
        read = substance(row.content)
        created = instant(row.created_at)
        words = tokens(row.content)
        marks = field_tokens("", row.tags, row.entities)
        self.index.execute(
            "INSERT INTO docs (doc, id, source, category, importance, created, content, words,"
            " mass, traits, signature, print) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                row.rowid,
                row.id,
                row.source,
                row.category,
                row.importance,
                created,
                content_key(row.content),
                len(words),
                read.mass,
                ASKS * read.asks | DATED * read.dated | SPOKEN * read.spoken,
                vector,
                self.prints.of(row.rowid),
            ),
        )
        labels = label_terms((*row.tags, *row.entities)) if row.tags or row.entities else ()
        self.index.execute(
            "INSERT INTO terms (rowid, stems, labels, words, marks) VALUES (?, ?, ?, ?, ?)",
            (row.rowid, *map(_line, (read.terms, labels, words, marks))),
        )
        self.index.executemany(
            "INSERT INTO names (name, lower, doc, created) VALUES (?, ?, ?, ?)",
            [(name, name.lower(), row.rowid, created) for name in dict.fromkeys(row.entities)],
        )
        return words, marks

    def _signature_of(self, row: Row) -> bytes | None:
        query = "SELECT signature FROM docs WHERE doc = ? AND id = ?"
        found = self.index.execute(query, (row.rowid, row.id)).fetchone()
        return found[0] if found else None

    def drop(self, doc: int) -> None:
        """Remove an insight, if it is indexed."""
        if self.index.execute("DELETE FROM docs WHERE doc = ?", (doc,)).rowcount:
            self._drop_words(doc)
        self.index.execute("DELETE FROM left_out WHERE doc = ?", (doc,))

    def _drop_words(self, doc: int) -> None:
        self.index.execute("DELETE FROM terms WHERE rowid = ?", (doc,))
        self.index.execute("DELETE FROM names WHERE doc = ?", (doc,))

    def sign(self, doc: int, vector: Sequence[float]) -> None:
        """Note an insight's vector."""
        self.index.execute("UPDATE docs SET signature = ? WHERE doc = ?", (signature(vector), doc))


def _line(terms: Iterable[str]) -> str:
    return " ".join(terms)


def _behind(marks: Marks, ahead: Marks) -> bool:
    return ahead.last > marks.last or ahead.deleted > marks.deleted or ahead.logged > marks.logged


def _later(one: Marks, other: Marks) -> Marks:
    return Marks(
        max(one.last, other.last),
        max(one.deleted, other.deleted),
        max(one.logged, other.logged),
    )

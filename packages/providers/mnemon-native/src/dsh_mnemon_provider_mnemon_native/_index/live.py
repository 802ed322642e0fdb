"""One index in use: which file it lives in, and what happens when that file fails.

The file is an aid. Whatever is wrong with it (locked, full, damaged, read-only), the index goes on
in memory, made of the store's own rows; nobody is refused an answer for it.
"""

from __future__ import annotations

import json
import logging
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from dsh_mnemon_provider_mnemon_native._index.checking import Check
from dsh_mnemon_provider_mnemon_native._index.columns import Columns
from dsh_mnemon_provider_mnemon_native._index.keeping import Keeper
from dsh_mnemon_provider_mnemon_native._index.postings import Postings
from dsh_mnemon_provider_mnemon_native._index.schema import (
    FILE,
    discard,
    in_memory,
    open_file,
    open_to_read,
)
from dsh_mnemon_provider_mnemon_native._index.signature import signature
from dsh_mnemon_provider_mnemon_native._index.tally import Tally
from dsh_mnemon_provider_mnemon_native._records import Row

__all__ = ("Live",)

T = TypeVar("T")
_logger = logging.getLogger(__name__)


@attrs.define
class _Loaded:
    """What was read into memory; another process's commit makes it void."""

    columns: Columns | None = None
    signatures: dict[int, int] | None = None
    tally: Tally | None = None


class Live:
    """The index of one store connection; opened by the first `refresh`, used in one thread.

    Attributes:
        keeper: Writes and reads the tables.
        postings: Reads the terms.
    """

    keeper: Keeper
    postings: Postings

    def __init__(self, store: sqlite3.Connection, folder: Path, *, read_only: bool = False) -> None:
        self._store, self._path, self._read_only = store, folder / FILE, read_only
        self._opened = self._noting = self._made_while_noting = False
        self._versions = (-1, -1)
        self._loaded = _Loaded()
        self._last = self._deleted = 0

    @property
    def connection(self) -> sqlite3.Connection:
        """The connection to the index."""
        return self.keeper.index

    @property
    def columns(self) -> Columns:
        """Properties by document, read at first use."""
        if self._loaded.columns is None:
            self._loaded.columns = Columns(self.connection)
        return self._loaded.columns

    @property
    def signatures(self) -> dict[int, int]:
        """Signatures of vectors by document, read at first use."""
        if self._loaded.signatures is None:
            found = self.connection.execute(
                "SELECT doc, signature FROM docs WHERE signature NOTNULL"
            )
            self._loaded.signatures = {doc: int.from_bytes(bits, "big") for doc, bits in found}
        return self._loaded.signatures

    @property
    def tally(self) -> Tally:
        """Counts of terms by document, begun at first use."""
        if self._loaded.tally is None:
            found = self.connection.execute(
                "SELECT words, json_group_array(doc) FROM docs GROUP BY words"
            )
            sizes = {size: json.loads(docs) for size, docs in found}
            self._loaded.tally = Tally(self.postings, sizes)
        return self._loaded.tally

    def attempt(self, operation: Callable[[], T]) -> T:
        """Run an operation on the index; if the index fails, run it again on one in memory."""
        try:
            return operation()
        except sqlite3.Error as error:
            self._go_on_in_memory(error)
            return operation()

    def refresh(self) -> None:
        """Open at first, then catch up with what others have committed."""
        if self._noting:
            return
        if not self._opened:
            self._open()
        self.attempt(self._catch_up)

    def _open(self) -> None:
        try:
            if self._path.exists() and not self._path.is_file():
                raise sqlite3.OperationalError("it is no file")
            connection = (
                open_to_read(self._path) or in_memory()
                if self._read_only
                else open_file(self._path)
            )
        except sqlite3.Error as error:
            _logger.warning("%s cannot be used (%s); it is kept in memory", self._path, error)
            connection = in_memory()
        self._use(connection)

    def _use(self, connection: sqlite3.Connection) -> None:
        self.keeper, self.postings = Keeper(self._store, connection), Postings(connection)
        self._check = Check(self.keeper, self._store)
        self._loaded = _Loaded()
        self._versions = (-1, -1)
        self._opened = True

    def _catch_up(self) -> None:
        versions = (_data_version(self._store), _data_version(self.connection))
        if versions[1] != self._versions[1]:
            self._loaded = _Loaded()
            self.keeper.marks = self.keeper.read_marks()
        changes: list[bool] = []
        if versions != self._versions:
            changes = [
                self.keeper.catch_up(suspicious=self._versions[0] == -1),
                self._check.begin(),
            ]
        if any([*changes, self._check.step()]):
            self._loaded = _Loaded()
        self._versions = versions

    def _go_on_in_memory(self, error: sqlite3.Error) -> None:
        _logger.warning("%s failed (%s); it is kept in memory", self._path, error)
        copied = self.connection if self._read_only else None
        try:
            connection = in_memory(copied)
        except sqlite3.Error:
            connection = in_memory()
        self.connection.close()
        if not self._read_only and not isinstance(error, sqlite3.OperationalError):
            discard(self._path)
        self._use(connection)
        # The store's connection sees the rows of its open transaction, too.
        self._made_while_noting = self._noting
        self.keeper.catch_up(suspicious=True)
        if self._noting:
            self._begin()

    def _begin(self) -> None:
        self.connection.execute("BEGIN IMMEDIATE")
        self._last, self._deleted = self.keeper.marks.last, self.keeper.marks.deleted

    def note(self, operation: Callable[[], None], *, last: int = 0, deleted: int = 0) -> None:
        """Apply one change of the store's open transaction to the index's own."""
        if not self._opened:
            self.refresh()
        if not self._noting:
            self.attempt(self._begin)
            self._noting = True
        self.attempt(operation)
        self._last = max(self._last, last)
        self._deleted += deleted

    def add(self, row: Row) -> None:
        """Index an insight, in the file and in what is in memory."""
        columns, tally = self._loaded.columns, self._loaded.tally
        if columns is not None:
            columns.dropping(row.rowid)
        words, marks = self.keeper.add(row)
        if columns is not None:
            columns.added(row.rowid)
        if tally is not None and tally.alive >> row.rowid & 1:
            # What it held before is not known any more.
            self._loaded.tally = None
        elif tally is not None:
            tally.added(row.rowid, len(words), {"words": words, "marks": marks})

    def drop(self, doc: int) -> None:
        """Drop an insight from the file and from what is in memory."""
        if self._loaded.columns is not None:
            self._loaded.columns.dropping(doc)
        if self._loaded.signatures is not None:
            self._loaded.signatures.pop(doc, None)
        if self._loaded.tally is not None:
            self._loaded.tally.dropped(doc)
        self.keeper.drop(doc)

    def sign(self, doc: int, vector: Sequence[float]) -> None:
        """Note an insight's vector, in the file and in what is in memory."""
        self.keeper.sign(doc, vector)
        if self._loaded.signatures is not None:
            self._loaded.signatures[doc] = int.from_bytes(signature(vector), "big")

    def committed(self) -> None:
        """Keep what was noted; failing that, the index is behind and opened anew."""
        if not self._noting:
            return
        self._noting = self._made_while_noting = False
        marks = attrs.evolve(self.keeper.marks, last=self._last, deleted=self._deleted)
        try:
            if not self.connection.in_transaction:
                # SQLite ends a transaction itself after some errors; marks alone would be a lie.
                raise sqlite3.OperationalError("the transaction is gone")
            self.keeper.write_marks(marks)
            self.connection.execute("COMMIT")
        except sqlite3.Error as error:
            _logger.warning("%s failed (%s); it will be brought up to date", self._path, error)
            self.close()

    def rolled_back(self) -> None:
        """Drop what was noted."""
        if not self._noting:
            return
        self._noting = False
        self._loaded = _Loaded()
        if self._made_while_noting or not self.connection.in_transaction:
            self._made_while_noting = False
            self.close()
        else:
            self.connection.execute("ROLLBACK")

    def close(self) -> None:
        """Close the index; the next `refresh` opens it again."""
        if self._opened:
            self.connection.close()
            self._opened = False
            self._loaded = _Loaded()


def _data_version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA data_version").fetchone()
    return int(version)

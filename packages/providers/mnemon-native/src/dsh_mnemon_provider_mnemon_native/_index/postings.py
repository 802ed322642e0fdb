"""Which documents hold a term."""

from __future__ import annotations

import json
import sqlite3
from typing import Final, Literal, TypeAlias

__all__ = ("Field", "Postings")

Field: TypeAlias = Literal["stems", "labels", "words", "marks"]
"""A column of ``terms``."""

_QUERY: Final = "SELECT json_group_array(rowid) FROM terms WHERE terms MATCH ?"


class Postings:
    """Reads of the full-text table, one term at a time; terms are quoted, never syntax."""

    def __init__(self, index: sqlite3.Connection) -> None:
        self._index = index

    def docs(self, field: Field, term: str, *, begins: bool = False) -> list[int]:
        """Return the documents that hold a term, or one that begins so, in ascending order."""
        match = f'{field} : "{term}"{" *" if begins else ""}'
        # One row of JSON: several times quicker than a row a document, and the interpreter is
        # free for other threads while SQLite collects it.
        (line,) = self._index.execute(_QUERY, (match,)).fetchone()
        found: list[int] = json.loads(line)
        return found

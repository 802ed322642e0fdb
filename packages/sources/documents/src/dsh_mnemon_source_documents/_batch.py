"""Documents gathered for the search index, and the terms they have together (pure)."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from dsh_mnemon_source_documents._files import Signature
from dsh_mnemon_source_documents._terms import (
    GRAM_LENGTH,
    grams,
    han_terms,
    neighbours,
    split_runs,
    words,
)
from dsh_mnemon_source_documents.contracts import DocumentRecord

FIELDS: Final = 3
"""Title, description, body."""

CAPACITY: Final = 256
"""Documents of a full batch; bounds the memory that indexing takes."""


@attrs.frozen
class BatchRow:
    """One version of a document: id, signature, number of its names, normalized fields."""

    id: str
    signature: Signature
    named: int
    fields: tuple[str, str, str]


def named(record: DocumentRecord) -> int:
    """Return a number that changes with title and description."""
    return zlib.crc32(f"{record.title}\0{record.description}".encode())


class Batch:
    """Up to `CAPACITY` documents; slots are relative to the first."""

    def __init__(self) -> None:
        self.rows: list[BatchRow] = []
        self._terms: tuple[dict[str, int], ...] = tuple({} for _ in range(FIELDS))
        self._words: tuple[dict[str, int], ...] = tuple({} for _ in range(FIELDS))

    @property
    def is_full(self) -> bool:
        """Whether no more should be added."""
        return len(self.rows) >= CAPACITY

    def add(self, row: BatchRow) -> None:
        """Take a document in."""
        bit = 1 << len(self.rows)
        self.rows.append(row)
        for field, text in enumerate(row.fields):
            runs, han, other = split_runs(text)
            _note(self._words[field], set(words(set(other))), bit)
            _note(self._terms[field], han_terms(set(han)), bit)
            if field == FIELDS - 1:
                _note(self._terms[field], neighbours(runs), bit)

    def terms(self) -> tuple[Iterator[tuple[str, int, int]], list[str]]:
        """Return ``(term, field, slots)`` in order of the terms, and the words among them."""
        known: set[str] = set()
        for field in range(FIELDS):
            terms = self._terms[field]
            for word, bits in self._words[field].items():
                for gram in grams(word):
                    terms[gram] = terms.get(gram, 0) | bits
                if len(word) > GRAM_LENGTH:
                    terms[word] = terms.get(word, 0) | bits
                    known.add(word)
        return self._ordered(), sorted(known)

    def _ordered(self) -> Iterator[tuple[str, int, int]]:
        for field, terms in enumerate(self._terms):
            for term in sorted(terms):
                yield term, field, terms[term]


def _note(sets: dict[str, int], terms: Sequence[str] | set[str], bit: int) -> None:
    for term in terms:
        sets[term] = sets.get(term, 0) | bit

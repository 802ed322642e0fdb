"""How many of some terms each document holds, counted for all documents at once.

A document is a bit. The documents that hold a term are one large integer, and adding one up for
each term, with carries, counts in all bits at the same time: some microseconds a term, however
many documents there are. What is counted is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Final

from dsh_mnemon_provider_mnemon_native._index.postings import Field, Postings

__all__ = ("Counts", "Tally", "bits_of", "docs_of")

_SPARSE: Final = 64
"""Up to so many documents are kept as a list: most terms are rare."""

_KEPT_BYTES: Final = 16 * 1024 * 1024
_KEPT_TERMS: Final = 50_000


def bits_of(docs: Sequence[int]) -> int:
    """Return an integer with these bits set."""
    if not docs:
        return 0
    data = bytearray((max(docs) >> 3) + 1)
    for doc in docs:
        data[doc >> 3] |= 1 << (doc & 7)
    return int.from_bytes(data, "little")


def docs_of(bits: int) -> Iterator[int]:
    """Yield the numbers of the bits that are set, ascending."""
    data = bits.to_bytes((bits.bit_length() + 7) >> 3, "little")
    # Empty stretches are skipped without looking at each byte.
    for start in range(0, len(data), 64):
        stretch = int.from_bytes(data[start : start + 64], "little")
        while stretch:
            lowest = stretch & -stretch
            yield (start << 3) + lowest.bit_length() - 1
            stretch ^= lowest


def _with(held: int | tuple[int, ...], doc: int) -> int | tuple[int, ...]:
    if isinstance(held, int):
        return held | 1 << doc
    more = (*held, doc)
    return more if len(more) <= _SPARSE else bits_of(more)


class Counts:
    """A number for each document, held as the binary digits of all of them."""

    def __init__(self) -> None:
        self._digits: list[int] = []
        self._any = 0

    def add(self, bits: int) -> None:
        """Count one more for each document in ``bits``."""
        self._any |= bits
        for place, digit in enumerate(self._digits):
            carry = digit & bits
            self._digits[place] = digit ^ bits
            if not carry:
                return
            bits = carry
        if bits:
            self._digits.append(bits)

    def descending(self, among: int) -> Iterator[tuple[int, int]]:
        """Yield every count above 0 and the documents ``among`` some that have it."""
        left = among & self._any
        # Split by the highest digit first: no count is looked at that nobody has.
        stack = [(left, len(self._digits) - 1, 0)]
        while stack:
            docs, place, count = stack.pop()
            if not docs:
                continue
            if place < 0:
                yield count, docs
                continue
            high = docs & self._digits[place]
            stack += [(docs ^ high, place - 1, count), (high, place - 1, count | 1 << place)]


class Tally:
    """Counts terms in the documents of one index, with what it has read of them kept.

    Attributes:
        alive: The documents there are.
    """

    def __init__(self, postings: Postings, sizes: Mapping[int, Sequence[int]]) -> None:
        self._postings = postings
        self._sizes = {size: bits_of(docs) for size, docs in sizes.items()}
        self.alive = reduce(int.__or__, self._sizes.values(), 0)
        self._kept: dict[tuple[Field, str], int | tuple[int, ...]] = {}
        self._bytes = 0

    def counts(self, terms: Iterable[str], *fields: Field) -> Counts:
        """Count the terms that each document holds in any of the fields."""
        counts = Counts()
        for term in terms:
            bits = 0
            for field in fields:
                bits |= self._bits(field, term)
            if bits:
                counts.add(bits)
        return counts

    def by_size(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield sizes and their documents, those of ``limit`` words and more together."""
        larger = 0
        for size, docs in self._sizes.items():
            if size < limit:
                yield size, docs
            else:
                larger |= docs
        yield limit, larger

    def added(self, doc: int, size: int, terms: Mapping[Field, Iterable[str]]) -> None:
        """Take in a document, by the number of its words and the terms of each field."""
        bit = 1 << doc
        self.alive |= bit
        self._sizes[size] = self._sizes.get(size, 0) | bit
        for field, held in terms.items():
            for term in held:
                known = self._kept.get((field, term))
                if known is not None:
                    self._kept[field, term] = _with(known, doc)

    def dropped(self, doc: int) -> None:
        """Leave out a document; the terms it held are not asked for it any more."""
        bit = 1 << doc
        if self.alive & bit:
            self.alive ^= bit
            self._sizes = {s: docs ^ (docs & bit) for s, docs in self._sizes.items()}

    def _bits(self, field: Field, term: str) -> int:
        known = self._kept.get((field, term))
        if known is None:
            known = self._read(field, term)
        return bits_of(known) if isinstance(known, tuple) else known

    def _read(self, field: Field, term: str) -> int | tuple[int, ...]:
        docs = self._postings.docs(field, term)
        found = tuple(docs) if len(docs) <= _SPARSE else bits_of(docs)
        self._bytes += 8 * len(found) if isinstance(found, tuple) else found.bit_length() >> 3
        if self._bytes > _KEPT_BYTES or len(self._kept) >= _KEPT_TERMS:
            self._kept.clear()
            self._bytes = 0
        self._kept[field, term] = found
        return found

"""The best documents of the search index, with exactly the scores of `_score` (§3.6, D43).

Scores are added up for all documents at once. Whether a body holds the whole query is looked up
last, and only where it decides about a place among the best.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import nsmallest
from typing import Protocol

from dsh_mnemon_source_documents import _bits
from dsh_mnemon_source_documents._score import BONUS, POINTS, Query
from dsh_mnemon_source_documents._terms import PIECE, phrase_terms

_TITLE, _DESCRIPTION, _BODY = range(3)


class IndexLost(Exception):
    """Raised when the index turns out to be of no use while it is asked."""


class Index(Protocol):
    """What ranking asks of a search index; ``None`` says that it is of no use."""

    def sets(self, token: str) -> tuple[int, int, int] | None:
        """Return the slots whose title, description and body hold a token."""
        ...

    def all_of(self, terms: set[str], field: int) -> int | None:
        """Return the slots of a field that have every term."""
        ...

    def holding(self, field: int, text: str, slots: int) -> int | None:
        """Return those of some slots whose field holds a text."""
        ...


def _known(bits: int | None) -> int:
    if bits is None:
        raise IndexLost
    return bits


class Ranking:
    """The scores of one query.

    Args:
        index: The index.
        query: The query.
        allowed: Slots that may be found.

    Raises:
        IndexLost: The index is of no use; so does `best`.
    """

    def __init__(self, index: Index, query: Query, allowed: int) -> None:
        self._index = index
        self._query = query
        self._scores = _bits.Counter()
        if not query.text:
            self._scores.add(1, allowed)
            self._matching, self._doubtful = allowed, 0
            return
        found = _bits.Counter()
        holding = [allowed] * 3
        for token in query.tokens:
            sets = [bits & allowed for bits in self._sets(token, allowed)]
            _add(self._scores, POINTS, sets)
            found.add(1, sets[_TITLE] | sets[_DESCRIPTION] | sets[_BODY])
            holding = [whole & part for whole, part in zip(holding, sets, strict=True)]
        self._matching = found.at_least(query.required, allowed)
        self._doubtful = self._whole([bits & self._matching for bits in holding])

    def _sets(self, token: str, allowed: int) -> Sequence[int]:
        if len(token) > PIECE:
            return [_known(self._index.holding(field, token, allowed)) for field in range(3)]
        sets = self._index.sets(token)
        if sets is None:
            raise IndexLost
        return sets

    def _whole(self, holding: Sequence[int]) -> int:
        """Add what the whole query is worth; return the slots whose body is still to be seen.

        Args:
            holding: Slots whose title, description and body hold every token.
        """
        text = self._query.text
        if self._query.tokens == (text,):
            _add(self._scores, BONUS, holding)
            return 0
        title = _known(self._index.holding(_TITLE, text, holding[_TITLE]))
        rest = holding[_DESCRIPTION] & ~title
        description = _known(self._index.holding(_DESCRIPTION, text, rest))
        _add(self._scores, BONUS, [title, description, 0])
        doubtful = holding[_BODY] & ~title & ~description
        if doubtful and (terms := phrase_terms(text)):
            doubtful &= _known(self._index.all_of(terms, _BODY))
        return doubtful

    def best(self, limit: int, order: Sequence[int]) -> list[tuple[int, int]]:
        """Return the slots with the greatest scores, and their scores.

        Args:
            limit: How many at most.
            order: Per slot, its place among equals; the smallest comes first.
        """
        confirmed, looked_at = 0, limit
        while True:
            scores = self._scores.copy()
            scores.add(BONUS[_BODY], self._doubtful)
            top = list(_first(scores, self._matching, looked_at, order))
            unsure = _bits.of((slot for slot, _ in top), len(order)) & self._doubtful & ~confirmed
            if not unsure & _bits.of((slot for slot, _ in top[:limit]), len(order)):
                return top[:limit]
            held = _known(self._index.holding(_BODY, self._query.text, unsure))
            confirmed |= held
            self._doubtful &= ~(unsure & ~held)
            # When promising bodies disappoint, many more are looked at together.
            looked_at *= 4


def _add(scores: _bits.Counter, points: Sequence[int], sets: Sequence[int]) -> None:
    """Add points for the first of title, description and body that is in its set."""
    before = 0
    for gain, bits in zip(points, sets, strict=True):
        scores.add(gain, bits & ~before)
        before |= bits


def _first(
    scores: _bits.Counter, matching: int, limit: int, order: Sequence[int]
) -> Iterator[tuple[int, int]]:
    left = limit
    for score, slots in scores.groups(matching):
        if not score or left <= 0:
            return
        chosen = nsmallest(left, _bits.members(slots), key=order.__getitem__)
        yield from ((slot, score) for slot in chosen)
        left -= len(chosen)

"""Candidates: who covers how much of a question, by words and by meaning."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._hybrid import vectors
from dsh_mnemon_provider_mnemon_native._hybrid.lexical import Coverage, cover, look_up
from dsh_mnemon_provider_mnemon_native._hybrid.signals import Signal
from dsh_mnemon_provider_mnemon_native._hybrid.substance import dates, substance
from dsh_mnemon_provider_mnemon_native._index.columns import Columns
from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._index.signature import nearest
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._terms.asking import ask

__all__ = ("Candidate", "Found", "find")

_SHORTLIST: Final = 256
"""Vectors measured exactly, beside those around them: some ms of work, many times an answer."""


@attrs.define(kw_only=True)
class Candidate:
    """One insight that may be answered.

    Attributes:
        words: Coverage by words, substance included, 0..1.
        meaning: Similarity of the vectors, 0..1.
    """

    doc: int
    words: float
    meaning: float

    @property
    def coverage(self) -> float:
        """What words and meaning cover together: each leaves the other what it has not shown."""
        words = min(self.words, 1.0)
        return 1 - (1 - words) * (1 - vectors.WORTH * self.meaning)


@attrs.frozen(kw_only=True)
class Found:
    """The best candidates, best first, and what lexical search knows about them.

    Attributes:
        reached: How many insights had anything in common with the question.
    """

    best: list[Candidate]
    coverage: Coverage
    reached: int


def find(
    query: Query, index: QuickIndex, *, limit: int, when: bool, signals: Collection[Signal]
) -> Found:
    """Return at most ``limit`` candidates of the query's scope; ``when`` if it asks for a time."""
    columns = index.live.columns
    terms = ask(query.text) if "words" in signals else ()
    held = look_up(terms, index.live.postings, columns, labels="labels" in signals)
    coverage = cover(held, columns, neighbours="neighbours" in signals)
    words = _weighed(coverage.share, columns, when=when and "dates" in signals, signals=signals)
    meaning: Mapping[int, float] = {}
    if query.vector is not None and "vectors" in signals:
        meaning = _similar(query.vector, index)
    inside = index.inside(query.scope)
    if inside is not None:
        words = {doc: value for doc, value in words.items() if doc in inside}
        meaning = {doc: value for doc, value in meaning.items() if doc in inside}
    if meaning:
        docs = {*words, *meaning}
        told = "substance" in signals
        found = (
            Candidate(
                doc=doc,
                words=words.get(doc, 0.0),
                meaning=meaning.get(doc, 0.0) * (substance(doc, columns) if told else 1.0),
            )
            for doc in docs
        )
        best = heapq.nlargest(limit, found, key=lambda one: (one.coverage, one.words, one.doc))
    else:
        docs = set(words)
        top = heapq.nlargest(limit, words.items(), key=lambda item: (item[1], item[0]))
        best = [Candidate(doc=doc, words=value, meaning=0.0) for doc, value in top]
    return Found(best=best, coverage=coverage, reached=len(docs))


def _weighed(
    share: Mapping[int, float], columns: Columns, *, when: bool, signals: Collection[Signal]
) -> dict[int, float]:
    told = "substance" in signals
    weighed = {
        doc: value * substance(doc, columns) if told else value for doc, value in share.items()
    }
    return {doc: value * dates(doc, columns) for doc, value in weighed.items()} if when else weighed


def _similar(vector: tuple[float, ...], index: QuickIndex) -> dict[int, float]:
    """Return similarity by document of those whose vectors are nearest."""
    signatures, columns = index.live.signatures, index.live.columns
    near = nearest(vector, signatures, limit=_SHORTLIST)
    everywhere = sorted(signatures)[:: max(len(signatures) // vectors.SAMPLE, 1)]
    beside = {other for doc in near for other, _ in vectors.around(doc, columns)}
    cosines = index.cosines(vector, {*near, *beside, *everywhere})
    nothing = vectors.background([cosines[doc] for doc in everywhere if doc in cosines])
    return vectors.similarity(cosines, nothing, columns)

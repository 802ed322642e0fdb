"""Words: which share of a question's information a memory holds (probabilistic idf). Pure but one.

Every term weighs its inverse document frequency, as in BM25. A memory's *coverage* is the weight of
the terms it holds over the weight of all terms, unknown ones included: an absolute share, the same
whatever else was found. How often a memory repeats a term does not count, for memories are short.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._hybrid.neighbours import COMMON, spread
from dsh_mnemon_provider_mnemon_native._index.columns import Columns
from dsh_mnemon_provider_mnemon_native._index.keeping import ASKS
from dsh_mnemon_provider_mnemon_native._index.postings import Postings
from dsh_mnemon_provider_mnemon_native._terms.asking import Term, characters

__all__ = ("Coverage", "Held", "cover", "look_up", "rarity")

_LABEL: Final = 0.8
"""Strength of a term that only a tag or entity holds: a label names a subject, it says nothing."""
_BOTH: Final = 1.2
"""Strength of a term that content and a label hold: the subject itself, not a passing word."""

_POOL: Final = 4_000
"""Candidates enough: once rarer terms have found so many, commoner ones only weigh those. A hundred
times the longest answer, and it bounds the time of a recall in a store of any size."""

_STUMP: Final = 4
"""Letters from which on an unknown word stands for longer ones, as `postgres` for `PostgreSQL`."""


@attrs.frozen(kw_only=True)
class Held:
    """One term and who holds it.

    Attributes:
        content: Documents whose content holds it, ascending.
        labels: Documents one of whose tags or entities holds it.
        weight: What it counts, its rarity times the term's own weight.
    """

    term: Term
    content: Sequence[int]
    labels: Sequence[int]
    weight: float

    @property
    def docs(self) -> Sequence[int]:
        """Documents that hold it in any field."""
        return list({*self.content, *self.labels}) if self.labels else self.content


@attrs.frozen(kw_only=True)
class Coverage:
    """What lexical search has found.

    Attributes:
        share: Coverage by document, above 0; at most about 1.
        strengths: Of each term, its strength by document, with its weight.
        total: Weight of all terms.
    """

    share: Mapping[int, float]
    strengths: Sequence[tuple[Held, Mapping[int, float]]]
    total: float


def rarity(holding: int, of: int) -> float:
    """Return the inverse document frequency of a term, as Robertson and Spärck Jones weigh it."""
    return math.log(1 + (of - holding + 0.5) / (holding + 0.5))


def look_up(
    terms: Sequence[Term], postings: Postings, columns: Columns, *, labels: bool
) -> list[Held]:
    """Return who holds each term, rarest first.

    An unknown word stands for those that begin with it, an unknown pair for its characters.
    """

    def held(term: Term) -> Held:
        content = postings.docs("stems", term.text, begins=term.begins)
        named = postings.docs("labels", term.text, begins=term.begins) if labels else []
        holding = len({*content, *named}) if named else len(content)
        weight = term.weight * rarity(holding, max(columns.count, holding))
        return Held(term=term, content=content, labels=named, weight=weight)

    found = [held(term) for term in terms]
    known = [one for one in found if one.docs]
    for one in found:
        if not one.docs and one.term.run is None:
            longer = held(attrs.evolve(one.term, begins=True))
            known.append(longer if longer.docs and len(one.term.text) >= _STUMP else one)
    unknown = [one.term for one in found if not one.docs and one.term.run is not None]
    known += [held(term) for term in characters(unknown, [one.term for one in known])]
    known.sort(key=lambda one: len(one.content) + len(one.labels))
    return known


def cover(found: Sequence[Held], columns: Columns, *, neighbours: bool) -> Coverage:
    """Add up what each document covers; ``found`` begins with the rarest term."""
    total = sum(held.weight for held in found) or 1.0
    share: dict[int, float] = {}
    strengths: list[tuple[Held, Mapping[int, float]]] = []
    for held in found:
        if not held.docs:
            continue
        strength = _strengths(held, columns, neighbours=neighbours)
        strengths.append((held, strength))
        weight = held.weight / total
        if len(share) < _POOL:
            for doc, value in strength.items():
                share[doc] = share.get(doc, 0.0) + weight * value
        else:
            for doc in share:
                if doc in strength:
                    share[doc] += weight * strength[doc]
    if neighbours:
        share = _own(share, found, columns)
    return Coverage(share=share, strengths=strengths, total=total)


def _strengths(held: Held, columns: Columns, *, neighbours: bool) -> dict[int, float]:
    docs = held.docs
    if neighbours and len(docs) <= COMMON * columns.count:
        strength = spread(docs, columns)
    else:
        strength = dict.fromkeys(docs, 1.0)
    if held.labels:
        content = set(held.content)
        strength.update((doc, _BOTH if doc in content else _LABEL) for doc in held.labels)
    return strength


def _own(share: dict[int, float], found: Sequence[Held], columns: Columns) -> dict[int, float]:
    """Leave only who holds a term itself, or answers a question that does.

    What lies beside a find and shares no word with the question is not an answer for that.
    """
    # A term at a time: hundreds of thousands at once would keep the event loop waiting.
    own: set[int] = set()
    for held in found:
        own.update(held.docs)
    before, traits = columns.before, columns.traits
    return {
        doc: value
        for doc, value in share.items()
        if doc in own or (traits[before[doc]] & ASKS and before[doc] in own)
    }

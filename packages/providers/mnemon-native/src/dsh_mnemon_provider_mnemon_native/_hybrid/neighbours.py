"""Neighbours: what was said around a turn of a conversation counts for it, a little less. Pure.

An answer rarely repeats the words of its question. So a term counts for a turn as much as the best
of the turn itself and the turns around it makes it count: a maximum, not a sum, lest a subject that
is talked about at length outweigh the one place where it is settled.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final

from dsh_mnemon_provider_mnemon_native._index.columns import Columns
from dsh_mnemon_provider_mnemon_native._index.keeping import ASKS

__all__ = ("COMMON", "answers", "spread")

_BEFORE: Final = (0.7, 0.5, 0.35)
"""Share of a term of the turn one, two, three before: what came before explains what follows, and
each step leaves about seven tenths of it. Values within a tenth of these measure the same."""
_AFTER: Final = (0.6, 0.42, 0.3)
"""Share of a term of a turn after: less, as people react more often than they announce."""
_ANSWER: Final = 1.0
"""Share of a question's term for the turn that answers it: the two are one statement."""

COMMON: Final = 0.2
"""A term that more than a fifth of all memories hold, as a speaker's name, tells turns of one
conversation apart; it is no subject that goes on, and does not spread."""


def answers(docs: Sequence[int], columns: Columns) -> list[int]:
    """Return the turns that follow those of ``docs`` that ask."""
    after, traits = columns.after, columns.traits
    return [after[doc] for doc in docs if traits[doc] & ASKS and after[doc]]


def spread(docs: Sequence[int], columns: Columns) -> dict[int, float]:
    """Return how much a term that ``docs`` hold counts for them and for those around, 0..1."""
    steps = [
        *zip(_AFTER, _chain(docs, columns.before, len(_AFTER)), strict=True),
        *zip(_BEFORE, _chain(docs, columns.after, len(_BEFORE)), strict=True),
    ]
    # From the weakest to the strongest, so that the strongest is what stays.
    steps.sort(key=lambda step: step[0])
    found: dict[int, float] = {}
    for share, reached in steps:
        found.update(dict.fromkeys(reached, share))
    found.update(dict.fromkeys(answers(docs, columns), _ANSWER))
    found.update(dict.fromkeys(docs, 1.0))
    found.pop(0, None)
    return found


def _chain(docs: Sequence[int], link: array[int], steps: int) -> list[list[int]]:
    """Follow a link up to ``steps`` times; 0 leads nowhere but to itself."""
    chain = [list(map(link.__getitem__, docs))]
    while len(chain) < steps:
        chain.append(list(map(link.__getitem__, chain[-1])))
    return chain

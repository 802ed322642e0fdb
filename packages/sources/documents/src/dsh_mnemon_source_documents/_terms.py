"""What of a text is indexed, and how a query asks for it (D43; pure).

A token occurs in a text exactly when a run of word characters of the text holds it, or, for Han
script, when the text holds the one or two characters. So the index keeps single Han characters and
pairs of them, and the distinct runs of other words; of the runs, pieces of two and three
characters as well, because short tokens are part of many runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from dsh_mnemon_source_documents._text import han, runs

PIECE: Final = 128
"""Longest token that the runs answer for; longer ones are looked for in the texts."""

GRAM_LENGTH: Final = 3
"""Longest piece of a run that has a set of its own."""


def is_gram(token: str) -> bool:
    """Tell whether a token has a set of its own in the index."""
    return len(token) <= GRAM_LENGTH or han().match(token) is not None


def han_terms(found: Iterable[str]) -> set[str]:
    """Return the single characters and pairs of Han runs."""
    terms: set[str] = set()
    for run in found:
        terms.update(run)
        terms.update(map(str.__add__, run, run[1:]))
    return terms


def words(found: Iterable[str]) -> Iterator[str]:
    """Return runs, the long ones in overlapping pieces that hold every token up to `PIECE`."""
    for run in found:
        if len(run) <= 2 * PIECE:
            yield run
        else:
            yield from (run[i : i + 2 * PIECE] for i in range(0, len(run) - PIECE, PIECE))


def grams(word: str) -> set[str]:
    """Return the pieces of two and three characters of a word."""
    return {word[i : i + size] for size in (2, GRAM_LENGTH) for i in range(len(word) - size + 1)}


def neighbours(found: Sequence[str]) -> set[str]:
    """Return a term for every two runs in a row: the end of one and the beginning of the other."""
    return {f"{left[-2:]} {right[:2]}" for left, right in pairwise(found)}


def phrase_terms(text: str) -> set[str]:
    """Return the terms of `neighbours` that every text holding ``text`` has.

    The outermost runs may go on in the text, so that of a single character says nothing.
    """
    found = runs().findall(text)
    if found and len(found[0]) < 2:
        del found[0]
    if found and len(found[-1]) < 2:
        del found[-1]
    return neighbours(found)


def split_runs(text: str) -> tuple[list[str], list[str], list[str]]:
    """Return all runs of a normalized text, then those of Han script, then the others."""
    found: list[str] = runs().findall(text)
    # Han script begins above U+2E7F; most words are told apart by that alone.
    is_han = han().match
    of_han = [run for run in found if run[0] > "\u2e7f" and is_han(run)]
    if not of_han:
        return found, of_han, found
    return found, of_han, [run for run in found if run[0] <= "\u2e7f" or not is_han(run)]

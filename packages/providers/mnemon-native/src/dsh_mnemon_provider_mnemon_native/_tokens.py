"""Words of a text, as keyword search counts them (spec/mnemon-native.md §6). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import Final

__all__ = ("STOP_WORDS", "field_tokens", "overlap_ratio", "tokens")

_STOP_TEXT: Final = (
    "a an the is are was were be been being have has had do does did will would could should may "
    "might shall can to of in for on with at by from as into about that this it its or and but if "
    "not no so up out than then too very just also more some any all each i me my we you your he "
    "she they them his her our their what which who how when where"
)
STOP_WORDS: Final = frozenset(_STOP_TEXT.split())
"""Words that say nothing about the topic; only ever dropped whole."""

# The Han script of Unicode, written as ranges: `re` knows no scripts.
_HAN: Final = (
    "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufa6d\ufa70-\ufad9\U00016fe2\U00016fe3\U00016ff0\U00016ff1"
    "\U00020000-\U0002a6df\U0002a700-\U0002ebe0\U0002ebf0-\U0002ee5d\U0002f800-\U0002fa1d"
    "\U00030000-\U000323af"
)

# `\w` without `_` is L*, N*, M-like alphanumerics; what is neither a letter nor a decimal digit
# (Nl and No: Roman numerals, circled and superscript digits, fractions) is taken out afterwards.
_RUN: Final = re.compile(f"(?P<han>[{_HAN}]+)|[^\\W_{_HAN}]+")


def _is_word_character(character: str) -> bool:
    return character.isalpha() or character.isdecimal()


def _words(run: str) -> Iterable[str]:
    if run.isascii() or all(map(_is_word_character, run)):
        return (run,)
    kept = "".join(c if _is_word_character(c) else " " for c in run)
    return kept.split()


def tokens(text: str) -> frozenset[str]:
    """Return the tokens of one text.

    A run of Han characters gives its overlapping pairs, a single one itself; any other run of
    letters and decimal digits gives itself, in lower case, unless it is a stop word.
    """
    found: set[str] = set()
    for match in _RUN.finditer(text.lower()):
        run = match.group()
        if match.lastgroup is None:
            found.update(_words(run))
        elif len(run) == 1:
            found.add(run)
        else:
            found.update(map("".join, pairwise(run)))
    return frozenset(found - STOP_WORDS)


def field_tokens(content: str, tags: Iterable[str], entities: Iterable[str]) -> frozenset[str]:
    """Return the tokens of an insight; pairs never span two fields."""
    return tokens(content).union(*map(tokens, tags), *map(tokens, entities))


def overlap_ratio(query: frozenset[str], found: frozenset[str]) -> float:
    """Return which share of the query's tokens is found, 0..1; 0 for an empty query."""
    return len(query & found) / len(query) if query else 0.0

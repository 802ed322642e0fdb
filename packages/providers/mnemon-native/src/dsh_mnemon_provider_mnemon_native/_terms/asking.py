"""The terms of a question, with how much each may weigh. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._terms.forms import FUNCTION_WORDS
from dsh_mnemon_provider_mnemon_native._terms.reading import stem
from dsh_mnemon_provider_mnemon_native._terms.runs import pairs, runs

__all__ = ("MOST_TERMS", "Term", "ask", "characters")

MOST_TERMS: Final = 64
"""Distinct terms looked up for one question; a longer one is judged by its first ones."""

# Words a Chinese question is built with, simplified and traditional: they cut a run in two.
_ASKING: Final = re.compile(
    "为什么|為什麼|为何|為何|什么时候|什麼時候|什么样|什麼樣|什么|什麼|怎么样|怎麼樣|怎么|怎麼|怎样|怎樣"
    "|如何|哪里|哪裡|哪儿|哪兒|哪个|哪個|哪些|哪|谁|誰|多少|多久|几个|幾個|何时|何時|是否|有没有|有沒有"
    "|请问|請問|关于|關於|告诉我|告訴我|的|吗|嗎|呢|吧|啊|呀|嘛|是"
)
# Characters that mostly serve grammar: a pair that holds one says less about a topic.
_GRAMMAR: Final = frozenset(
    "了在和与與或有我你您他她它們们这這那就也都还還很把被从從到去要想着个個"
)
_LIGHT: Final = 0.3
"""Weight of a pair that holds a character of grammar, or hiragana only: about the share of such
pairs that are words. They are kept, for `有效` and `对比` are words indeed."""
_CHARACTER: Final = 0.5
"""Weight of a single character: half a word."""
_HIRAGANA: Final = re.compile("[\u3040-\u309f]+")


@attrs.frozen(kw_only=True)
class Term:
    """One term of a question.

    Attributes:
        text: As memories are indexed; a single character of a script without blanks also stands
            for every pair that begins with it.
        weight: 0..1, what the term counts beside others.
        begins: Whether every pair that begins with ``text`` counts too.
        run: Number of the run it was cut from, none for a word: an unknown pair whose characters
            are known through its neighbours is no lack.
        place: Place within the run.
    """

    text: str
    weight: float = 1.0
    begins: bool = False
    run: int | None = None
    place: int = 0


def _weight(text: str) -> float:
    """Return the weight of a pair or a character."""
    light = not _GRAMMAR.isdisjoint(text) or _HIRAGANA.fullmatch(text) is not None
    return _LIGHT if light else 1.0


def _unspaced(piece: str, run: int) -> list[Term]:
    if len(piece) == 1:
        return [Term(text=piece, begins=True)]
    return [
        Term(text=pair, weight=_weight(pair), run=run, place=place)
        for place, pair in enumerate(pairs(piece))
    ]


def _cut(run: str) -> list[str]:
    """Return the pieces of a run that say what a question is about."""
    pieces = [piece for piece in _ASKING.split(run) if piece]
    # A single character between two cuts is mostly grammar, too; alone it is all there is.
    longer = [piece for piece in pieces if len(piece) > 1]
    return longer or pieces


def ask(question: str) -> tuple[Term, ...]:
    """Return the distinct terms of a question, at most `MOST_TERMS`; none for function words."""
    asked = list(runs(question))
    found: dict[str, Term] = {}
    number = 0
    for run in asked:
        if run.unspaced:
            # One word of one or two characters is searched for as it stands.
            whole = len(asked) == 1 and len(run.text) <= len("是否")
            for piece in [run.text] if whole else _cut(run.text):
                for term in _unspaced(piece, number):
                    found.setdefault(term.text, term)
                number += 1
        elif run.text not in FUNCTION_WORDS:
            text = stem(run.text)
            found.setdefault(text, Term(text=text))
    return tuple(found.values())[:MOST_TERMS]


def characters(unknown: Sequence[Term], known: Iterable[Term]) -> list[Term]:
    """Return single characters in place of pairs no memory holds.

    A pair that joins two words of a question need not occur anywhere, and is no lack when its
    characters belong to known pairs; those that do not stand for themselves, each once.
    """
    covered = {(term.run, term.place + side) for term in known for side in (0, 1)}
    found: dict[str, Term] = {}
    for term in unknown:
        for side, character in enumerate(term.text):
            if (term.run, term.place + side) not in covered:
                weight = _CHARACTER * _weight(character)
                found[character] = Term(text=character, weight=weight, begins=True)
    return list(found.values())

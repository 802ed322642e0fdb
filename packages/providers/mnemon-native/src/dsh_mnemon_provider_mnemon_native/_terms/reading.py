"""The terms of a memory: stems of words, pairs of characters. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from importlib.metadata import version
from typing import Final, Protocol

import attrs

from dsh_mnemon_provider_mnemon_native._terms.forms import FUNCTION_WORDS, IRREGULAR
from dsh_mnemon_provider_mnemon_native._terms.runs import pairs, runs

__all__ = ("Substance", "label_terms", "revision", "stem", "substance", "terms")

_RULES: Final = 1
"""Grows with every change to how texts become terms, so that indexes are made anew."""


class _Stemmer(Protocol):
    def stemWord(self, word: str) -> str: ...  # noqa: N802 - the library's name


@cache
def _stemmer() -> _Stemmer:
    # Loading the library's thirty languages takes some ms that a process without recall saves.
    from snowballstemmer.english_stemmer import (  # type: ignore[import-untyped]
        EnglishStemmer,
    )

    stemmer: _Stemmer = EnglishStemmer()
    return stemmer


@cache
def revision() -> str:
    """Return what the terms depend on: our rules and the stemmer's version."""
    return f"{_RULES}/{version('snowballstemmer')}"


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return the stem of a lower-case word; words with digits or of other scripts stay whole."""
    if not (word.isascii() and word.isalpha()):
        return word
    return _stemmer().stemWord(IRREGULAR.get(word, word))


@attrs.frozen(kw_only=True)
class Substance:
    """What a memory's text is made of.

    Attributes:
        terms: Distinct terms in order of appearance; a run without blanks gives its pairs and then
            its last character alone, which makes that one findable too.
        mass: About how many distinct words say something, 0..255.
        asks: Whether it ends with a question.
        dated: Whether it names a time.
        spoken: Whether it is a turn of a conversation, ``speaker: text``.
    """

    terms: tuple[str, ...]
    mass: int
    asks: bool
    dated: bool
    spoken: bool


_CLOSING: Final = " \t\r\n\"'”’)»】」"
_DATED: Final = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|ago|week|weekend|month|year|last|next|since|recently"
    r"|morning|evening|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february"
    r"|march|april|may|june|july|august|september|october|november|december|\d{4}"
    r"|\d+(?:st|nd|rd|th))s?\b"
    r"|[昨今明前后後]天|[昨今明]晚|[去今明前]年|[上下本这這]个?個?[周週月]|星期|周末|週末|[早晚]上|[上中下]午"
    # One digit will do; a run of them would be read again from each of its digits.
    r"|[\d一二三四五六七八九十][年月日号號点點]|小时|小時|分钟|分鐘",
    re.IGNORECASE,
)
# A name of up to three words, a colon, and something said; no clock time, no address.
_SPOKEN: Final = re.compile(r"[^\W\d][^\s:：]{0,39}(?: [^\s:：]{1,40}){0,2}(?:: ?|：)(?!//)\S")
_MASS: Final = 255
_CHARACTERS_A_WORD: Final = 2
"""Most Chinese words have two characters."""


def _terms(text: str) -> tuple[dict[str, None], int]:
    found: dict[str, None] = {}
    characters = words = 0
    for run in runs(text):
        if run.unspaced:
            found.update(dict.fromkeys(pairs(run.text)))
            found[run.text[-1]] = None
            characters += len(run.text)
        elif run.text not in FUNCTION_WORDS:
            stemmed = stem(run.text)
            words += stemmed not in found
            found[stemmed] = None
    return found, words + -(-characters // _CHARACTERS_A_WORD)


def terms(text: str) -> tuple[str, ...]:
    """Return the distinct terms of a text in order of appearance."""
    return tuple(_terms(text)[0])


def label_terms(labels: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct terms of tags and entities."""
    found: dict[str, None] = {}
    for label in labels:
        found.update(_terms(label)[0])
    return tuple(found)


def substance(content: str) -> Substance:
    """Read a memory's content."""
    found, words = _terms(content)
    return Substance(
        terms=tuple(found),
        mass=min(words, _MASS),
        asks=content.rstrip(_CLOSING).endswith(("?", "？")),
        dated=_DATED.search(content) is not None,
        spoken=_SPOKEN.match(content) is not None,
    )

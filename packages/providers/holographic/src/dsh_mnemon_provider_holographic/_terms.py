"""Words, Chinese characters and full-text expressions of a text (providers specification §6.7)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

__all__ = ("STOP_WORDS", "fold", "match_expression", "pairs", "significant", "terms")

STOP_WORDS: Final = frozenset(
    re.findall(
        r"\w+",
        """
        a about above after again all am an and any are as at be because been before being between
        both but by can could did do does doing don down during each few for from further had has
        have having he her here hers herself him himself his how i if in into is it its itself just
        me more most my myself no nor not now of off on once only or other our ours ourselves out
        over own same she should so some such than that the their theirs them themselves then there
        these they this those through to too under until up very was we were what when where which
        while who whom why will with would you your yours yourself yourselves
        """,
    )
)
"""English words that say nothing of a topic, those Hermes leaves out of a query."""

_CJK_CLASS: Final = (
    "\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_CJK: Final = re.compile(f"[{_CJK_CLASS}]+")
_ACCENT: Final = re.compile("[\u0300-\u036f]")
_WORD: Final = re.compile(r"[\w-]+")
_MOST_PAIRS: Final = 32


def fold(text: str) -> str:
    """Return a text in the form in which it is compared: NFKC, lower case, letters unaccented."""
    apart = unicodedata.normalize("NFKD", text.lower())
    return unicodedata.normalize("NFKC", _ACCENT.sub("", apart)).lower()


@lru_cache(maxsize=4096)
def terms(text: str) -> frozenset[str]:
    """Return the terms of a text: words of two characters or more, CJK characters and pairs."""
    folded = fold(text)
    found = {word for word in _words(_CJK.sub(" ", folded)) if len(word) >= 2}
    for run in _CJK.findall(folded):
        found.update(run)
        found.update(_pairs_of(run))
    return frozenset(found)


def significant(found: frozenset[str]) -> frozenset[str]:
    """Leave the stop words out, unless there is nothing else."""
    return (found - STOP_WORDS) or found


def pairs(text: str) -> list[str]:
    """Return the CJK pairs of a text, a lone character as it is; at most 32, in order."""
    found = [part for run in _CJK.findall(fold(text)) for part in (list(_pairs_of(run)) or [run])]
    return list(dict.fromkeys(found))[:_MOST_PAIRS]


def match_expression(found: frozenset[str]) -> str:
    """Return an FTS5 expression that finds any of the terms, each with its inner punctuation."""
    return " OR ".join(f'"{term}"' for term in sorted(found))


def _words(text: str) -> Iterator[str]:
    return (word.strip("-_") for word in _WORD.findall(text))


def _pairs_of(run: str) -> Iterator[str]:
    return (run[place : place + 2] for place in range(len(run) - 1))

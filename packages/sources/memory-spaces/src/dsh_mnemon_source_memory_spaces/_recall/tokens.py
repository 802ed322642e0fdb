"""Words of a query, and how many of them must be found (spec/sources.md §3.6)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final

__all__ = ("normalized", "required", "tokens")

_HAN: Final = (
    "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufa6d\ufa70-\ufad9\U00016fe2\U00016fe3"
    "\U00016ff0\U00016ff1\U00020000-\U0003ffff"
)


@cache  # and so compiled at first use: that takes longer than to import most modules
def _runs() -> re.Pattern[str]:
    return re.compile(f"[{_HAN}]+|(?:(?![{_HAN}])[\\w-])+")


@cache
def _han() -> re.Pattern[str]:
    return re.compile(f"[{_HAN}]")


def normalized(text: str) -> str:
    """Return the form in which texts are compared: trimmed, NFKC, lower case."""
    return unicodedata.normalize("NFKC", text.strip()).lower()


def tokens(text: str, limit: int) -> tuple[str, ...]:
    """Return at most ``limit`` different words, in order of their first occurrence.

    A run of Han script of one or two characters is a word, a longer one gives its overlapping
    pairs. Elsewhere a word is a run of letters, digits, ``_`` and ``-``, two characters at least.
    """
    return tuple(dict.fromkeys(_words(normalized(text))))[:limit]


def _words(text: str) -> Iterator[str]:
    for found in _runs().finditer(text):
        run = found.group()
        if not _han().match(run):
            if len(run) >= 2:
                yield run
        elif len(run) <= 2:
            yield run
        else:
            yield from (run[place : place + 2] for place in range(len(run) - 1))


def required(count: int) -> int:
    """Return how many of ``count`` words a text must hold to match."""
    if count < 4:
        return min(count, 1)
    return max(2, -(-count // 4))

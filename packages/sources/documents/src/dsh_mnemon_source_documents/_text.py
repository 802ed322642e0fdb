"""Text as it is stored and as it is searched: white space, scripts, tokens (§1.1, §3.6; pure)."""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from functools import cache
from typing import Final

# The white space of ECMAScript, so that both implementations store the same text: Python's \s
# lacks U+FEFF and adds U+0085 and U+001C to U+001F.
_WHITE: Final = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_RUN: Final = re.compile(f"[{_WHITE}]+")

# Script=Han of Unicode 16; `re` knows no scripts.
_HAN: Final = (
    "\u2e80-\u2e99\u2e9b-\u2ef3\u2f00-\u2fd5\u3005\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf"
    "\u4e00-\u9fff\uf900-\ufa6d\ufa70-\ufad9\U00016fe2\U00016fe3\U00016ff0\U00016ff1"
    "\U00020000-\U0002a6df\U0002a700-\U0002b739\U0002b740-\U0002b81d\U0002b820-\U0002cea1"
    "\U0002ceb0-\U0002ebe0\U0002ebf0-\U0002ee5d\U0002f800-\U0002fa1d\U00030000-\U0003134a"
    "\U00031350-\U000323af"
)

# Letters, digits, `_` and `-` outside Han; ASCII first, because that is quick.
_WORD: Final = f"(?:[^\\W{_HAN}]|-)"

MAX_TOKENS: Final = 64


@cache  # and so compiled at first use: that takes longer than to import most modules
def han() -> re.Pattern[str]:
    """Return the pattern of one Han character."""
    return re.compile(f"[{_HAN}]")


@cache
def runs() -> re.Pattern[str]:
    """Return the pattern of a run of Han or of other word characters, in normalized text."""
    return re.compile(f"[a-z0-9_-]+{_WORD}*|[{_HAN}]+|{_WORD}+")


def strip(text: str) -> str:
    """Strip white space from both ends."""
    return text.strip(_WHITE)


def collapse(text: str) -> str:
    """Strip both ends and replace every run of white space by one blank."""
    return _RUN.sub(" ", text).strip(" ")


def sha256(data: str | bytes) -> str:
    """Return the lower-case hex SHA-256 of bytes or of a text's UTF-8."""
    return hashlib.sha256(data.encode("utf-8") if isinstance(data, str) else data).hexdigest()


def normalize(text: str) -> str:
    """Return the form in which queries, titles, descriptions and bodies are compared."""
    return unicodedata.normalize("NFKC", text).lower()


def tokens(query: str) -> list[str]:
    """Return the distinct tokens of a normalized query in order, at most `MAX_TOKENS`.

    A run of Han characters gives itself, or its overlapping pairs when it is longer than two;
    every other run of at least two word characters gives itself.
    """
    found: dict[str, None] = {}
    for run in runs().findall(query):
        if han().match(run):
            pairs = [run[i : i + 2] for i in range(len(run) - 1)]
            found.update(dict.fromkeys(pairs or [run]))
        elif len(run) > 1:
            found[run] = None
    return list(found)[:MAX_TOKENS]


def required(count: int) -> int:
    """Return how many of ``count`` tokens a document must hold to match."""
    if count < 4:
        return min(count, 1)
    return max(2, math.ceil(count / 4))

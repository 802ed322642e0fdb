"""Cut a text into words and runs of scripts without blanks (design/ecosystem.md §4). Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

import attrs

__all__ = ("Run", "pairs", "runs")

# Han with extension A, the supplementary planes and compatibility forms; Kana with the long-vowel
# sign; Hangul; Thai, Lao, Burmese and Khmer, which write no blanks between words either.
_UNSPACED: Final = (
    "\u3005\u3007\u3040-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7a3\U00020000-\U0003ffff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ece\u1000-\u1049\u1780-\u17d3"
)
# Vowel signs and other marks of Hebrew, Arabic and the Indic scripts belong into their words,
# though `\w` leaves them out.
_MARKS: Final = (
    "\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f"
    "\u0981-\u0983\u09bc-\u09cd\u0a01-\u0a03\u0a3c-\u0a4d\u0a81-\u0a83\u0abc-\u0acd"
    "\u0b82\u0bbe-\u0bcd\u0c00-\u0c04\u0c3e-\u0c56\u0c81-\u0c83\u0cbc-\u0cd6\u0d00-\u0d03\u0d3e-\u0d4d"
)
# `C++` and `C#` are names of their own; a sign between two operands is not part of a word.
_RUN: Final = re.compile(
    f"(?P<unspaced>[{_UNSPACED}]+)|(?:[^\\W_{_UNSPACED}]|[{_MARKS}])+(?:[+#]+(?![\\w+#]))?"
)
_ACCENTS: Final = re.compile("[\u0300-\u036f]")
_SIGNS: Final = str.maketrans({"+": "plus", "#": "sharp"})


@attrs.frozen
class Run:
    """Adjacent characters that belong together.

    Attributes:
        text: In lower case, compatibility forms and accents folded.
        unspaced: Whether it is of a script without blanks; else it is one word.
    """

    text: str
    unspaced: bool


def runs(text: str) -> Iterator[Run]:
    """Yield the runs of a text in order."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    for match in _RUN.finditer(text.casefold()):
        run = match.group()
        if match.lastgroup is not None:
            yield Run(run, True)
        elif run.isascii():
            yield Run(run if run.isalnum() else run.translate(_SIGNS), False)
        else:
            # Accents of Latin, Greek and Cyrillic; voicing marks of Kana are others and stay.
            bare = _ACCENTS.sub("", unicodedata.normalize("NFD", run))
            if bare:
                yield Run(unicodedata.normalize("NFC", bare).translate(_SIGNS), False)


def pairs(run: str) -> list[str]:
    """Return the overlapping pairs of a run without blanks; of one character, itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]

"""Exact anchors of a query: what an answer must hold to be about it (spec/sources.md §4.7)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from typing import Final, Literal

import attrs

from dsh_mnemon_source_memory_spaces._recall.tokens import normalized, required, tokens

__all__ = ("RecoveryPlan", "recovery_plan")

_MAX_ANCHORS: Final = 8
_MAX_TOKENS: Final = 32
_MIN_TOKENS: Final = 4
_MOST_REQUIRED: Final = 4

_ANCHOR: Final = r"""
    百分之\s*(?P<chinese>\d+(?:\.\d+)?)
    | (?<![a-z0-9_.-])(?<!\d:)(?:
        (?P<percent>\d+(?:\.\d+)?)\s*(?:%|per\s?cent(?![a-z]))
        | (?P<plain>
            \d{4}-\d{2}-\d{2}(?![\d_-])               # ISO date
            | \d{1,2}:\d{2}(?::\d{2})?(?![\d:])       # time
            | v?\d+(?:\.\d+)+(?:-[a-z0-9.]*[a-z0-9])? # version
            | [a-z0-9]+(?:[-_][a-z0-9]+)+             # identifier
            | v?\d+(?![a-z0-9_.]*[a-z0-9_])           # integer
        )
    )
"""


@cache  # and so compiled at first use, which most processes never come to
def _anchor() -> re.Pattern[str]:
    return re.compile(_ANCHOR, re.VERBOSE)


def _anchors(text: str) -> Iterator[str]:
    folded = unicodedata.normalize("NFKC", text).lower()
    for found in _anchor().finditer(folded):
        share = found["chinese"] or found["percent"]
        yield f"{share}%" if share else found["plain"]


@attrs.frozen(kw_only=True)
class RecoveryPlan:
    """What a result should hold, and what else to ask native Spaces when none does.

    Attributes:
        kind: ``exact`` looks for anchors, ``lexical`` for words.
        terms: The anchors or words, in query order.
        query: The keyword search to try.
        required_matches: How many terms a result must hold.
    """

    kind: Literal["exact", "lexical"]
    terms: tuple[str, ...]
    query: str
    required_matches: int

    def matches(self, content: str) -> int:
        """Return how many of the terms a content holds."""
        if self.kind == "exact":
            held = frozenset(_anchors(content))
            return sum(term in held for term in self.terms)
        text = normalized(content)
        return sum(term in text for term in self.terms)

    def reached(self, content: str) -> bool:
        """Tell whether a content holds enough of the terms."""
        return self.matches(content) >= self.required_matches


def recovery_plan(query: str) -> RecoveryPlan | None:
    """Return the plan of a query: anchors if it has two, else words if it has four."""
    anchors = tuple(dict.fromkeys(_anchors(query)))[:_MAX_ANCHORS]
    if len(anchors) >= 2:
        return RecoveryPlan(
            kind="exact",
            terms=anchors,
            query=" ".join(anchors),
            required_matches=min(_MOST_REQUIRED, len(anchors)),
        )
    words = tokens(query, _MAX_TOKENS)
    if len(words) >= _MIN_TOKENS:
        return RecoveryPlan(
            kind="lexical", terms=words, query=query.strip(), required_matches=required(len(words))
        )
    return None

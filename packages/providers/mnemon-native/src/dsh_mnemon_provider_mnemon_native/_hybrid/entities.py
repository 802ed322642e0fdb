"""Entities: who carries a name the question mentions; and who carries nothing else of it."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._hybrid.lexical import Coverage
from dsh_mnemon_provider_mnemon_native._terms.reading import label_terms

__all__ = ("Named", "named")

_LONGEST: Final = 4
"""Words of a name looked for in a question."""
_LONGEST_RUN: Final = 8
"""Characters of a name in a script without blanks."""

_BONUS: Final = 0.1
"""What carrying all names of a question adds: less than the step from one word matched to two."""
_NOTHING_ELSE: Final = 0.5
"""What is left of a memory that shares a name with the question and no word of its subject."""

_WORD: Final = re.compile(r"\w+(?:[.\-/]\w+)*[+#]*")
_UNSPACED: Final = re.compile("[\u3400-\u9fff]{2,}")


@attrs.frozen(kw_only=True)
class Named:
    """The names of entities a question mentions.

    Attributes:
        holders: By name in lower case, the documents that carry it.
        terms: The terms the names consist of.
    """

    holders: dict[str, frozenset[int]]
    terms: frozenset[str]

    def share(self, doc: int) -> float:
        """Return which share of the names a document carries, 0..1."""
        if not self.holders:
            return 0.0
        return sum(doc in docs for docs in self.holders.values()) / len(self.holders)

    def factor(self, doc: int, coverage: Coverage) -> float:
        """Return what the names make of a document: a small bonus, or half for nothing else."""
        if not self.holders:
            return 1.0
        subjects = [(h, s) for h, s in coverage.strengths if h.term.text not in self.terms]
        if subjects and not any(doc in strength for _, strength in subjects):
            return _NOTHING_ELSE
        return 1 + _BONUS * self.share(doc)


def _candidates(question: str) -> Collection[str]:
    lower = question.lower()
    words = _WORD.findall(lower)
    found = {
        " ".join(words[start : start + size])
        for size in range(1, _LONGEST + 1)
        for start in range(len(words) - size + 1)
    }
    for run in _UNSPACED.findall(lower):
        found |= {
            run[start : start + size]
            for size in range(2, _LONGEST_RUN + 1)
            for start in range(len(run) - size + 1)
        }
    return found


def named(question: str, index: sqlite3.Connection) -> Named:
    """Find the names of entities, whole and in any case, that a question mentions."""
    found = index.execute(
        "SELECT lower, json_group_array(doc) FROM names"
        " WHERE lower IN (SELECT value FROM json_each(?)) GROUP BY lower",
        (json.dumps(sorted(_candidates(question))),),
    )
    holders = {name: frozenset[int](json.loads(docs)) for name, docs in found}
    return Named(holders=holders, terms=frozenset(label_terms(holders)))

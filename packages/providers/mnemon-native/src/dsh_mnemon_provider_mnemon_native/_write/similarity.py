"""What a new text is to a stored one: advice, never a replacement (spec/mnemon-native.md §4.1)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import attrs

from dsh_mnemon_provider_mnemon_native._ranking import Index
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._tokens import tokens
from dsh_mnemon_provider_mnemon_native._vectors import cosine

__all__ = ("Suggestion", "suggest", "suggestion_for")

Suggestion: TypeAlias = Literal["ADD", "UPDATE", "CONFLICT", "DUPLICATE"]
"""What the tool would call the new text beside what is stored."""

_CANDIDATES: Final = 5
_NEAR: Final = 0.7
_COSINE_COUNTS: Final = 0.85

_NEGATION: Final = re.compile(r"(?:not|no|never|cannot|without|none|n['’]t)", re.IGNORECASE)
_CHANGE_WORDS: Final = (
    "no longer",
    "don't",
    "doesn't",
    "never",
    "switched from",
    "instead of",
    "rather than",
    "replaced",
    "deprecated",
    "不再",
    "放弃",
    "替换",
    "取消",
)


@attrs.frozen(kw_only=True)
class _Match:
    similarity: float
    suggestion: Suggestion


def _in_word(character: str) -> bool:
    return character == "_" or unicodedata.category(character)[:1] in "LM" or character.isdecimal()


def _is_negated(text: str) -> bool:
    for match in _NEGATION.finditer(text):
        start, end = match.span()
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        ends_a_word = match.group()[:2].lower() == "n'" or match.group()[:2].lower() == "n’"
        if (not before or ends_a_word or not _in_word(before)) and not (after and _in_word(after)):
            return True
    return False


def suggestion_for(new: str, old: str, token_similarity: float, similarity: float) -> Suggestion:
    """Return the advice for one pair; ``similarity`` is the larger of tokens and cosine."""
    if similarity < 0.5:
        return "ADD"
    size = len(old.encode("utf-8"))
    extends = len(new.encode("utf-8")) > size + size // 4
    repeats: Suggestion = "CONFLICT" if _is_negated(new) != _is_negated(old) else "DUPLICATE"
    if token_similarity > 0.9 and not extends:
        return repeats
    both = new.lower() + "\n" + old.lower()
    if similarity >= 0.7 and any(word in both for word in _CHANGE_WORDS):
        return "CONFLICT"
    return repeats if similarity > 0.9 and not extends else "UPDATE"


def _jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / len(left | right) if left and right else 0.0


@attrs.frozen(kw_only=True)
class _New:
    """The new text, with what is compared again and again."""

    content: str
    tokens: frozenset[str]
    vector: Sequence[float] | None


def _match(new: _New, id: str, old: str, rows: Rows) -> _Match:
    shared = _jaccard(new.tokens, tokens(old))
    stored = None if new.vector is None else rows.vector(id)
    near = cosine(new.vector, stored) if new.vector is not None and stored is not None else 0.0
    similarity = near if near >= _COSINE_COUNTS and near > shared else shared
    advice = suggestion_for(new.content, old, shared, similarity)
    return _Match(similarity=similarity, suggestion=advice)


def _near(vector: Sequence[float], known: Sequence[str], index: Index) -> list[str]:
    near = index.nearest(vector, limit=_CANDIDATES + len(known), above=_NEAR)
    return [found.id for found in near if found.id not in known][:_CANDIDATES]


def suggest(content: str, vector: Sequence[float] | None, rows: Rows, index: Index) -> Suggestion:
    """Compare a new text with the stored ones that resemble it most."""
    new = _New(content=content, tokens=tokens(content), vector=vector)
    ids = [found.id for found in index.keyword(new.tokens, limit=_CANDIDATES)]
    others = [] if vector is None else _near(vector, ids, index)
    known = [_match(new, row.id, row.content, rows) for row in rows.in_order(ids)]
    nearby = [_match(new, row.id, row.content, rows) for row in rows.in_order(others)]
    matches = known + [match for match in nearby if match.suggestion != "ADD"]
    matches.sort(key=lambda match: -match.similarity)
    if any(match.suggestion == "DUPLICATE" for match in matches):
        return "DUPLICATE"
    return matches[0].suggestion if matches else "ADD"

"""What matches a query and how well: the rule itself (spec/sources.md §3.6; pure)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

import attrs

from dsh_mnemon_source_documents._text import normalize, required, strip, tokens
from dsh_mnemon_source_documents.contracts import DocumentRecord

BONUS: Final = (12, 7, 4)
"""For the whole query in title, else description, else body."""

POINTS: Final = (4, 2, 1)
"""For each token in title, else description, else body."""


@attrs.frozen(kw_only=True)
class Query:
    """A query prepared for matching.

    Attributes:
        text: Normalized; blank matches everything.
        tokens: Distinct, in order.
        required: How many of them a document must hold.
    """

    text: str
    tokens: tuple[str, ...]
    required: int


def prepare(query: str) -> Query:
    """Return a query as it is matched."""
    text = normalize(strip(query))
    found = tuple(tokens(text))
    return Query(text=text, tokens=found, required=required(len(found)))


def score(query: Query, fields: Sequence[str]) -> int:
    """Return the score of a document, 0 when it does not match.

    Args:
        query: The query.
        fields: Normalized title, description and body.
    """
    if not query.text:
        return 1
    total = _points(query.text, fields, BONUS)
    found = 0
    for token in query.tokens:
        points = _points(token, fields, POINTS)
        found += points > 0
        total += points
    return total if found >= query.required else 0


def _points(text: str, fields: Sequence[str], points: Sequence[int]) -> int:
    return next((gain for field, gain in zip(fields, points, strict=True) if text in field), 0)


@attrs.frozen
class Hit:
    """A matching document: record, score, and its place in the index."""

    record: DocumentRecord
    score: int
    position: int


Row = TypeVar("Row", bound=Hit)


def best(hits: Iterable[Row], limit: int) -> list[Row]:
    """Return the best hits: by score, then the latest updated, then index order."""
    ordered = sorted(hits, key=lambda hit: hit.position)
    ordered.sort(key=lambda hit: (hit.score, hit.record.updated_at), reverse=True)
    return ordered[:limit]

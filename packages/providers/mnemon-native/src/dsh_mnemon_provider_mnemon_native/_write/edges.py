"""Edges the store makes by itself (spec/mnemon-native.md §5). Each function returns how many."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

from dsh_mnemon_provider_mnemon_native._instants import instant, stamp
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction, compact
from dsh_mnemon_provider_mnemon_native._tokens import tokens

__all__ = (
    "causal_edges",
    "causal_signal",
    "causal_sub_type",
    "entity_edges",
    "neighbours_of",
    "semantic_edges",
    "temporal_edges",
    "write_backbone",
)

_NEIGHBOURS: Final = 10
_HOLDERS: Final = 5
_ENTITY_EDGES: Final = 50
_SEMANTIC: Final = 3
SEMANTIC_COSINE: Final = 0.8
_CAUSAL_OVERLAP: Final = 0.15
_DAY: Final = timedelta(hours=24)

_CAUSAL: Final = re.compile(
    r"\b(?:because|therefore|due to|caused by|as a result|decided to|chosen because|so that"
    r"|in order to|leads to|results in)\b|因为|所以|由于|导致|因此|决定|为了|以便",
    re.IGNORECASE | re.ASCII,
)
_PREVENTS: Final = re.compile(
    r"\b(?:despite|prevented|prevents|blocked)\b|阻止|防止", re.IGNORECASE | re.ASCII
)
_ENABLES: Final = re.compile(
    r"\b(?:so that|in order to|enables|leads to)\b|为了|以便", re.IGNORECASE | re.ASCII
)

_PRECEDES: Final = compact({"sub_type": "backbone", "direction": "precedes"})
_SUCCEEDS: Final = compact({"sub_type": "backbone", "direction": "succeeds"})

_content_tokens = lru_cache(maxsize=2_048)(tokens)


def write_backbone(writing: Transaction, old: str, new: str, time: str) -> None:
    """Chain two neighbours in time, in both directions."""
    writing.edge(old, new, "temporal", 1.0, _PRECEDES, time)
    writing.edge(new, old, "temporal", 1.0, _SUCCEEDS, time)


def temporal_edges(writing: Transaction, row: Row, last: str | None, now: datetime) -> int:
    """Join a new insight to its source's ``last`` one and to what was said within a day."""
    time = stamp(now)
    if last is not None:
        write_backbone(writing, last, row.id, time)
    recent = writing.rows.newest(exclude=row.id, limit=_NEIGHBOURS, since=stamp(now - _DAY))
    near = [(id, created) for id, created in recent if id != last]
    for id, created in near:
        hours = abs(now.timestamp() - instant(created)) / 3600
        metadata = compact({"sub_type": "proximity", "hours_diff": f"{hours:.2f}"})
        writing.edge(row.id, id, "temporal", 1 / (1 + hours), metadata, time)
        writing.edge(id, row.id, "temporal", 1 / (1 + hours), metadata, time)
    return 2 * (len(near) + (last is not None))


def entity_edges(writing: Transaction, row: Row, time: str) -> int:
    """Join a new insight to the newest ones that hold the same entities."""
    count = 0
    for entity in row.entities:
        if count >= _ENTITY_EDGES:
            break
        metadata = compact({"entity": entity})
        for other in writing.index.holders(entity, limit=_HOLDERS, exclude=row.id):
            writing.edge(row.id, other, "entity", 1.0, metadata, time)
            writing.edge(other, row.id, "entity", 1.0, metadata, time)
            count += 2
    return count


def causal_signal(text: str) -> str:
    """Return the first causal keyword of a text, or nothing."""
    found = _CAUSAL.search(text)
    return found.group() if found else ""


def causal_sub_type(text: str) -> str:
    """Tell what kind of cause two texts, joined by a blank, speak of."""
    if _PREVENTS.search(text):
        return "prevents"
    return "enables" if _ENABLES.search(text) else "causes"


def causal_edges(
    writing: Transaction, row: Row, newest: Sequence[tuple[str, str]], time: str
) -> int:
    """Join cause and effect among the ``newest`` of the same source: their ids and contents."""
    own, signal, count = tokens(row.content), causal_signal(row.content), 0
    for id, content in newest:
        if not (signal or causal_signal(content)):
            continue
        theirs = _content_tokens(content)
        overlap = len(own & theirs) / max(len(own), len(theirs), 1)
        if overlap < _CAUSAL_OVERLAP:
            continue
        sub_type = causal_sub_type(f"{row.content} {content}")
        metadata = compact({"overlap": f"{overlap:.4f}", "sub_type": sub_type})
        cause, effect = (id, row.id) if signal else (row.id, id)
        writing.edge(cause, effect, "causal", overlap, metadata, time)
        count += 1
    return count


def neighbours_of(writing: Transaction, row: Row) -> Sequence[tuple[str, str]]:
    """Return id and content of the newest others of an insight's source, newest first."""
    return writing.rows.newest_of(row.source, exclude=row.id, limit=_NEIGHBOURS)


def semantic_edges(writing: Transaction, row: Row, vector: Sequence[float], time: str) -> int:
    """Join a new insight to those whose vectors are nearest."""
    near = writing.index.nearest(vector, limit=_SEMANTIC, above=SEMANTIC_COSINE, exclude=row.id)
    for found in near:
        metadata = compact({"created_by": "auto", "cosine": f"{found.score:.4f}"})
        writing.edge(row.id, found.id, "semantic", found.score, metadata, time)
        writing.edge(found.id, row.id, "semantic", found.score, metadata, time)
    return 2 * len(near)

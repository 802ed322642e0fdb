"""Graph: what causes, resembles or supersedes a find comes along; what is superseded steps back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._records import Edge
from dsh_mnemon_provider_mnemon_native._store.rows import EDGE_COLUMNS, edges_of

__all__ = ("SUPERSEDED", "Reached", "links_of", "superseded")

_CAUSE_ASKED: Final = 0.9
"""What a cause or effect is worth when the question asks why: nearly what it is linked to."""
_CAUSE: Final = 0.5
"""… when it does not: background."""
_SEMANTIC: Final = 0.7
"""What somebody, or a vector, has declared alike."""
_SUCCESSOR: Final = 0.9
"""What supersedes a find answers in its place."""
SUPERSEDED: Final = 0.25
"""What is left of a memory that another one supersedes; the command line tool's own factor."""

_MOST_LINKS: Final = 400
"""Links read for one recall; a hub with more is followed along its strongest."""


@attrs.frozen
class Reached:
    """One insight reached from a find: from where, by what kind of edge, what it is worth."""

    id: str
    origin: str
    kind: str
    worth: float


def links_of(ids: Collection[str], store: sqlite3.Connection, *, why: bool) -> list[Reached]:
    """Return what lies at the other end of the finds' edges, the strongest edges first.

    ``why`` when the question asks for a cause. Each kind of edge between two insights counts in
    both directions, but what supersedes is reached from what it supersedes only.
    """
    found = store.execute(
        "WITH found (id) AS (SELECT value FROM json_each(?)) SELECT * FROM ("  # noqa: S608
        f" SELECT {EDGE_COLUMNS} FROM edges"
        "  WHERE source_id IN found AND edge_type IN ('causal', 'semantic')"
        f" UNION SELECT {EDGE_COLUMNS} FROM edges"
        "  WHERE target_id IN found AND edge_type IN ('causal', 'semantic', 'supersedes')"
        ") WHERE source_id <> target_id"
        " ORDER BY coalesce(weight, 1.0) DESC, source_id, target_id",
        (json.dumps(list(ids)),),
    )
    worth = {"causal": _CAUSE_ASKED if why else _CAUSE, "semantic": _SEMANTIC}
    # No LIMIT in SQL: what cannot be read must not take a place.
    return list(_reached(islice(edges_of(found), _MOST_LINKS), frozenset(ids), worth))


def _reached(
    found: Iterable[Edge], wanted: frozenset[str], worth: Mapping[str, float]
) -> Iterable[Reached]:
    for edge in found:
        source, target, kind, weight = edge.source_id, edge.target_id, edge.type, edge.weight
        if kind == "supersedes":
            yield Reached(source, target, kind, _SUCCESSOR)
            continue
        value = worth[kind] * min(max(weight, 0.0), 1.0)
        if source in wanted:
            yield Reached(target, source, kind, value)
        if target in wanted:
            yield Reached(source, target, kind, value)


def superseded(ids: Collection[str], store: sqlite3.Connection) -> frozenset[str]:
    """Return those of the insights that another one supersedes."""
    found = store.execute(
        f"SELECT {EDGE_COLUMNS} FROM edges WHERE edge_type = 'supersedes'"  # noqa: S608
        " AND source_id <> target_id AND target_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(ids)),),
    )
    return frozenset(edge.target_id for edge in edges_of(found))

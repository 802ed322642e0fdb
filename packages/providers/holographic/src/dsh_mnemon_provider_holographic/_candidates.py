"""The facts worth judging: all of a small store, of a large one those an index names (§6.7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from dsh_mnemon_provider_holographic._algebra import entity_key, noise_threshold, similarities
from dsh_mnemon_provider_holographic._facts import Filter, count, facts, some, vectors
from dsh_mnemon_provider_holographic._mapping import Fact
from dsh_mnemon_provider_holographic._terms import match_expression, pairs, significant, terms

__all__ = ("SCORE_ALL", "candidates", "members")

SCORE_ALL: Final = 2_000
"""Up to so many facts each is judged; of more, only those an index names."""


def candidates(
    connection: sqlite3.Connection,
    wanted: Filter,
    *,
    text: str,
    entities: Iterable[int],
    held: Callable[[], Iterable[int]],
    limit: int,
) -> list[Fact]:
    """Return the facts worth judging, newest change first: all of a small store.

    Args:
        connection: Inside a transaction.
        wanted: Which facts count.
        text: What is looked for.
        entities: Numbers of entities to look for.
        held: Returns the facts whose vectors hold them; asked only where not all are judged.
        limit: Most facts from the full-text index, and again from Chinese.
    """
    if count(connection, wanted) <= SCORE_ALL:
        return facts(connection, wanted)
    expression = match_expression(significant(terms(text)))
    numbers = {
        *_matching(connection, wanted, expression, limit),
        *_containing(connection, wanted, pairs(text), limit),
        *_linked(connection, entities),
        *held(),
    }
    return some(connection, numbers, wanted)


def _matching(
    connection: sqlite3.Connection, wanted: Filter, expression: str, limit: int
) -> Iterator[int]:
    if not expression:
        return iter(())
    condition, parameters = wanted.sql()
    rows = connection.execute(
        "SELECT f.fact_id FROM facts_fts JOIN facts f ON f.fact_id = facts_fts.rowid"  # noqa: S608
        f" WHERE facts_fts MATCH ? AND {condition} ORDER BY facts_fts.rank LIMIT ?",
        [expression, *parameters, limit],
    )
    return (row[0] for row in rows)


def _containing(
    connection: sqlite3.Connection, wanted: Filter, parts: Sequence[str], limit: int
) -> Iterator[int]:
    """Yield facts that hold the most of some Chinese pairs, in content or tags."""
    if not parts:
        return iter(())
    condition, parameters = wanted.sql()
    hits = " + ".join(["(instr(f.content, ?) > 0 OR instr(f.tags, ?) > 0)"] * len(parts))
    doubled = [part for part in parts for _ in range(2)]
    rows = connection.execute(
        f"SELECT f.fact_id, {hits} AS hits FROM facts f WHERE hits > 0 AND {condition}"  # noqa: S608
        " ORDER BY hits DESC, f.updated_at DESC LIMIT ?",
        [*doubled, *parameters, limit],
    )
    return (row[0] for row in rows)


def _linked(connection: sqlite3.Connection, entities: Iterable[int]) -> Iterator[int]:
    query = "SELECT fact_id FROM fact_entities WHERE entity_id = ?"
    for entity in entities:
        yield from (row[0] for row in connection.execute(query, (entity,)))


def members(connection: sqlite3.Connection, names: Sequence[str], dim: int) -> dict[int, float]:
    """Return the facts whose vector holds one of the entities, with the best similarity.

    Args:
        connection: Inside a transaction.
        names: Names as stored.
        dim: Dimension of the vectors.
    """
    keys = [entity_key(name, dim) for name in names]
    best: dict[int, float] = {}
    for found, matrix in vectors(connection, dim) if keys else ():
        for key in keys:
            for number, value in zip(found, similarities(matrix, key), strict=True):
                best[number] = max(value, best.get(number, -1.0))
    return {number: value for number, value in best.items() if value > noise_threshold(dim)}

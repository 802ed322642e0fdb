"""Facts related to a fact: by entities they share, by words, by structure (§6.7)."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

import attrs

from dsh_mnemon_provider_holographic._banks import file_dim
from dsh_mnemon_provider_holographic._candidates import candidates, members
from dsh_mnemon_provider_holographic._facts import Filter, some
from dsh_mnemon_provider_holographic._mapping import Fact
from dsh_mnemon_provider_holographic._retrieval import jaccard, scaled, trusted
from dsh_mnemon_provider_holographic._terms import significant, terms

__all__ = ("Relation", "related")

_MOST: Final = 20
_MAX_DEPTH: Final = 3
_PER_HOP: Final = 0.7
_CANDIDATES: Final = 200
_RESEMBLANCE: Final = 0.1
"""Texts with less in common are not related by their words."""


@attrs.frozen(kw_only=True)
class Relation:
    """A related fact: how far away, and by which edge, ``entity`` or ``semantic``."""

    fact: Fact
    score: float
    depth: int
    edge: str


def related(
    connection: sqlite3.Connection,
    number: int,
    *,
    depth: int,
    edge: str | None,
    wanted: Filter,
    wanted_dim: int,
) -> list[Relation]:
    """Return at most 20 facts around one, nearest first, then by score.

    Args:
        connection: Inside a transaction.
        number: Where to begin.
        depth: How many steps over shared entities; more than 3 are 3.
        edge: ``entity``, ``semantic``, or ``None`` for both; others relate nothing.
        wanted: Which facts count.
        wanted_dim: Dimension of vectors while the file has none.
    """
    seeds = some(connection, [number])
    if not seeds or edge not in (None, "entity", "semantic"):
        return []
    dim = file_dim(connection, wanted_dim)
    found = _nearest(connection, seeds[0], edge, wanted, dim)
    visited = _entities_of(connection, [number])
    for hop in range(2, min(depth, _MAX_DEPTH) + 1):
        frontier = [it.fact.number for it in found if it.edge == "entity" and it.depth == hop - 1]
        names = _entities_of(connection, frontier) - visited
        visited |= names
        known = {number, *(it.fact.number for it in found)}
        found += _sharing(connection, names, known, wanted, hop)
    found.sort(key=lambda it: (it.depth, -it.score, -it.fact.number))
    return found[:_MOST]


def _nearest(
    connection: sqlite3.Connection, seed: Fact, edge: str | None, wanted: Filter, dim: int
) -> list[Relation]:
    linked = [number for number, _ in _entities_of(connection, [seed.number])]
    own = significant(terms(seed.content))
    structure = members(connection, seed.entities, dim) if edge != "entity" else {}
    around = candidates(
        connection,
        wanted,
        text=seed.content,
        entities=linked,
        held=lambda: structure,
        limit=_CANDIDATES,
    )
    shared = _shared(connection, linked)
    relations: list[Relation] = []
    for fact in around:
        scores = {
            "entity": _by_entities(shared.get(fact.number, 0)),
            "semantic": max(_by_words(own, fact), scaled(structure.get(fact.number, 0.0))),
        }
        best = edge or max(scores, key=lambda name: scores[name])
        if fact.number != seed.number and scores[best] > 0:
            score = trusted(scores[best], fact)
            relations.append(Relation(fact=fact, score=score, depth=1, edge=best))
    return relations


def _by_entities(shared: int) -> float:
    return min(1.0, 0.5 + 0.2 * shared) if shared else 0.0


def _by_words(own: frozenset[str], fact: Fact) -> float:
    value = jaccard(own, significant(terms(fact.content)))
    return value if value >= _RESEMBLANCE else 0.0


def _sharing(
    connection: sqlite3.Connection,
    entities: Iterable[tuple[int, str]],
    known: Iterable[int],
    wanted: Filter,
    depth: int,
) -> list[Relation]:
    shared = _shared(connection, [number for number, _ in entities])
    found = some(connection, shared.keys() - set(known), wanted)
    return [
        Relation(
            fact=fact,
            score=trusted(_by_entities(shared[fact.number]), fact) * _PER_HOP ** (depth - 1),
            depth=depth,
            edge="entity",
        )
        for fact in found
    ]


def _shared(connection: sqlite3.Connection, entities: Iterable[int]) -> Mapping[int, int]:
    """Return how many of some entities each fact is linked to."""
    numbers: dict[int, int] = {}
    for entity in entities:
        query = "SELECT fact_id FROM fact_entities WHERE entity_id = ?"
        for (number,) in connection.execute(query, (entity,)):
            numbers[number] = numbers.get(number, 0) + 1
    return numbers


def _entities_of(connection: sqlite3.Connection, facts: Iterable[int]) -> set[tuple[int, str]]:
    query = (
        "SELECT e.entity_id, e.name FROM fact_entities l JOIN entities e USING (entity_id)"
        " WHERE l.fact_id = ?"
    )
    return {
        (number, str(name)) for fact in facts for number, name in connection.execute(query, (fact,))
    }

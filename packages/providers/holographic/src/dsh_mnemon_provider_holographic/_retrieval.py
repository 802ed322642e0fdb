"""Finding facts for a query (providers specification §6.7).

Every fact is judged on its own: scores do not depend on what else was found. The one exception
only lowers: a fact that shares an entity with the query and says nothing of its topic ranks below
every fact that does (D63).
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import attrs

from dsh_mnemon_provider_holographic._algebra import (
    content_key,
    similarities,
)
from dsh_mnemon_provider_holographic._banks import file_dim
from dsh_mnemon_provider_holographic._candidates import candidates, members
from dsh_mnemon_provider_holographic._facts import Filter, vectors
from dsh_mnemon_provider_holographic._mapping import Fact, moment_of, source_of
from dsh_mnemon_provider_holographic._terms import (
    STOP_WORDS,
    fold,
    significant,
    terms,
)

__all__ = (
    "Ask",
    "Ranked",
    "fact_terms",
    "jaccard",
    "scaled",
    "search",
    "trusted",
)

_CANDIDATES_PER_RESULT: Final = 5
_FULL_SIMILARITY: Final = 0.5
_BELOW_TOPIC: Final = 0.999
_DAY: Final = 86_400.0


@attrs.frozen(kw_only=True)
class Ask:
    """One query.

    Attributes:
        limit: How many results will be used; only decides how many candidates are looked at.
        half_life_days: Age at which a score is halved; 0 for never.
    """

    query: str
    limit: int = 10
    wanted: Filter = attrs.field(factory=Filter)
    source: str | None = None
    half_life_days: float = 0.0
    now: datetime


@attrs.frozen(kw_only=True)
class Ranked:
    """A fact that was found; ``via`` names the signal that counted most."""

    fact: Fact
    score: float
    via: str


@attrs.frozen(kw_only=True)
class _Query:
    """A query taken apart.

    Attributes:
        terms: All its terms that say something.
        topic: Those that are not part of an entity's name.
        entities: The entities it names, by number and name.
        touched: Numbers of entities whose names share a term with it.
    """

    text: str
    terms: frozenset[str]
    topic: frozenset[str]
    entities: tuple[tuple[int, str], ...]
    touched: frozenset[int]


@attrs.frozen(kw_only=True)
class _Judged:
    ranked: Ranked
    topical: bool
    entity_only: bool


def search(connection: sqlite3.Connection, ask: Ask, wanted_dim: int) -> list[Ranked]:
    """Return the facts that answer a query, best first; ties by the newer change.

    Args:
        connection: Inside a transaction.
        ask: The query.
        wanted_dim: Dimension of vectors while the file has none.
    """
    query = _take_apart(connection, ask.query)
    if not query.terms:
        return []
    dim = file_dim(connection, wanted_dim)
    names = [name for _, name in query.entities]
    found = candidates(
        connection,
        ask.wanted,
        text=ask.query,
        entities=query.touched,
        held=lambda: members(connection, names, dim),
        limit=_CANDIDATES_PER_RESULT * ask.limit,
    )
    if ask.source is not None:
        found = [fact for fact in found if source_of(fact) == ask.source]
    touching = [fact.number for fact in found if query.terms & fact_terms(fact)]
    structure = _structure(connection, touching, ask.query, dim)
    judge = partial(_judge, query=query, ask=ask, structure=structure)
    judged = [it for it in map(judge, found) if it.ranked.score > 0]
    return _in_order(judged)


def _in_order(judged: Sequence[_Judged]) -> list[Ranked]:
    topical = [it.ranked.score for it in judged if it.topical]
    ceiling = min(topical) * _BELOW_TOPIC if topical else 1.0
    ranked = [
        attrs.evolve(it.ranked, score=min(it.ranked.score, ceiling if it.entity_only else 1.0))
        for it in judged
    ]
    ranked.sort(key=lambda it: (it.score, it.fact.updated_at, it.fact.number), reverse=True)
    return ranked


# -- the query ------------------------------------------------------------------------------------


def _take_apart(connection: sqlite3.Connection, text: str) -> _Query:
    folded, found = fold(text), significant(terms(text))
    named: list[tuple[int, str]] = []
    touched: set[int] = set()
    # The longest name first, so that a name inside a longer one does not count besides it.
    for name, number, stored in sorted(_names(connection), key=lambda it: (-len(it[0]), it[1])):
        if found & terms(name):
            touched.add(number)
        rest = _without(folded, name)
        if rest != folded:
            folded = rest
            touched.add(number)
            if number not in (known for known, _ in named):
                named.append((number, stored))
    return _Query(
        text=fold(text).strip(),
        terms=found,
        topic=(terms(folded) - STOP_WORDS) & found,
        entities=tuple(named),
        touched=frozenset(touched),
    )


def _names(connection: sqlite3.Connection) -> Iterator[tuple[str, int, str]]:
    """Yield every name and alias of an entity that some fact is linked to, folded."""
    rows = connection.execute(
        "SELECT entity_id, name, aliases FROM entities"
        " WHERE entity_id IN (SELECT entity_id FROM fact_entities)"
    )
    for number, stored, aliases in rows:
        for name in (str(stored), *str(aliases or "").split(",")):
            folded = fold(name).strip()
            if len(folded) >= 2 and folded not in STOP_WORDS:
                yield folded, number, str(stored)


def _without(text: str, name: str) -> str:
    """Blank out a name where it stands as words of its own; Chinese needs no spaces around."""
    if name not in text:
        return text
    before = r"(?<![a-z0-9_])" if name[0].isascii() and name[0].isalnum() else ""
    after = r"(?![a-z0-9_])" if name[-1].isascii() and name[-1].isalnum() else ""
    return re.sub(f"{before}{re.escape(name)}{after}", "\n", text)


# -- judgement ------------------------------------------------------------------------------------


def _structure(
    connection: sqlite3.Connection, numbers: Sequence[int], text: str, dim: int
) -> dict[int, float]:
    """Return how much of a text the vectors of some facts hold as content, 0..1."""
    key = content_key(text, dim)
    values: dict[int, float] = {}
    for found, matrix in vectors(connection, dim, numbers):
        scores = map(scaled, similarities(matrix, key))
        values.update(zip(found, scores, strict=True))
    return values


def fact_terms(fact: Fact) -> frozenset[str]:
    """Return the terms of a fact: of its content, tags and entities."""
    return terms("\n".join((fact.content, *fact.tags, *fact.entities)))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of common members among all members; 0 when there are none."""
    return len(a & b) / len(a | b) if a or b else 0.0


def scaled(similarity: float) -> float:
    """Return a similarity of vectors as 0..1; what one present part reaches counts as full."""
    return min(1.0, max(0.0, similarity) / _FULL_SIMILARITY)


def trusted(relevance: float, fact: Fact) -> float:
    """Return a score: relevance, damped by the trust in the fact."""
    return relevance * (0.5 + 0.5 * fact.trust)


def _judge(fact: Fact, *, query: _Query, ask: Ask, structure: dict[int, float]) -> _Judged:
    held = fact_terms(fact)
    coverage = len(query.terms & held) / len(query.terms)
    about = len(query.topic & held)
    topical = about > 0 and 2 * about >= len(query.topic)
    share = _share(query, fact)
    signals = {
        "phrase": 0.9 if query.text in fold(fact.content) else 0.0,
        "terms": max(
            jaccard(query.terms, held),
            0.75 * coverage,
            0.75 * about / len(query.topic) if topical else 0.0,
        ),
        "entity": 0.6 * share,
        "structure": 0.5 * structure.get(fact.number, 0.0) if coverage else 0.0,
    }
    via = max(signals, key=lambda name: signals[name])
    relevance = min(1.0, signals[via] + 0.25 * coverage)
    score = trusted(relevance, fact) * _freshness(fact, ask)
    entity_only = share > 0 and bool(query.topic) and not about and via != "phrase"
    return _Judged(
        ranked=Ranked(fact=fact, score=score, via=via), topical=topical, entity_only=entity_only
    )


def _share(query: _Query, fact: Fact) -> float:
    if not query.entities:
        return 0.0
    names = {name.lower() for name in fact.entities}
    return sum(name.lower() in names for _, name in query.entities) / len(query.entities)


def _freshness(fact: Fact, ask: Ask) -> float:
    changed = moment_of(fact.updated_at or fact.created_at)
    if ask.half_life_days <= 0 or changed is None:
        return 1.0
    age = max(0.0, (ask.now - changed).total_seconds() / _DAY)
    return math.pow(0.5, age / ask.half_life_days)

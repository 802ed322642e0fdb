"""What the Hermes plugin answers over the same file (providers specification §6.6).

For comparison and for tests against its recordings; this Provider ranks in a way of its own
(§6.7). Scores are Hermes's: relevance times trust.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, Final

import attrs

from dsh_mnemon_provider_holographic._algebra import (
    Vector,
    atom,
    content_key,
    decode,
    entity_key,
    similarity,
    text_vector,
    unbind,
)
from dsh_mnemon_provider_holographic._mapping import moment_of
from dsh_mnemon_provider_holographic._terms import STOP_WORDS

__all__ = ("Contradiction", "HermesView", "Scored", "match_expression")

_STRIPPED: Final = ".,;:!?\"'()[]{}#@<>"
_OPERATORS: Final = str.maketrans("", "", '"()*^:-+')
_COLUMNS: Final = "f.fact_id, f.content, f.tags, f.trust_score, f.updated_at, f.hrr_vector"
_MOST_COMPARED: Final = 500


@attrs.frozen
class Scored:
    """A fact's number, its score and its trust."""

    fact_id: int
    score: float
    trust: float


@attrs.frozen(kw_only=True)
class Contradiction:
    """Two facts on the same entities that say different things; figures as Hermes rounds them."""

    a: int
    b: int
    entity_overlap: float
    content_similarity: float
    contradiction_score: float
    shared_entities: tuple[str, ...]


def match_expression(query: str) -> str:
    """Return the full-text expression Hermes makes of a query."""
    words = (word.strip(_STRIPPED).translate(_OPERATORS) for word in query.lower().split())
    kept = [f'"{word}"' for word in words if len(word) >= 2 and word not in STOP_WORDS]
    return " OR ".join(kept) if kept else query


@attrs.frozen(kw_only=True)
class HermesView:
    """Hermes's retrieval over an open database.

    Attributes:
        connection: Any connection to the file.
        dim: ``hrr_dim`` of the plugin's settings.
        half_life_days: ``temporal_decay_half_life``.
        now: Needed with a half-life only.
    """

    connection: sqlite3.Connection
    dim: int
    half_life_days: float = 0.0
    now: datetime | None = None

    def search(
        self, query: str, category: str | None = None, min_trust: float = 0.3, limit: int = 10
    ) -> list[Scored]:
        """Find by full text, rank by words and vectors."""
        rows = self._matches(query, category, min_trust, 3 * limit)
        best = max((abs(row[-1]) for row in rows), default=0.0)
        wanted, vector = _words(query), text_vector(query, self.dim)
        scored: list[Scored] = []
        for number, content, tags, trust, updated, blob, rank in rows:
            held = _words(content) | _words(tags or "")
            overlap = len(wanted & held) / len(wanted | held) if wanted and held else 0.0
            stored = decode(blob, self.dim)
            structure = 0.5 if stored is None else (similarity(vector, stored) + 1) / 2
            relevance = 0.4 * abs(rank) / max(best, 1e-6) + 0.3 * overlap + 0.3 * structure
            scored.append(Scored(number, relevance * trust * self._decay(updated), trust))
        return _best(scored, limit)

    def probe(self, entity: str, category: str | None = None, limit: int = 10) -> list[Scored]:
        """Rank facts by what an entity brings out of them, or out of a category's bank."""
        key = entity_key(entity, self.dim)
        bank = self._bank(category) if category else None
        if bank is not None:
            target = unbind(bank, key)
            return self._rank(category, limit, lambda vector, _: similarity(target, vector))
        return self._rank(
            category,
            limit,
            lambda vector, content: similarity(unbind(vector, key), content_key(content, self.dim)),
        )

    def related(self, entity: str, category: str | None = None, limit: int = 10) -> list[Scored]:
        """Rank facts by an entity in either role."""
        word = atom(entity.lower(), self.dim)
        roles = [atom(f"__hrr_role_{role}__", self.dim) for role in ("entity", "content")]
        return self._rank(
            category,
            limit,
            lambda vector, _: max(similarity(unbind(vector, word), role) for role in roles),
        )

    def reason(
        self, entities: Sequence[str], category: str | None = None, limit: int = 10
    ) -> list[Scored]:
        """Rank facts by the entity of several that they hold least."""
        keys = [entity_key(entity, self.dim) for entity in entities]
        role = atom("__hrr_role_content__", self.dim)
        return self._rank(
            category,
            limit,
            lambda vector, _: min(similarity(unbind(vector, key), role) for key in keys),
        )

    def contradict(
        self, category: str | None = None, threshold: float = 0.3, limit: int = 10
    ) -> list[Contradiction]:
        """Find pairs that share entities and differ in their vectors."""
        rows = self._rows(category)
        if len(rows) > _MOST_COMPARED:
            rows = sorted(rows, key=lambda row: row[4] or "", reverse=True)[:_MOST_COMPARED]
        names = [self._entities(row[0]) for row in rows]
        found: list[Contradiction] = []
        for i, first in enumerate(rows):
            for j in range(i + 1, len(rows)):
                pair = self._compare(first, names[i], rows[j], names[j])
                if pair is not None and pair[0] >= threshold:
                    found.append(pair[1])
        found.sort(key=lambda it: it.contradiction_score, reverse=True)
        return found[:limit]

    def listing(
        self, category: str | None = None, min_trust: float = 0.0, limit: int = 50
    ) -> list[tuple[int, float]]:
        """Return numbers and trust of facts, most trusted first."""
        condition, parameters = _of(category)
        query = f"SELECT f.fact_id, f.trust_score FROM facts f WHERE f.trust_score >= ?{condition}"  # noqa: S608
        order = " ORDER BY f.trust_score DESC LIMIT ?"
        rows = self.connection.execute(query + order, [min_trust, *parameters, limit])
        return [(row[0], row[1]) for row in rows]

    # -- parts ------------------------------------------------------------------------------------

    def _matches(
        self, query: str, category: str | None, min_trust: float, limit: int
    ) -> Sequence[Any]:
        condition, parameters = _of(category)
        statement = (
            f"SELECT {_COLUMNS}, facts_fts.rank FROM facts_fts"  # noqa: S608
            " JOIN facts f ON f.fact_id = facts_fts.rowid"
            f" WHERE facts_fts MATCH ?{condition} AND f.trust_score >= ?"
            " ORDER BY facts_fts.rank LIMIT ?"
        )
        values = [match_expression(query), *parameters, min_trust, limit]
        try:
            return self.connection.execute(statement, values).fetchall()
        except sqlite3.OperationalError:
            # A query of nothing but function words goes in raw and may be no expression.
            return []

    def _rows(self, category: str | None) -> Sequence[Any]:
        condition, parameters = _of(category)
        query = f"SELECT {_COLUMNS} FROM facts f WHERE f.hrr_vector IS NOT NULL{condition}"  # noqa: S608
        return self.connection.execute(query, parameters).fetchall()

    def _rank(
        self, category: str | None, limit: int, measure: Callable[[Vector, str], float]
    ) -> list[Scored]:
        scored: list[Scored] = []
        for number, content, _, trust, _, blob in self._rows(category):
            vector = decode(blob, self.dim)
            if vector is not None and len(vector) == self.dim:
                scored.append(Scored(number, (measure(vector, content) + 1) / 2 * trust, trust))
        return _best(scored, limit)

    def _bank(self, category: str) -> Vector | None:
        query = "SELECT vector FROM memory_banks WHERE bank_name = ?"
        row = self.connection.execute(query, (f"cat:{category}",)).fetchone()
        return None if row is None else decode(row[0], self.dim)

    def _entities(self, number: int) -> frozenset[str]:
        query = (
            "SELECT e.name FROM entities e JOIN fact_entities l USING (entity_id)"
            " WHERE l.fact_id = ?"
        )
        return frozenset(row[0].lower() for row in self.connection.execute(query, (number,)))

    def _compare(
        self, first: Any, names: frozenset[str], second: Any, others: frozenset[str]
    ) -> tuple[float, Contradiction] | None:
        overlap = len(names & others) / len(names | others) if names and others else 0.0
        one, other = decode(first[5], self.dim), decode(second[5], self.dim)
        if overlap < 0.3 or one is None or other is None or len(one) != len(other):
            return None
        alike = similarity(one, other)
        score = overlap * (1.0 - (alike + 1.0) / 2.0)
        return score, Contradiction(
            a=first[0],
            b=second[0],
            entity_overlap=round(overlap, 3),
            content_similarity=round(alike, 3),
            contradiction_score=round(score, 3),
            shared_entities=tuple(sorted(names & others)),
        )

    def _decay(self, updated: str | None) -> float:
        changed = moment_of(updated or "")
        if self.half_life_days <= 0 or self.now is None or changed is None:
            return 1.0
        age = max(0.0, (self.now - changed).total_seconds() / 86_400)
        return math.pow(0.5, age / self.half_life_days)


def _words(text: str) -> set[str]:
    return {word for word in (raw.strip(_STRIPPED) for raw in text.lower().split()) if word}


def _of(category: str | None) -> tuple[str, list[Any]]:
    return (" AND f.category = ?", [category]) if category else ("", [])


def _best(scored: Iterable[Scored], limit: int) -> list[Scored]:
    return sorted(scored, key=lambda it: it.score, reverse=True)[:limit]

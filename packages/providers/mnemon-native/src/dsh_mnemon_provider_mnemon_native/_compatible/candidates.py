"""What ranking needs to know of an insight, kept between recalls in little room."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._instants import instant
from dsh_mnemon_provider_mnemon_native._ranking import EVERYTHING, Scope
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.rows import Rows
from dsh_mnemon_provider_mnemon_native._tokens import field_tokens
from dsh_mnemon_provider_mnemon_native._vectors import cosine

__all__ = ("Candidates", "Fact")

_KEPT: Final = 20_000


@attrs.frozen
class Fact:
    """One active insight as ranking sees it; words are shared between facts."""

    tokens: Sequence[str]
    names: Sequence[str]
    importance: int
    created: float
    category: str
    source: str


def _fact(row: Row) -> Fact:
    return Fact(
        tuple(map(sys.intern, field_tokens(row.content, row.tags, row.entities))),
        tuple({sys.intern(entity.lower()) for entity in row.entities}),
        row.importance,
        instant(row.created_at),
        sys.intern(row.category),
        sys.intern(row.source),
    )


class Candidates:
    """Reads facts on demand and keeps them until a commit touches their insight."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._rows = Rows(connection)
        self._facts: dict[str, Fact | None] = {}
        self._version = -1

    def refresh(self) -> None:
        """Forget what was read when another process has committed, or when it is too much."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version or len(self._facts) > _KEPT:
            self._version = version
            self._facts.clear()

    def touched(self, ids: Collection[str]) -> None:
        """Forget some insights."""
        for id in ids:
            self._facts.pop(id, None)

    def many(self, ids: Iterable[str]) -> dict[str, Fact]:
        """Return the facts of the active ones among ``ids``."""
        wanted = list(ids)
        missing = [id for id in wanted if id not in self._facts]
        read = self._rows.many(missing)
        self._facts.update((id, _fact(read[id]) if id in read else None) for id in missing)
        return {id: fact for id in wanted if (fact := self._facts[id]) is not None}

    def inside(self, scope: Scope) -> Callable[[str], bool] | None:
        """Return what tells whether an insight may be met on the way; none where all may."""
        if scope == EVERYTHING:
            return None

        def admits(id: str) -> bool:
            fact = self.many((id,)).get(id)
            return (
                fact is not None
                and scope.category in {None, fact.category}
                and scope.source in {None, fact.source}
            )

        return admits

    def have_vectors(self) -> bool:
        """Whether any active insight has a vector."""
        return next(self._rows.vectors(), None) is not None

    def similarity_to(self, vector: Sequence[float] | None) -> Callable[[str], float]:
        """Return what gives the cosine of an insight with ``vector``, 0 where it is negative."""
        if not vector:
            return lambda id: 0.0
        known: dict[str, float] = {}

        def similarity(id: str) -> float:
            if id not in known:
                stored = self._rows.vector(id)
                known[id] = max(0.0, cosine(vector, stored)) if stored is not None else 0.0
            return known[id]

        return similarity

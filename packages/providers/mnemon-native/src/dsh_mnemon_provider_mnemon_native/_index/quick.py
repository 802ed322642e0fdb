"""The quick `Index`: exact answers out of ``index.db``."""

from __future__ import annotations

import heapq
import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from dsh_mnemon_provider_mnemon_native._index.keeping import content_key
from dsh_mnemon_provider_mnemon_native._index.live import Live
from dsh_mnemon_provider_mnemon_native._index.signature import nearest
from dsh_mnemon_provider_mnemon_native._index.tally import bits_of, docs_of
from dsh_mnemon_provider_mnemon_native._ranking import EVERYTHING, Scope, Scored
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._vectors import cosine, unpack

__all__ = ("Fact", "QuickIndex")

_SHORTLIST: Final = 512
"""Vectors measured exactly: ten times what any caller asks for, and some ms of work."""


@attrs.frozen
class Fact:
    """What the order of results is made of; ``created`` in seconds since 1970."""

    doc: int
    id: str
    importance: int
    created: float


class QuickIndex:
    """Answers from the index; `live` is for the ranking that reads it directly."""

    def __init__(self, store: sqlite3.Connection, folder: Path, read_only: bool = False) -> None:
        self._store = store
        self.live = Live(store, folder, read_only=read_only)

    def refresh(self) -> None:
        """Catch up with commits of other processes."""
        self.live.refresh()

    def changed(self, row: Row) -> None:
        """Index a row of the open transaction."""
        self.live.note(lambda: self.live.add(row), last=row.rowid)

    def removed(self, id: str) -> None:
        """Drop a row that was forgotten in the open transaction."""
        # A row that cannot be read is known by its number alone.
        query = "SELECT rowid FROM insights WHERE id = ?"
        docs = [doc for (doc,) in self._store.execute(query, (id,))]

        def drop() -> None:
            for doc in docs:
                self.live.drop(doc)

        self.live.note(drop, deleted=1)

    def embedded(self, id: str, vector: Sequence[float]) -> None:
        """Note the vector an insight got in the open transaction."""

        def sign() -> None:
            doc = self._doc(id)
            if doc is not None:
                self.live.sign(doc, vector)

        self.live.note(sign)

    def committed(self) -> None:
        """Keep what was noted."""
        self.live.committed()

    def rolled_back(self) -> None:
        """Drop what was noted."""
        self.live.rolled_back()

    def among(self, ids: Iterable[str]) -> frozenset[str]:
        """Return those of ``ids`` that are indexed."""
        listed = json.dumps(list(ids))
        return frozenset(
            self._column("SELECT id FROM docs WHERE id IN (SELECT value FROM json_each(?))", listed)
        )

    def census(self) -> Mapping[str, int]:
        """Count by category."""
        return dict(
            self._rows("SELECT category, count(*) FROM docs GROUP BY category ORDER BY category")
        )

    def unreadable(self) -> int:
        """Count what was left out."""
        (count,) = self._column("SELECT count(*) FROM left_out")
        return int(count)

    def names(self, limit: int) -> Sequence[tuple[str, int]]:
        """Return the entities that most insights hold."""
        query = "SELECT name, count(*) AS n FROM names GROUP BY name ORDER BY n DESC, name LIMIT ?"
        return self._rows(query, limit)

    def close(self) -> None:
        """Close the file."""
        self.live.close()

    def same_content(self, content: str) -> str | None:
        """Return the newest id with exactly this content."""
        ids = self._column(
            "SELECT id FROM docs WHERE content = ? ORDER BY created DESC, doc DESC",
            content_key(content),
        )
        query = "SELECT 1 FROM insights WHERE id = ? AND content = ?"
        same = (id for id in ids if self._store.execute(query, (id, content)).fetchone())
        return next(same, None)

    def known(self, words: Collection[str]) -> frozenset[str]:
        """Return those of ``words`` that are an entity."""
        return frozenset(
            self._column(
                "SELECT DISTINCT name FROM names WHERE name IN (SELECT value FROM json_each(?))",
                json.dumps(list(words)),
            )
        )

    def holders(self, entity: str, *, limit: int, exclude: str) -> Sequence[str]:
        """Return the newest ids that hold the entity."""
        found = self._column(
            "SELECT (SELECT id FROM docs WHERE doc = names.doc) FROM names WHERE name = ?"
            " ORDER BY created DESC, doc DESC LIMIT ?",
            entity,
            limit + 1,
        )
        return [id for id in found if id != exclude][:limit]

    def keyword(
        self, tokens: frozenset[str], *, limit: int, scope: Scope = EVERYTHING
    ) -> Sequence[Scored]:
        """Rank by the share of the query's tokens."""
        return self.live.attempt(lambda: self._keyword(tokens, limit, scope))

    def _keyword(self, tokens: frozenset[str], limit: int, scope: Scope) -> Sequence[Scored]:
        tally, inside = self.live.tally, self.inside(scope)
        among = tally.alive if inside is None else bits_of([*inside])
        best: dict[int, int] = {}
        for count, docs in tally.counts(tokens, "words", "marks").descending(among):
            best.update(dict.fromkeys(docs_of(docs), count))
            if len(best) >= limit:
                break
        return self._in_keyword_order(best, len(tokens), limit, EVERYTHING)

    def naming(
        self, entities: frozenset[str], *, limit: int, scope: Scope = EVERYTHING
    ) -> Sequence[Scored]:
        """Rank by the share of the query's entities."""
        found = self._column(
            "SELECT json_object('doc', doc, 'n', count(DISTINCT lower)) FROM names"
            " WHERE lower IN (SELECT value FROM json_each(?)) GROUP BY doc",
            json.dumps(list(entities)),
        )
        counts = {row["doc"]: row["n"] for row in map(json.loads, found)}
        return self._in_keyword_order(counts, len(entities), limit, scope)

    def overlapping(
        self, content_tokens: frozenset[str], *, limit: int, floor: float, exclude: str
    ) -> Sequence[Scored]:
        """Rank others by the larger share of common content tokens."""
        best = self.live.attempt(lambda: self._overlapping(content_tokens, limit, floor, exclude))
        facts = self.facts(best)
        facts.sort(key=lambda fact: (-best[fact.doc], -fact.created, -fact.doc))
        return [Scored(fact.id, best[fact.doc]) for fact in facts[:limit]]

    def _overlapping(
        self, content_tokens: frozenset[str], limit: int, floor: float, exclude: str
    ) -> dict[int, float]:
        """Return the best shares by document, with all that equal the last of them."""
        tally, own = self.live.tally, len(content_tokens)
        among = tally.alive & ~(1 << (self._doc(exclude) or 0))
        counted = [*tally.counts(content_tokens, "words").descending(among)]
        sizes = [(size, docs) for size, docs in tally.by_size(own) if size and docs]
        # The smaller of both sets is the divisor.
        shares: dict[float, list[int]] = {}
        for count, held in counted:
            for size, docs in sizes:
                if size >= count and count / size >= floor and (both := held & docs):
                    shares.setdefault(count / size, []).append(both)
        best: dict[int, float] = {}
        for share in sorted(shares, reverse=True):
            for docs in shares[share]:
                best.update(dict.fromkeys(docs_of(docs), share))
            if len(best) >= limit:
                break
        return best

    def newest(self, *, limit: int, scope: Scope = EVERYTHING) -> Sequence[str]:
        """Return the newest ids."""
        where, values = _condition(scope)
        return self._column(
            f"SELECT id FROM docs {where} ORDER BY created DESC, id LIMIT ?",  # noqa: S608 - constant
            *values,
            limit,
        )

    def nearest(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        above: float,
        scope: Scope = EVERYTHING,
        exclude: str = "",
    ) -> Sequence[Scored]:
        """Rank by cosine; of many vectors only those whose signs agree best are measured."""
        signatures = self.live.attempt(lambda: self.live.signatures)
        inside = self.inside(scope)
        if inside is not None:
            signatures = {doc: bits for doc, bits in signatures.items() if doc in inside}
        docs = nearest(vector, signatures, limit=_SHORTLIST)
        cosines = {
            doc: value for doc, value in self.cosines(vector, docs).items() if value >= above
        }
        scored = (Scored(fact.id, cosines[fact.doc]) for fact in self.facts(cosines))
        found = (one for one in scored if one.id != exclude)
        return heapq.nsmallest(limit, found, key=lambda one: (-one.score, one.id))

    def cosines(self, vector: Sequence[float], docs: Collection[int]) -> dict[int, float]:
        """Measure the vectors of documents, read from the store."""
        found = self._store.execute(
            "SELECT rowid, embedding FROM insights WHERE rowid IN (SELECT value FROM json_each(?))",
            (json.dumps(list(docs)),),
        )
        read = ((doc, unpack(blob)) for doc, blob in found)
        return {doc: cosine(vector, other) for doc, other in read if other is not None}

    def inside(self, scope: Scope) -> frozenset[int] | None:
        """Return the documents a filter admits; none for the filter that admits all."""
        if scope == EVERYTHING:
            return None
        where, values = _condition(scope)
        query = f"SELECT json_group_array(doc) FROM docs {where}"  # noqa: S608 - constant
        (line,) = self._column(query, *values)
        return frozenset(json.loads(line))

    def _column(self, query: str, *parameters: Any) -> list[Any]:
        return [value for (value,) in self._rows(query, *parameters)]

    def _rows(self, query: str, *parameters: Any) -> list[Any]:
        return self.live.attempt(lambda: self.live.connection.execute(query, parameters).fetchall())

    def _doc(self, id: str) -> int | None:
        found = self._column("SELECT doc FROM docs WHERE id = ?", id)
        return found[0] if found else None

    def facts(self, docs: Collection[int]) -> list[Fact]:
        """Return what is known of documents, in no order."""
        return self._facts("WHERE doc IN (SELECT value FROM json_each(?))", json.dumps(list(docs)))

    def placed(self, ids: Collection[str], scope: Scope) -> list[Fact]:
        """Return what is known of those of the insights a filter admits, in no order."""
        where, values = _condition(scope)
        where = f"{where} AND" if where else "WHERE"
        listed = json.dumps(list(ids))
        condition = f"{where} id IN (SELECT value FROM json_each(?))"  # noqa: S608 - constant parts
        return self._facts(condition, *values, listed)

    def _facts(self, where: str, *parameters: Any) -> list[Fact]:
        query = f"SELECT doc, id, importance, created FROM docs {where}"  # noqa: S608 - constant
        return self.live.attempt(
            lambda: [Fact(*row) for row in self.live.connection.execute(query, parameters)]
        )

    def newest_time(self) -> float:
        """Return when the newest insight was, in seconds since 1970."""
        found = self._column("SELECT created FROM docs ORDER BY created DESC LIMIT 1")
        return found[0] if found else 0.0

    def _in_keyword_order(
        self, counts: Mapping[int, int], of: int, limit: int, scope: Scope
    ) -> list[Scored]:
        inside = self.inside(scope)
        if inside is not None:
            counts = {doc: count for doc, count in counts.items() if doc in inside}
        best = _with_ties(counts, limit)
        facts = self.facts(best)
        facts.sort(key=lambda one: (-best[one.doc], -one.importance, -one.created, one.id))
        return [Scored(fact.id, best[fact.doc] / of) for fact in facts[:limit]]


def _with_ties(values: Mapping[int, float], limit: int) -> dict[int, float]:
    """Return the ``limit`` largest values and whatever equals the last of them."""
    if len(values) <= limit:
        return dict(values)
    least = heapq.nlargest(limit, values.values())[-1]
    return {key: value for key, value in values.items() if value >= least}


def _condition(scope: Scope) -> tuple[str, tuple[str, ...]]:
    asked = {"category": scope.category, "source": scope.source}
    given = {name: value for name, value in asked.items() if value is not None}
    where = " AND ".join(f"{name} = ?" for name in given)
    return (f"WHERE {where}" if given else "", tuple(given.values()))

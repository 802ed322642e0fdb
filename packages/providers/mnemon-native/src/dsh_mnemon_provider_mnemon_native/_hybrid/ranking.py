"""`HybridRanking`: the signals fused into one relevance.

Words and vectors say what a memory covers of the question; a fixed curve makes relevance of that;
entities, importance and recency shift it a little; the graph brings in what finds are linked to and
moves what is outdated back. Nothing depends on what else was found, but for the links.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from typing import Final

import attrs

from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_of
from dsh_mnemon_provider_mnemon_native._hybrid import priors
from dsh_mnemon_provider_mnemon_native._hybrid.candidates import Candidate, Found, find
from dsh_mnemon_provider_mnemon_native._hybrid.entities import Named, named
from dsh_mnemon_provider_mnemon_native._hybrid.graph import SUPERSEDED, links_of, superseded
from dsh_mnemon_provider_mnemon_native._hybrid.relevance import relevance
from dsh_mnemon_provider_mnemon_native._hybrid.signals import SIGNALS, Signal
from dsh_mnemon_provider_mnemon_native._index.quick import Fact, QuickIndex
from dsh_mnemon_provider_mnemon_native._ranking import Answer, Query, Ranked, Scope, Signals

__all__ = ("HybridRanking",)

_WIDENING: Final = 3
_FEWEST: Final = 30
"""Candidates judged closely: three times the answer and no fewer than 30. The later factors stay
within a tenth or two, which cannot lift one from further below."""

_ORIGINS: Final = 10
"""Finds whose links are followed: the head of the list; what hangs on weaker finds is weaker."""

_NAMES_NOTHING = Named(holders={}, terms=frozenset())


@attrs.define(kw_only=True)
class _Judged:
    """One insight on its way into the answer; ``value`` is its relevance before it is cut at 1."""

    fact: Fact
    value: float
    via: str
    signals: Signals
    superseded: bool = False

    @property
    def id(self) -> str:
        return self.fact.id


class HybridRanking:
    """Ranks with the signals it is given, all by default; needs the quick index."""

    def __init__(
        self,
        store: sqlite3.Connection,
        index: QuickIndex,
        signals: Collection[Signal] = SIGNALS,
    ) -> None:
        self._store, self._index = store, index
        self._signals = frozenset(signals)

    def committed(self, ids: Collection[str]) -> None:
        """Do nothing: nothing of the rows is kept."""

    def close(self) -> None:
        """Hold nothing that needs releasing."""

    def recall(self, query: Query) -> Answer:
        """Rank at most ``query.limit`` insights of the scope; none that has nothing in common."""
        intent = query.intent or intent_of(query.text)
        limit = max(query.limit * _WIDENING, _FEWEST)
        found = self._index.live.attempt(
            lambda: find(
                query, self._index, limit=limit, when=intent == "WHEN", signals=self._signals
            )
        )
        judged = self._judge(query.text, found)
        if "graph" in self._signals:
            judged = self._linked(judged, query.scope, why=intent == "WHY")
        judged.sort(key=lambda one: (-one.value, -one.fact.created, one.id))
        rows = tuple(map(_ranked, judged[: query.limit]))
        return Answer(
            rows=rows,
            intent=intent,
            intent_source="override" if query.intent else "auto",
            anchor_count=len(found.best),
            traversed=found.reached,
            hint="sparse_results" if not rows or len(rows) < query.limit // 2 else None,
        )

    def _judge(self, question: str, found: Found) -> list[_Judged]:
        names = _NAMES_NOTHING
        if "entities" in self._signals:
            names = self._index.live.attempt(lambda: named(question, self._index.live.connection))
        facts = {fact.doc: fact for fact in self._index.facts([one.doc for one in found.best])}
        newest = self._index.newest_time()
        return [
            self._one(candidate, found, names, facts[candidate.doc], newest)
            for candidate in found.best
            if candidate.doc in facts
        ]

    def _one(
        self, candidate: Candidate, found: Found, names: Named, fact: Fact, newest: float
    ) -> _Judged:
        value = relevance(candidate.coverage)
        if not candidate.meaning:
            value *= names.factor(candidate.doc, found.coverage)
        if "importance" in self._signals:
            value *= priors.importance(fact.importance)
        if "recency" in self._signals:
            value *= priors.recency(fact.created, newest)
        share = names.share(candidate.doc)
        return _Judged(
            fact=fact,
            value=value,
            via=_via(candidate, found, share),
            signals=Signals(
                keyword=min(candidate.words, 1.0), entity=share, similarity=candidate.meaning
            ),
        )

    def _linked(self, judged: list[_Judged], scope: Scope, *, why: bool) -> list[_Judged]:
        """Add what the best finds are linked to; move back what is superseded."""
        by_id = {one.id: one for one in judged}
        best = sorted(judged, key=lambda one: -one.value)[:_ORIGINS]
        worth = {one.id: one.value for one in best}
        links = links_of(list(worth), self._store, why=why)
        fresh = self._unmet({link.id for link in links} - by_id.keys(), scope)
        for link in links:
            value = worth[link.origin] * link.worth
            one = by_id.get(link.id) or fresh.get(link.id)
            if one is None or value <= one.value:
                continue
            one.value, one.via = value, link.kind
            one.signals = attrs.evolve(one.signals, graph=min(value, 1.0))
            by_id[one.id] = one
        for id in superseded(list(by_id), self._store):
            by_id[id].value *= SUPERSEDED
            by_id[id].superseded = True
        return list(by_id.values())

    def _unmet(self, ids: Collection[str], scope: Scope) -> dict[str, _Judged]:
        """Return insights of the scope that only a link leads to, worth nothing yet."""
        return {
            fact.id: _Judged(fact=fact, value=0.0, via="", signals=Signals())
            for fact in self._index.placed(ids, scope)
        }


def _via(candidate: Candidate, found: Found, names: float) -> str:
    """Tell how an insight was found, in the store's own words where it has some."""
    if candidate.meaning:
        return "hybrid" if candidate.words else "vector"
    if names:
        return "entity"
    own = any(candidate.doc in held.content for held, _ in found.coverage.strengths)
    return "keyword" if own else "temporal"


def _ranked(one: _Judged) -> Ranked:
    return Ranked(
        id=one.id,
        score=min(one.value, 1.0),
        via=one.via,
        signals=one.signals,
        superseded=one.superseded,
    )

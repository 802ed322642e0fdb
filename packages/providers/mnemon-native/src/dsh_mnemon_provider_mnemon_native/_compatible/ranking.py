"""Smart recall exactly as the command line tool ranks (spec/mnemon-native.md §7)."""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeAlias

import attrs

from dsh_mnemon_provider_mnemon_native._compatible.candidates import Candidates, Fact
from dsh_mnemon_provider_mnemon_native._compatible.graph import Graph
from dsh_mnemon_provider_mnemon_native._compatible.intent import PLANS, Plan, intent_of
from dsh_mnemon_provider_mnemon_native._ranking import (
    Answer,
    Index,
    Query,
    Ranked,
    Signals,
)
from dsh_mnemon_provider_mnemon_native._tokens import tokens
from dsh_mnemon_provider_mnemon_native._write.entities import extract

__all__ = ("CompatibleRanking",)

_ANCHORS: Final = 20
_RANK_OFFSET: Final = 61
_VECTOR_FLOOR: Final = 0.1
_SIMILARITY_BONUS: Final = 0.4
_SUPERSEDED: Final = 0.25


@attrs.define
class _Found:
    """What a search knows so far: score and way of each insight."""

    score: dict[str, float] = attrs.field(factory=dict[str, float])
    via: dict[str, str] = attrs.field(factory=dict[str, str])


_Judged: TypeAlias = tuple[tuple[float, int, float, str], tuple[float, float, float, float]]
"""Place in the order, and the signals."""


class CompatibleRanking:
    """Anchors, a beam search along edges, and one weighted sum for all candidates."""

    def __init__(self, connection: sqlite3.Connection, index: Index) -> None:
        self._index = index
        self._graph = Graph(connection)
        self._candidates = Candidates(connection)

    def committed(self, ids: Collection[str]) -> None:
        """Forget what was read of the insights a commit has touched."""
        self._graph.touched(ids)
        self._candidates.touched(ids)

    def close(self) -> None:
        """Hold nothing that needs releasing."""

    def recall(self, query: Query) -> Answer:
        """Rank at most ``query.limit`` insights of the scope."""
        self._graph.refresh()
        self._candidates.refresh()
        intent = query.intent or intent_of(query.text)
        names = frozenset(name.lower() for name in extract(query.text, self._index.known))
        words = tokens(query.text)
        found = _Found()
        lists = self._anchor_lists(query, words, names)
        if query.vector and not (lists["vector"] or self._candidates.have_vectors()):
            query = attrs.evolve(query, vector=None)
        _fuse(lists, found)
        anchors = dict(found.score)
        similarity = self._candidates.similarity_to(query.vector)
        search = _Search(
            PLANS[intent],
            self._graph,
            found,
            inside=self._candidates.inside(query.scope),
            similarity=similarity if query.vector else None,
        )
        for anchor in sorted(anchors):
            search.walk(anchor, anchors[anchor])
        rows = self._rank(query, words, names, found, similarity)
        if intent == "WHY" and len(rows) > 1:
            rows = _causes_first(rows, self._graph)
        return Answer(
            rows=tuple(rows),
            intent=intent,
            intent_source="override" if query.intent else "auto",
            anchor_count=len(anchors),
            traversed=len(found.score),
            hint="sparse_results" if not rows or len(rows) < query.limit // 2 else None,
        )

    def _anchor_lists(
        self, query: Query, words: frozenset[str], names: frozenset[str]
    ) -> Mapping[str, Sequence[str]]:
        index, scope = self._index, query.scope
        keyword = index.keyword(words, limit=_ANCHORS, scope=scope) if words else ()
        near = (
            index.nearest(query.vector, limit=_ANCHORS, above=_VECTOR_FLOOR, scope=scope)
            if query.vector
            else ()
        )
        entity = index.naming(names, limit=_ANCHORS, scope=scope) if names else ()
        return {
            "keyword": [one.id for one in keyword],
            "vector": [one.id for one in near if one.score > _VECTOR_FLOOR],
            "time": index.newest(limit=_ANCHORS, scope=scope),
            "entity": [one.id for one in entity],
        }

    def _rank(
        self,
        query: Query,
        words: frozenset[str],
        names: frozenset[str],
        found: _Found,
        similarity: Callable[[str], float],
    ) -> list[Ranked]:
        facts = self._candidates.many(found.score)
        if not facts:
            return []
        low = min(found.score[id] for id in facts)
        spread = max(found.score[id] for id in facts) - low or 1.0
        outdated = self._graph.superseded()
        shares = (0.30, 0.15, 0.35, 0.20) if query.vector else (0.45, 0.25, 0.0, 0.30)

        # Thousands of candidates: records are made for the few that are returned.
        def judged(id: str, fact: Fact) -> _Judged:
            keyword, entity = _share(words, fact.tokens), _share(names, fact.names)
            near, graph = similarity(id), (found.score[id] - low) / spread
            score = (
                shares[0] * keyword + shares[1] * entity + shares[2] * near + shares[3] * graph
            ) * (_SUPERSEDED if id in outdated else 1)
            order = (-score, -fact.importance, -fact.created, id)
            return order, (keyword, entity, near, graph)

        best = heapq.nsmallest(query.limit, (judged(id, fact) for id, fact in facts.items()))
        return [
            Ranked(
                id=order[3],
                score=-order[0],
                via=found.via[order[3]],
                signals=Signals(
                    keyword=parts[0], entity=parts[1], similarity=parts[2], graph=parts[3]
                ),
                superseded=order[3] in outdated,
            )
            for order, parts in best
        ]


def _share(wanted: frozenset[str], held: Collection[str]) -> float:
    return len(wanted.intersection(held)) / len(wanted) if wanted else 0.0


def _fuse(lists: Mapping[str, Sequence[str]], found: _Found) -> None:
    """Add up reciprocal ranks over the lists, the largest sum becoming 1."""
    score, via = found.score, found.via
    for name, ids in lists.items():
        for rank, id in enumerate(ids):
            if id not in score:
                via[id] = name
            elif name != "time" or via[id] in {"keyword", "vector"}:
                via[id] = "hybrid"
            score[id] = score.get(id, 0.0) + 1 / (_RANK_OFFSET + rank)
    largest = max(score.values(), default=1.0)
    for id in score:
        score[id] /= largest


class _Search:
    """Beam searches from several anchors over one map of scores."""

    def __init__(
        self,
        plan: Plan,
        graph: Graph,
        found: _Found,
        *,
        inside: Callable[[str], bool] | None,
        similarity: Callable[[str], float] | None,
    ) -> None:
        self._plan, self._graph, self._found = plan, graph, found
        self._inside, self._similarity = inside, similarity

    def walk(self, anchor: str, score: float) -> None:
        """Search outward from one anchor, level by level."""
        visited = {anchor}
        beam = [(score, anchor)]
        for _ in range(self._plan.depth):
            if not beam or len(visited) >= self._plan.max_visited:
                return
            reached: list[tuple[float, str]] = []
            for at, node in sorted(beam, key=_by_score):
                if len(visited) >= self._plan.max_visited:
                    break
                self._expand(node, at, visited, reached)
            beam = heapq.nsmallest(self._plan.beam, reached, key=_by_score)

    def _expand(
        self, node: str, score: float, visited: set[str], reached: list[tuple[float, str]]
    ) -> None:
        best, via = self._found.score, self._found.via
        for negative, other, kind, _ in self._transitions(node, score):
            if len(visited) >= self._plan.max_visited:
                return
            new = -negative
            if other not in best or best[other] < new:
                best[other], via[other] = new, kind
            if other not in visited:
                visited.add(other)
                reached.append((new, other))

    def _transitions(self, node: str, score: float) -> list[tuple[float, str, str, str]]:
        weights, similarity, inside = self._plan.weights, self._similarity, self._inside
        arcs = self._graph.arcs(node)
        if inside is not None:
            arcs = [arc for arc in arcs if inside(arc.other)]
        if similarity is None:
            moves = [
                (-(score + weights.get(kind, 0.0) * weight), other, kind, source)
                for other, kind, weight, source in arcs
            ]
        else:
            moves = [
                (
                    -(
                        score
                        + weights.get(kind, 0.0) * weight
                        + _SIMILARITY_BONUS * similarity(other)
                    ),
                    other,
                    kind,
                    source,
                )
                for other, kind, weight, source in arcs
            ]
        moves.sort()
        return moves


def _by_score(entry: tuple[float, str]) -> tuple[float, str]:
    return (-entry[0], entry[1])


def _causes_first(rows: Sequence[Ranked], graph: Graph) -> list[Ranked]:
    """Put causes before effects; what stands on a circle of causes keeps its order at the end."""
    place = {row.id: number for number, row in enumerate(rows)}
    effects: dict[str, list[str]] = {row.id: [] for row in rows}
    waiting = dict.fromkeys(place, 0)
    for id in place:
        for arc in graph.arcs(id):
            if arc.type == "causal" and arc.source == id and arc.other in place:
                effects[id].append(arc.other)
                waiting[arc.other] += 1
    ready = [(-rows[place[id]].score, place[id]) for id in place if not waiting[id]]
    heapq.heapify(ready)
    order: list[int] = []
    while ready:
        _, number = heapq.heappop(ready)
        order.append(number)
        for effect in effects[rows[number].id]:
            waiting[effect] -= 1
            if not waiting[effect]:
                heapq.heappush(ready, (-rows[place[effect]].score, place[effect]))
    left = sorted(set(place.values()) - set(order))
    return [rows[number] for number in order + left]

"""The service behind the reference Provider: namespaces kept in memory, told how to behave."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import anyio
import attrs
from anyio.lowlevel import checkpoint

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    Graph,
    GraphEdge,
    GraphNode,
    Insight,
    ListRequest,
    Page,
    ProviderNotFound,
    RememberRequest,
    SearchAnswer,
    SearchRequest,
)

__all__ = ("Namespace", "ReferenceService")

_CREATED: Final = "2026-01-02T03:04:05.678Z"
_COLOR: Final = "#6574d9"

T = TypeVar("T")


@attrs.define
class Namespace:
    """What one namespace of the service holds: insights by id, edges and what they are for."""

    insights: dict[str, Insight] = attrs.field(factory=dict[str, Insight])
    edges: list[tuple[str, str, str, float]] = attrs.field(
        factory=list[tuple[str, str, str, float]]
    )
    reasons: dict[tuple[str, str, str], str] = attrs.field(factory=dict[tuple[str, str, str], str])

    def __iter__(self) -> Iterator[Insight]:
        return iter(self.insights.values())

    def find(self, id: str) -> Insight:
        """Return an insight.

        Raises:
            ProviderNotFound: There is none of that id.
        """
        if id not in self.insights:
            raise ProviderNotFound(f"there is no memory {id}")
        return self.insights[id]

    def keep(self, id: str, request: RememberRequest, created_at: str | None = None) -> None:
        """Keep a memory under an id."""
        self.insights[id] = Insight(
            id=id,
            content=request.content,
            category=request.category,
            importance=request.importance,
            tags=request.tags,
            entities=request.entities,
            source=request.source,
            created_at=created_at or _CREATED,
        )

    def same(self, content: str) -> str | None:
        """Return the id of the memory with exactly that content."""
        return next((item.id for item in self if item.content == content), None)

    def join(
        self, source: str, target: str, kind: str, weight: float, reason: str | None = None
    ) -> bool:
        """Add an edge between two memories; tell whether it was not there already."""
        edge = (source, target, kind, weight)
        if edge in self.edges:
            return False
        self.edges.append(edge)
        if reason is not None:
            self.reasons[source, target, kind] = reason
        return True

    def drop(self, id: str) -> None:
        """Forget a memory and its edges."""
        del self.insights[self.find(id).id]
        self.edges = [edge for edge in self.edges if id not in edge[:2]]

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Find what shares words with the query; the score is the share of its words found."""
        wanted = _words(request.query)
        hits: list[Insight] = []
        for item in self:
            shared = wanted & _words(item.content)
            kinds = (
                request.category in (None, item.category),
                request.source in (None, item.source),
            )
            if shared and all(kinds):
                hits.append(attrs.evolve(item, score=len(shared) / len(wanted)))
        hits.sort(key=lambda item: -(item.score or 0))
        return SearchAnswer(results=tuple(hits[: request.limit]))

    def page(self, request: ListRequest) -> Page:
        """Return one page in order of creation; the cursor is the number of items before it."""
        query = (request.query or "").lower()
        items = [
            item
            for item in self
            if request.category in (None, item.category) and query in item.content.lower()
        ]
        start = int(request.cursor or 0)
        end = start + request.limit
        following = str(end) if end < len(items) else None
        return Page(items=tuple(items[start:end]), next_cursor=following)

    def graph(self) -> Graph:
        """Return everything as nodes and edges."""
        nodes = [
            GraphNode(id=item.id, label=item.content[:60], color=_COLOR, category=item.category)
            for item in self
        ]
        edges = [
            GraphEdge(
                source_id=source,
                target_id=target,
                label=kind,
                color=_COLOR,
                type=kind,
                weight=weight,
                reason=self.reasons.get((source, target, kind)),
            )
            for source, target, kind, weight in self.edges
        ]
        return Graph(nodes=tuple(nodes), edges=tuple(edges), generated_at=_CREATED)

    def entities(self) -> list[EntityCount]:
        """Return how often each entity is named, most often first."""
        named = Counter(entity for item in self for entity in item.entities or ())
        return [EntityCount(entity=entity, count=count) for entity, count in named.most_common()]

    def walk(self, id: str, depth: int, edge: str | None) -> list[Insight]:
        """Return what is joined to a memory within ``depth`` edges, nearest first."""
        distance, waiting = {self.find(id).id: 0}, deque([id])
        while waiting:
            here = waiting.popleft()
            for there in self._near(here, edge):
                if there not in distance and distance[here] < depth:
                    distance[there] = distance[here] + 1
                    waiting.append(there)
        found = [(steps, other) for other, steps in distance.items() if other != id]
        return [attrs.evolve(self.insights[other], depth=steps) for steps, other in found]

    def _near(self, id: str, edge: str | None) -> Iterator[str]:
        for source, target, kind, _ in self.edges:
            if edge in (None, kind) and id in (source, target):
                yield target if id == source else source


class ReferenceService:
    """The service behind the reference Provider: shared by its adapters, kept in memory.

    Attributes:
        key: The key a caller must show; any will do when empty.
        namespaces: What it holds, by the Spaces' external id, or id when they have none.
        calls: Every operation it was asked for, with the namespace, oldest first.
        closed: How many adapters were closed.
    """

    def __init__(self, *names: str, key: str = "") -> None:
        self.key = key
        self.namespaces = {name: Namespace() for name in names}
        self.calls: list[tuple[str, str]] = []
        self.closed = 0
        self._behaviours: dict[tuple[str, str | None], Callable[[], Any]] = {}
        self._next = 0

    def hang(self, operation: str, *, namespace: str | None = None) -> None:
        """Never answer an operation; of one namespace only, if it is named."""
        self._behaviours[operation, namespace] = anyio.sleep_forever

    def fail(self, operation: str, error: Exception, *, namespace: str | None = None) -> None:
        """Raise ``error``, whatever it is, instead of answering."""

        async def fail() -> Any:
            raise error

        self._behaviours[operation, namespace] = fail

    def answer(self, operation: str, value: Any, *, namespace: str | None = None) -> None:
        """Answer ``value``, however wrong it is."""

        async def answer() -> Any:
            return value

        self._behaviours[operation, namespace] = answer

    def heal(self) -> None:
        """Behave again."""
        self._behaviours.clear()

    async def serve(self, operation: str, name: str, work: Callable[[], T]) -> T:
        """Note an operation and do it, or what it was told to do instead."""
        self.calls.append((operation, name))
        await checkpoint()
        for place in ((operation, name), (operation, None)):
            if place in self._behaviours:
                instead: T = await self._behaviours[place]()
                return instead
        return work()

    def new_id(self) -> str:
        """Return an id nobody had before."""
        self._next += 1
        return f"memory-{self._next}"


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))

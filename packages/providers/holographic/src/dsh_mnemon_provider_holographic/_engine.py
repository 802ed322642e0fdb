"""What the Provider does to a file; blocking, so in worker threads only (§6.5, §6.7).

The adapter imports this module at its first call and not before: numpy takes a moment to load.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from datetime import datetime
from sqlite3 import Connection
from typing import Any, Final

import attrs
from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    EntityCount,
    ExternalSpace,
    Graph,
    Insight,
    ListRequest,
    Page,
    ProviderError,
    ProviderRejected,
    RememberRequest,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.cursor import read_cursor, write_cursor

from dsh_mnemon_provider_holographic import _overview
from dsh_mnemon_provider_holographic._client import Checkpoint, Store, go_on
from dsh_mnemon_provider_holographic._config import Settings, projection
from dsh_mnemon_provider_holographic._entities import extract
from dsh_mnemon_provider_holographic._facts import Filter, fact_number, page
from dsh_mnemon_provider_holographic._mapping import (
    insight,
    public_id,
    stamp,
    trust_of,
)
from dsh_mnemon_provider_holographic._peer import take_over
from dsh_mnemon_provider_holographic._relations import related
from dsh_mnemon_provider_holographic._retrieval import Ask, Ranked, search
from dsh_mnemon_provider_holographic._writing import Draft, Writer
from dsh_mnemon_provider_holographic.descriptor import TYPE_ID

__all__ = ("Engine",)

_MOST_FOUND: Final = 50
_MOST_LISTED: Final = 1_000


@attrs.frozen(kw_only=True)
class Engine:
    """The operations of one Space, for one call.

    Attributes:
        store: The file.
        settings: How the Space is worked with.
        now: The time of the call.
        checkpoint: Called while waiting for a lock; raises when the caller gives up.
    """

    store: Store
    settings: Settings
    now: datetime
    checkpoint: Checkpoint = go_on

    # -- reading ----------------------------------------------------------------------------------

    def discover(self) -> ExternalSpace:
        """Return the one namespace there is: the file, which must be usable if it is there."""
        with self._reading():
            return projection(self.settings.place)

    def status(self) -> SpaceStatus:
        """Tell whether the file can be used, and what it holds."""
        try:
            with self._reading() as connection:
                stats = _overview.stats(connection, self.store.size())
                hint = self._hint(connection)
        except ProviderError as error:
            return SpaceStatus(healthy=False, error=error.message)
        return SpaceStatus(healthy=True, error=hint, stats=stats)

    def search(self, request: SearchRequest) -> SearchAnswer:
        """Find facts, best first; every mode is served alike."""
        limit = min(_MOST_FOUND, max(1, request.limit))
        ask = self._ask(request.query, limit, request.category, request.source)
        with self._reading() as connection:
            if connection is None:
                return SearchAnswer()
            found = search(connection, ask, self.settings.dim)[:limit]
            return SearchAnswer(results=_insights(found), hint=self._hint(connection))

    def list(self, request: ListRequest) -> Page:
        """Return one page, newest change first; with a query, what a search ranks."""
        limit = min(_MOST_LISTED, max(1, request.limit))
        question = ["list", request.query, request.category, self.settings.min_trust]
        if request.query is not None and request.query.strip():
            return self._found(request, question, limit)
        after = self._after(question, request.cursor)
        with self._reading() as connection:
            if connection is None:
                return Page()
            wanted = Filter(min_trust=self.settings.min_trust, category=request.category)
            facts = page(connection, wanted, limit=limit + 1, after=after)
        shown = facts[:limit]
        last = (shown[-1].updated_at, shown[-1].number) if len(facts) > limit else None
        return Page(
            items=tuple(insight(fact) for fact in shown),
            next_cursor=write_cursor(question, last) if last else None,
        )

    def graph(self, cursor: str | None) -> Graph:
        """Return one page: facts, newest change first, and the entities they are linked to."""
        question = ["graph", self.settings.min_trust]
        after = self._after(question, cursor)
        generated = iso_utc(self.now)
        with self._reading() as connection:
            if connection is None:
                return Graph(generated_at=generated)
            wanted = Filter(min_trust=self.settings.min_trust)
            facts = page(connection, wanted, limit=_overview.GRAPH_PAGE + 1, after=after)
        shown = _overview.fitting(facts)
        nodes, edges = _overview.graph_of(shown)
        last = (shown[-1].updated_at, shown[-1].number) if len(facts) > len(shown) else None
        return Graph(
            nodes=nodes,
            edges=edges,
            generated_at=generated,
            next_cursor=write_cursor(question, last) if last else None,
        )

    def entities(self, limit: int) -> Sequence[EntityCount]:
        """Return the entities most facts are linked to."""
        with self._reading() as connection:
            return _overview.entity_counts(connection, max(0, limit))

    def related(self, identity: str, depth: int, edge: str | None) -> Sequence[Insight]:
        """Return facts around one; none for an id nobody knows."""
        with self._reading() as connection:
            number = None if connection is None else fact_number(connection, identity)
            if connection is None or number is None:
                return []
            found = related(
                connection,
                number,
                depth=depth,
                edge=edge,
                wanted=Filter(min_trust=self.settings.min_trust),
                wanted_dim=self.settings.dim,
            )
        return [insight(it.fact, score=it.score, depth=it.depth, edge_type=it.edge) for it in found]

    # -- writing ----------------------------------------------------------------------------------

    def remember(self, requests: Sequence[RememberRequest]) -> Sequence[dict[str, Any]]:
        """Keep facts, all in one transaction; one answer each, in order.

        Raises:
            ProviderRejected: A content is blank.
            InputError: ``text-not-unicode``.
        """
        drafts = [self._draft(request) for request in requests]
        if not drafts:
            return []
        self._take_over()
        with self.store.writing(self.checkpoint) as connection:
            writer = self._writer(connection)
            added = [writer.add(draft) for draft in drafts]
            writer.finish()
        return [_receipt(draft, *it) for draft, it in zip(drafts, added, strict=True)]

    def forget(self, identity: str) -> dict[str, Any]:
        """Delete a fact for good.

        Raises:
            ProviderNotFound: There is no such fact.
        """
        self._take_over()
        with self.store.writing(self.checkpoint) as connection:
            writer = self._writer(connection)
            number = writer.forget(identity)
            writer.finish()
        return {
            "action": "deleted",
            "provider": TYPE_ID,
            "id": public_id(number),
            "summary": "The fact was deleted from the Holographic store.",
        }

    # -- parts ------------------------------------------------------------------------------------

    @contextmanager
    def _reading(self) -> Generator[Connection | None]:
        self._take_over()
        with self.store.reading(self.checkpoint) as connection:
            yield connection

    def _take_over(self) -> None:
        peer, dim = self.settings.place.peer, self.settings.dim
        if peer is not None:
            take_over(self.store, peer, dim=dim, now=self.now, checkpoint=self.checkpoint)

    def _writer(self, connection: Connection) -> Writer:
        return Writer(
            connection, self.store.banks, wanted_dim=self.settings.dim, now=stamp(self.now)
        )

    def _ask(self, query: str, limit: int, category: str | None, source: str | None) -> Ask:
        return Ask(
            query=query,
            limit=limit,
            wanted=Filter(min_trust=self.settings.min_trust, category=category),
            source=source,
            half_life_days=self.settings.half_life_days,
            now=self.now,
        )

    def _found(self, request: ListRequest, question: Sequence[Any], limit: int) -> Page:
        start = read_cursor(question, request.cursor, int)[0] if request.cursor else 0
        with self._reading() as connection:
            if connection is None:
                return Page()
            ask = self._ask(request.query or "", start + limit + 1, request.category, None)
            found = search(connection, ask, self.settings.dim)
        end = start + limit
        return Page(
            items=_insights(found[start:end]),
            next_cursor=write_cursor(question, [end]) if len(found) > end else None,
        )

    def _after(self, question: Sequence[Any], cursor: str | None) -> tuple[str, int] | None:
        if cursor is None:
            return None
        changed, number = read_cursor(question, cursor, str, int)
        return changed, number

    def _hint(self, connection: Connection | None) -> str | None:
        return None if connection is None else _overview.dim_hint(connection, self.settings.dim)

    def _draft(self, request: RememberRequest) -> Draft:
        # An archived original is kept to the last blank; of anything else the ends do not matter.
        content = request.content if request.exact else request.content.strip()
        for text in (content, *request.tags, *request.entities):
            well_formed(text, "the memory")
        if not content.strip():
            raise ProviderRejected("there is nothing to remember")
        moment = stamp(self.now)
        return Draft(
            content=content,
            category=request.category,
            tags=[tag.replace(",", " ") for tag in request.tags],
            trust=trust_of(request.importance, self.settings.default_trust),
            entities=extract(content, request.entities),
            extras={"source": request.source, "importance": request.importance},
            created_at=moment,
            updated_at=moment,
        )


def _insights(found: Sequence[Ranked]) -> tuple[Insight, ...]:
    return tuple(insight(it.fact, score=it.score, matched_via=it.via) for it in found)


def _receipt(draft: Draft, number: int, new: bool) -> dict[str, Any]:
    return {
        "action": "stored" if new else "skipped",
        "provider": TYPE_ID,
        "id": public_id(number),
        "summary": "The fact was stored." if new else "The store holds this fact already.",
        "contentSha256": hashlib.sha256(draft.content.encode()).hexdigest(),
    }

"""One store as its users see it: every operation of the engine, asynchronous.

Source: spec/mnemon-native.md §4–§12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import EntityCount, ProviderError, SpaceStats

from dsh_mnemon_provider_mnemon_native._access import StoreAccess, StoreOptions
from dsh_mnemon_provider_mnemon_native._oplog import LogEntry, read_log
from dsh_mnemon_provider_mnemon_native._ranking import (
    EVERYTHING,
    Answer,
    Query,
    Ranked,
    Scope,
)
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store import pages
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._tokens import tokens
from dsh_mnemon_provider_mnemon_native._write import links, neighbours
from dsh_mnemon_provider_mnemon_native._write.batches import (
    Imported,
    Importing,
    Vectors,
    write_exactly,
)
from dsh_mnemon_provider_mnemon_native._write.drafts import Draft
from dsh_mnemon_provider_mnemon_native._write.importing import Written
from dsh_mnemon_provider_mnemon_native._write.limits import (
    NewInsight,
    check_insight,
    check_text,
)
from dsh_mnemon_provider_mnemon_native._write.remember import Remembered, remember
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput

__all__ = ("MnemonStore", "Recalled", "Remembering", "StoreOptions")


@attrs.frozen(kw_only=True)
class Remembering:
    """What became of a new insight, and what it might be linked to."""

    outcome: Remembered
    semantic: Sequence[neighbours.SemanticCandidate] = ()
    causal: Sequence[neighbours.CausalCandidate] = ()


@attrs.frozen(kw_only=True)
class Recalled:
    """The rows of an answer, best first, each with how it was ranked."""

    answer: Answer
    rows: Sequence[tuple[Row, Ranked]]


class MnemonStore(StoreAccess):
    """One store: opened at first use, in a thread of its own, closed by `aclose`.

    Writes are on the disk when they return. All methods raise the branches of `ProviderError`; see
    `errors`.
    """

    # -- writing ----------------------------------------------------------------------------------

    async def remember(self, insight: NewInsight) -> Remembering:
        """Keep one insight with its edges; byte-identical content is skipped (§4).

        Raises:
            InvalidInput: A limit is broken; nothing was written.
        """
        new = check_insight(insight)
        vector = await self._vector(new.content)

        def call(session: Session) -> Remembering:
            with session.writing() as writing:
                kept = self._options.retention
                outcome = remember(writing, new, vector, kept, writing.now())
            row = outcome.row
            if row is None:
                return Remembering(outcome=outcome)
            with session.reading():
                return Remembering(
                    outcome=outcome,
                    semantic=neighbours.semantic(row, vector, session.rows, session.index),
                    causal=neighbours.causal(row, session.rows),
                )

        return await self._call(call)

    async def remember_many(self, insights: Sequence[NewInsight]) -> Sequence[Written]:
        """Keep archived originals, all or none in one transaction (D38); one outcome each."""
        new = [check_insight(attrs.evolve(insight, exact=True)) for insight in insights]
        vectors = await self._vectors([insight.content for insight in new])
        kept = self._options.retention
        return await self._call(lambda session: write_exactly(session, new, vectors, kept))

    async def import_draft(self, draft: Draft) -> Imported:
        """Import a checked draft (§11); what is committed stays when a later part fails.

        Raises:
            ProviderError: Nothing was imported.
        """
        vectors = await self._vectors([entry.insight.content for entry in draft.entries])
        importing = Importing(draft, vectors, self._options.retention)
        failure: ProviderError | None = None
        try:
            # Other calls have their turn between two transactions.
            while await self._call(importing.advance):
                pass
        except ProviderError as error:
            failure = error
        return await self._worker.run(lambda: importing.imported(failure))

    async def link(
        self,
        source: str,
        target: str,
        *,
        type: str = "semantic",
        weight: float = 0.5,
        metadata: Mapping[str, str] | None = None,
    ) -> links.Link:
        """Join two insights (§5.6)."""
        check_text("metadata", *(metadata or {}).values())
        check_text("id", source, target)

        def call(session: Session) -> links.Link:
            with session.writing() as writing:
                return links.link(
                    writing,
                    source,
                    target,
                    type=type,
                    weight=weight,
                    metadata=metadata or {},
                    now=writing.now(),
                )

        return await self._call(call)

    async def forget(self, id: str) -> None:
        """Forget an insight; its row stays in the file, marked (§8)."""
        check_text("id", id)

        def call(session: Session) -> None:
            with session.writing() as writing:
                links.forget(writing, id, writing.now())

        await self._call(call)

    # -- reading ----------------------------------------------------------------------------------

    async def recall(self, query: Query) -> Recalled:
        """Search with the chosen ranking (§7); each result counts as accessed."""
        _check_limit(query.limit)
        check_text("query", query.text)
        vector = query.vector or await self._vector(query.text)
        asked = attrs.evolve(query, vector=vector)

        def call(session: Session) -> Recalled:
            answer = self._opened().ranking.recall(asked)
            rows = session.rows.many(ranked.id for ranked in answer.rows)
            found = [(rows[ranked.id], ranked) for ranked in answer.rows if ranked.id in rows]
            return Recalled(answer=answer, rows=found)

        recalled = await self._read(call)
        ids = [row.id for row, _ in recalled.rows]
        self._count("recall", ids, f"q={query.text} hits={len(ids)}")
        return recalled

    async def search(
        self, text: str, limit: int = 10, scope: Scope = EVERYTHING
    ) -> Sequence[tuple[Row, float]]:
        """Search by keywords (§6); each result with its score, counted as accessed."""
        _check_limit(limit)
        check_text("query", text)

        def call(session: Session) -> Sequence[tuple[Row, float]]:
            scored = session.index.keyword(tokens(text), limit=limit, scope=scope)
            scores = {found.id: found.score for found in scored}
            return [(row, scores[row.id]) for row in session.rows.in_order(list(scores))]

        found = await self._read(call)
        self._count("search", [row.id for row, _ in found], f"q={text} hits={len(found)}")
        return found

    async def basic(
        self, text: str, limit: int = 10, scope: Scope = EVERYTHING, *, literal: bool = False
    ) -> Sequence[Row]:
        """Find contents that hold a text (§6); each result counts as accessed.

        Without ``literal``, ``%`` and ``_`` in the text match anything, as in SQL.
        """
        _check_limit(limit)
        check_text("query", text)
        found = await self._read(
            lambda session: pages.like(
                session.rows, text, limit=limit, scope=scope, literal=literal
            )
        )
        self._count("recall:basic", [row.id for row in found], f"q={text} hits={len(found)}")
        return found

    async def related(
        self, id: str, *, depth: int = 2, type: str | None = None
    ) -> Sequence[neighbours.Step]:
        """Walk the edges from one insight (§8)."""
        check_text("id", id)
        if depth < 1:
            raise InvalidInput("depth", "the depth is at least 1")
        if type is not None:
            links.check_edge_type(type)

        def call(session: Session) -> Sequence[neighbours.Step]:
            session.rows.require(id)
            return list(neighbours.walk(session.rows, id, depth=depth, type=type))

        return await self._read(call)

    async def show(self, id: str) -> Row:
        """Return one insight in full."""
        check_text("id", id)
        return await self._read(lambda session: session.rows.require(id))

    async def list(
        self,
        *,
        limit: int,
        scope: Scope = EVERYTHING,
        query: str = "",
        cursor: str | None = None,
    ) -> pages.RowPage:
        """Return one page of insights, important ones first, then new ones."""
        check_text("query", query)

        def call(session: Session) -> pages.RowPage:
            page = pages.list_page(
                session.rows, limit=limit, scope=scope, query=query, cursor=cursor
            )
            return attrs.evolve(page, unreadable=session.index.unreadable())

        return await self._read(call)

    async def graph(self, *, limit: int, cursor: str | None = None) -> pages.GraphPage:
        """Return one page of the graph, newest insights first."""
        return await self._read(
            lambda session: pages.graph_page(session, limit=limit, cursor=cursor)
        )

    async def entities(self, limit: int) -> Sequence[EntityCount]:
        """Return the entities that most insights name."""
        return await self._read(lambda session: pages.entity_counts(session, limit))

    async def status(self) -> SpaceStats:
        """Count what the store holds."""
        return await self._read(pages.stats)

    async def unreadable(self) -> int:
        """Count the insights and edges that are left out everywhere, for they cannot be read."""
        return await self._read(pages.unreadable)

    async def left_out(self) -> int:
        """Count the insights alone, which takes no time."""
        return await self._read(lambda session: session.index.unreadable())

    async def log(self, limit: int = 20) -> Sequence[LogEntry]:
        """Return the newest entries of the store's own log."""
        _check_limit(limit)
        return await self._read(lambda session: read_log(session.connection, limit))

    # -- vectors ----------------------------------------------------------------------------------

    async def _vector(self, text: str) -> tuple[float, ...] | None:
        embedder = self._options.embedder
        return None if embedder is None else await embedder.vector(text)

    async def _vectors(self, texts: Sequence[str]) -> Vectors:
        embedder = self._options.embedder
        if embedder is None or not embedder.settings.enabled:
            return [None] * len(texts)
        return [await embedder.vector(text) for text in texts]


def _check_limit(limit: int) -> None:
    if limit < 1:
        raise InvalidInput("limit", f"the limit is at least 1, not {limit}")

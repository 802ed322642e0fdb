"""The Provider over the embedded engine (spec/mnemon-native.md §13)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import attrs
from anyio.to_thread import run_sync
from dsh_mnemon_core.instant import iso_utc, utc_now
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftEdge,
    DraftInsight,
    EntityCount,
    Graph,
    Insight,
    ListRequest,
    NativeAdapter,
    NativeSettings,
    Page,
    ProviderError,
    RememberRequest,
    Result,
    ScoreSemantics,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
    SpaceView,
)

from dsh_mnemon_provider_mnemon_native import _mapping as mapping
from dsh_mnemon_provider_mnemon_native._config import Config
from dsh_mnemon_provider_mnemon_native._embedding import Embedder
from dsh_mnemon_provider_mnemon_native._ranking import Query, Scope
from dsh_mnemon_provider_mnemon_native._store.folders import Folders
from dsh_mnemon_provider_mnemon_native._store.opening import BUSY_TIMEOUT_MS
from dsh_mnemon_provider_mnemon_native._write.drafts import Draft, checked
from dsh_mnemon_provider_mnemon_native._write.limits import EXACT_BYTES
from dsh_mnemon_provider_mnemon_native._write.links import check_ends
from dsh_mnemon_provider_mnemon_native.descriptor import PROVIDER_ID

if TYPE_CHECKING:
    from dsh_mnemon_provider_mnemon_native._engine import MnemonStore

__all__ = ("MnemonNativeAdapter",)

_GRAPH_PAGE: Final = 200
_SPARSE: Final = "few memories of this Space fit the query"


def _left_out(count: int, path: Path) -> str | None:
    if not count:
        return None
    rows = "1 row is" if count == 1 else f"{count} rows are"
    return f"{rows} left out as unreadable: {path}"


class MnemonNativeAdapter(NativeAdapter):
    """The operations of the embedded engine; a Space's id is the name of its store.

    The engine is imported by the first call that asks a Space; most processes make none.
    """

    id = PROVIDER_ID
    score_semantics: ScoreSemantics = "normalized-relevance"

    def __init__(
        self, native: NativeSettings, config: Config, *, timeout_ms: int = BUSY_TIMEOUT_MS
    ) -> None:
        self._folders = Folders(native.data_dir)
        self._embedder = Embedder(native.embedding)
        self._config, self._patience_ms = config, min(timeout_ms, BUSY_TIMEOUT_MS)
        self._stores: dict[str, MnemonStore] = {}
        self._preparing = anyio.Lock()
        self._open: Callable[[Path], MnemonStore] | None = None

    async def _store(self, space: SpaceView) -> MnemonStore:
        """Return a Space's store; whether it exists is found out in its thread."""
        if self._open is None:
            async with self._preparing:
                self._open = await run_sync(self._prepared)
        store = self._stores.get(space.id)
        if store is None:
            path = self._folders.database(space.id)
            store = self._stores[space.id] = self._open(path)
        return store

    def _prepared(self) -> Callable[[Path], MnemonStore]:
        """Return what gives a store; in a thread, because importing the engine takes long."""
        from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking
        from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
        from dsh_mnemon_provider_mnemon_native._hybrid import HybridRanking
        from dsh_mnemon_provider_mnemon_native._write.retention import Retention

        self._folders.adopt_old_file()
        config = self._config
        options = StoreOptions(
            ranking=CompatibleRanking if config.ranking == "compatible" else HybridRanking,
            retention=Retention(max_insights=config.max_insights),
            embedder=self._embedder,
            patience_ms=self._patience_ms,
        )
        return lambda path: MnemonStore(path, options)

    # -- the Space --------------------------------------------------------------------------------

    async def status(self, space: SpaceView) -> SpaceStatus:
        """Count what a store holds; one that cannot be used is unhealthy, and says why."""
        try:
            store = await self._store(space)
            stats = await store.status()
            left_out = await store.unreadable()
        except ProviderError as error:
            return SpaceStatus(healthy=False, error=error.message)
        return SpaceStatus(healthy=True, stats=stats, note=_left_out(left_out, store.path))

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        """Search by ranking, by keywords, or for contents that hold the text."""
        store = await self._store(space)
        answer = await self._searched(store, request)
        return attrs.evolve(answer, unreadable=await store.left_out())

    async def _searched(self, store: MnemonStore, request: SearchRequest) -> SearchAnswer:
        from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_override

        scope = Scope(category=request.category, source=request.source)
        if request.mode == "keyword":
            scored = await store.search(request.query, request.limit, scope)
            return SearchAnswer(
                results=tuple(
                    mapping.insight_of(row, score=score, matched_via="keyword")
                    for row, score in scored
                )
            )
        if request.mode == "basic":
            literal = self._config.ranking != "compatible"
            rows = await store.basic(request.query, request.limit, scope, literal=literal)
            return SearchAnswer(results=tuple(map(mapping.insight_of, rows)))
        recalled = await store.recall(
            Query(
                text=request.query,
                limit=request.limit,
                scope=scope,
                intent=intent_override(request.intent),
            )
        )
        answer = recalled.answer
        return SearchAnswer(
            results=tuple(
                mapping.ranked_insight(row, ranked, answer.intent) for row, ranked in recalled.rows
            ),
            remark=_SPARSE if answer.hint else None,
        )

    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        """Return one page, important memories first, then new ones."""
        store = await self._store(space)
        page = await store.list(
            limit=request.limit,
            scope=Scope(category=request.category),
            query=request.query or "",
            cursor=request.cursor,
        )
        return Page(
            items=tuple(map(mapping.insight_of, page.rows)),
            next_cursor=page.next_cursor,
            unreadable=page.unreadable,
        )

    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        """Return one page of the graph, the newest memories first."""
        store = await self._store(space)
        page = await store.graph(limit=_GRAPH_PAGE, cursor=cursor)
        # Dense stores have tens of thousands of edges a page.
        return await run_sync(mapping.graph_of, page, iso_utc(utc_now()))

    async def entities(self, space: SpaceView, limit: int) -> Sequence[EntityCount]:
        """Return the entities that most memories name, equal ones by name."""
        store = await self._store(space)
        return await store.entities(limit)

    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        """Walk the edges from one memory, breadth first."""
        store = await self._store(space)
        return [*map(mapping.step_insight, await store.related(id, depth=depth, type=edge))]

    async def remember(self, space: SpaceView, request: RememberRequest) -> Result:
        """Keep one memory; byte-identical content is skipped, with the id of what it repeats."""
        new = mapping.new_insight(request)
        store = await self._store(space)
        return mapping.remember_result(await store.remember(new))

    async def remember_many(
        self, space: SpaceView, requests: Sequence[RememberRequest]
    ) -> Sequence[Result]:
        """Keep originals as they are, all or none, in one transaction (D38)."""
        if not requests:
            return []
        new = [*map(mapping.new_insight, requests)]
        store = await self._store(space)
        return [*map(mapping.written_result, await store.remember_many(new))]

    async def link(
        self,
        space: SpaceView,
        source_id: str,
        target_id: str,
        type: str,
        weight: float,
        reason: str | None = None,
    ) -> Result:
        """Join two memories in both directions; one is not joined to itself.

        Raises:
            SelfLink: Both are the same, which the command line tool would accept.
        """
        check_ends(source_id, target_id)
        store = await self._store(space)
        metadata = {"reason": reason} if reason else {}
        made = await store.link(source_id, target_id, type=type, weight=weight, metadata=metadata)
        return mapping.link_result(made)

    async def forget(self, space: SpaceView, id: str) -> Result:
        """Hide a memory from every read; its row stays in the file."""
        store = await self._store(space)
        await store.forget(id)
        return {
            "id": id,
            "status": "deleted",
            "deletion_mode": "soft",
            "message": mapping.FORGOTTEN,
        }

    async def aclose(self) -> None:
        """Close every store and the embedding client."""
        with anyio.CancelScope(shield=True):
            while self._stores:
                _, store = self._stores.popitem()
                await store.aclose()
            await self._embedder.aclose()

    # -- stores -----------------------------------------------------------------------------------

    def ready(self) -> bool:
        """Whether the data folder opens, or can be made."""
        base = self._folders.base
        nearest = next(folder for folder in (base, *base.parents) if folder.exists())
        return nearest.is_dir() and os.access(nearest, os.R_OK | os.W_OK | os.X_OK)

    async def create_store(self, store_id: str) -> None:
        """Make an empty store; nothing else ever makes one."""
        await run_sync(self._folders.create, store_id)

    async def set_default_store(self, store_id: str) -> None:
        """Make a store the one the command line tool works on."""
        await run_sync(self._folders.set_default, store_id)

    async def remove_store(self, store_id: str) -> None:
        """Delete a store with all it holds."""
        await run_sync(self._folders.check_removable, store_id)
        store = self._stores.pop(store_id, None)
        if store is not None:
            await store.aclose()
        await run_sync(self._folders.remove, store_id)

    async def import_draft(
        self, space: SpaceView, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> Result:
        """Import memories and edges; archived originals among them keep their length (D38)."""
        draft = await self._checked(insights, edges)
        store = await self._store(space)
        return await run_sync(mapping.import_result, await store.import_draft(draft))

    async def check_draft(
        self, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> None:
        """Refuse what an import would refuse; no store is opened."""
        await self._checked(insights, edges)

    async def _checked(self, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]) -> Draft:
        return await run_sync(partial(checked, insights, edges, limit=EXACT_BYTES))

    async def embedding_status(self) -> Mapping[str, Any]:
        """Tell whether vectors are made; asks the service when it is enabled."""
        settings = self._embedder.settings
        status: dict[str, Any] = {
            "enabled": settings.enabled,
            "available": False,
            "model": settings.model,
            "endpoint": settings.endpoint,
            "protocol": self._embedder.protocol,
        }
        if settings.enabled:
            probe = await self._embedder.probe()
            status["available"] = probe.available
            if probe.error is not None:
                status["error"] = probe.error
        return status

"""The Provider over the embedded engine, and which engine a child gets (§13, D46)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import anyio
import attrs
from anyio.to_thread import run_sync
from dsh_mnemon_core.instant import iso_utc, utc_now
from dsh_mnemon_core.sdk import Context
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
    ProviderContext,
    ProviderDefinition,
    ProviderError,
    ProviderHost,
    ProviderModule,
    ProviderNotConfigured,
    RememberRequest,
    Result,
    ScoreSemantics,
    SearchAnswer,
    SearchRequest,
    SpaceStatus,
    SpaceView,
)

from dsh_mnemon_provider_mnemon_native import _mapping as mapping
from dsh_mnemon_provider_mnemon_native._cli import CliAdapter
from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking
from dsh_mnemon_provider_mnemon_native._compatible.intent import intent_override
from dsh_mnemon_provider_mnemon_native._config import Config
from dsh_mnemon_provider_mnemon_native._embedding import Embedder
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._hybrid import HybridRanking
from dsh_mnemon_provider_mnemon_native._ranking import Query, Scope
from dsh_mnemon_provider_mnemon_native._store.folders import Folders
from dsh_mnemon_provider_mnemon_native._store.opening import BUSY_TIMEOUT_MS
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import EXACT_BYTES
from dsh_mnemon_provider_mnemon_native._write.links import check_ends
from dsh_mnemon_provider_mnemon_native._write.retention import Retention
from dsh_mnemon_provider_mnemon_native.descriptor import MANIFEST, PROVIDER_ID

__all__ = ("MnemonNativeAdapter", "create_adapter", "provider")

_GRAPH_PAGE: Final = 200
_SPARSE: Final = "few memories of this Space fit the query"


def _left_out(count: int) -> str | None:
    return f"{count} unreadable items were left out" if count else None


class MnemonNativeAdapter(NativeAdapter):
    """The operations of the embedded engine; a Space's id is the name of its store."""

    id = PROVIDER_ID
    score_semantics: ScoreSemantics = "normalized-relevance"

    def __init__(
        self, native: NativeSettings, config: Config, *, timeout_ms: int = BUSY_TIMEOUT_MS
    ) -> None:
        self._folders = Folders(native.data_dir)
        self._embedder = Embedder(native.embedding)
        self._options = StoreOptions(
            ranking=CompatibleRanking if config.ranking == "compatible" else HybridRanking,
            retention=Retention(max_insights=config.max_insights),
            embedder=self._embedder,
            patience_ms=min(timeout_ms, BUSY_TIMEOUT_MS),
        )
        self._stores: dict[str, MnemonStore] = {}
        self._preparing = anyio.Lock()
        self._is_prepared = False

    async def _store(self, space: SpaceView) -> MnemonStore:
        """Return a Space's store; whether it exists is found out in its thread."""
        if not self._is_prepared:
            async with self._preparing:
                await run_sync(self._folders.adopt_old_file)
                self._is_prepared = True
        store = self._stores.get(space.id)
        if store is None:
            path = self._folders.database(space.id)
            store = self._stores[space.id] = MnemonStore(path, self._options)
        return store

    # -- the Space --------------------------------------------------------------------------------

    async def status(self, space: SpaceView) -> SpaceStatus:
        """Count what a store holds; one that cannot be used is unhealthy, and says why."""
        try:
            store = await self._store(space)
            stats = await store.status()
            left_out = await store.unreadable()
        except ProviderError as error:
            return SpaceStatus(healthy=False, error=error.message)
        return SpaceStatus(healthy=True, stats=stats, error=_left_out(left_out))

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        """Search by ranking, by keywords, or for contents that hold the text."""
        store = await self._store(space)
        answer = await self._searched(store, request)
        hints = (answer.hint, _left_out(await store.left_out()))
        return attrs.evolve(answer, hint="; ".join(filter(None, hints)) or None)

    async def _searched(self, store: MnemonStore, request: SearchRequest) -> SearchAnswer:
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
            rows = await store.basic(request.query, request.limit, scope)
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
            hint=_SPARSE if answer.hint else None,
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
        return Page(items=tuple(map(mapping.insight_of, page.rows)), next_cursor=page.next_cursor)

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
        draft = await run_sync(partial(checked, insights, edges, limit=EXACT_BYTES))
        store = await self._store(space)
        return await run_sync(mapping.import_result, await store.import_draft(draft))

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


def create_adapter(context: ProviderContext, config: Config) -> NativeAdapter:
    """Make the adapter of one child; nothing is opened yet.

    Raises:
        ProviderNotConfigured: The Source gave no native settings.
    """
    native, timeout_ms = context.native, context.config.timeout_ms
    if native is None:
        raise ProviderNotConfigured(f"{PROVIDER_ID} needs the data directory of its Source")
    if config.engine == "cli":
        return CliAdapter(native, config, timeout_ms=timeout_ms)
    return MnemonNativeAdapter(native, config, timeout_ms=timeout_ms)


def _apply(ctx: Context, host: ProviderHost, config: Config) -> None:
    def create(context: ProviderContext) -> NativeAdapter:
        return create_adapter(context, config)

    host.install(ctx, ProviderDefinition(manifest=MANIFEST, create=create))


provider: Final = ProviderModule(id=PROVIDER_ID, apply=_apply, config_model=Config)
"""The Provider module of this package (D28)."""

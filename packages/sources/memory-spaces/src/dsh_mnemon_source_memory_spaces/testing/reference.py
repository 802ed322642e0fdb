"""A whole Provider in memory, which can be told to hang, to raise or to answer rubbish."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import anyio
from dsh_mnemon_core.sdk import Context, NoConfig
from pydantic import BaseModel

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    DraftEdge,
    DraftInsight,
    EntityCount,
    ExternalSpace,
    Graph,
    Insight,
    ListRequest,
    NativeAdapter,
    Page,
    ProviderAdapter,
    ProviderConflict,
    ProviderContext,
    ProviderDefinition,
    ProviderError,
    ProviderHost,
    ProviderManifest,
    ProviderModule,
    ProviderNotFound,
    ProviderRejected,
    ProviderUnauthenticated,
    RememberRequest,
    Result,
    SearchAnswer,
    SearchRequest,
    SpaceStats,
    SpaceStatus,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import SPACE_ID
from dsh_mnemon_source_memory_spaces.testing.service import Namespace, ReferenceService

__all__ = (
    "EVERYTHING",
    "NativeReferenceAdapter",
    "ReferenceAdapter",
    "reference_manifest",
    "reference_provider",
)

EVERYTHING: Final[Mapping[str, Any]] = {
    **dict.fromkeys(("search", "browse", "graph", "entities"), True),
    **dict.fromkeys(("related", "remember", "link", "forget"), True),
    "write_mode": "exact",
    "deletion_mode": "hard",
}
"""Every capability there is."""

T = TypeVar("T")


class ReferenceAdapter(ProviderAdapter):
    """Every operation of a Provider, over a `ReferenceService`."""

    def __init__(self, context: ProviderContext, service: ReferenceService) -> None:
        self.context = context
        self.service = service
        self.id = context.manifest.type_id
        if context.manifest.score_semantics == "normalized-relevance":
            self.score_semantics = "normalized-relevance"

    async def _ask(self, operation: str, space: SpaceView, work: Callable[[Namespace], T]) -> T:
        connection = self.context.memory_spaces.connection(space.id)
        if self.service.key and connection.get("apiKey") != self.service.key:
            raise ProviderUnauthenticated(f"{self.context.manifest.label} HTTP 401: wrong key")
        name = space.external_id or space.id

        def ask() -> T:
            if name not in self.service.namespaces:
                raise ProviderNotFound(f"there is no namespace {name}")
            return work(self.service.namespaces[name])

        return await self.service.serve(operation, name, ask)

    async def discover(self, connection: Mapping[str, Any]) -> Sequence[ExternalSpace]:
        """Return every namespace of the service, in order of creation."""
        if self.service.key and connection.get("apiKey") != self.service.key:
            raise ProviderUnauthenticated(f"{self.context.manifest.label} HTTP 401: wrong key")
        return await self.service.serve(
            "discover",
            "",
            lambda: [
                ExternalSpace(external_id=name, name=name.capitalize())
                for name in self.service.namespaces
            ],
        )

    async def status(self, space: SpaceView) -> SpaceStatus:
        """Tell a Space's health and counts."""

        def status(namespace: Namespace) -> SpaceStatus:
            categories = Counter(item.category or "general" for item in namespace)
            stats = SpaceStats(
                total_insights=len(namespace.insights),
                edge_count=len(namespace.edges),
                by_category=dict(categories),
                top_entities=tuple(namespace.entities()[:10]),
            )
            return SpaceStatus(healthy=True, stats=stats)

        try:
            return await self._ask("status", space, status)
        except ProviderError as error:
            return SpaceStatus(healthy=False, error=error.message)

    async def search(self, space: SpaceView, request: SearchRequest) -> SearchAnswer:
        """Find what shares words with the query; the score is the share of its words found."""
        return await self._ask("search", space, lambda held: held.search(request))

    async def list(self, space: SpaceView, request: ListRequest) -> Page:
        """Return one page in order of creation; the cursor is the number of items before it."""
        return await self._ask("list", space, lambda held: held.page(request))

    async def graph(self, space: SpaceView, cursor: str | None = None) -> Graph:
        """Return the whole graph at once."""
        return await self._ask("graph", space, Namespace.graph)

    async def entities(self, space: SpaceView, limit: int) -> Sequence[EntityCount]:
        """Return the entities named most."""
        return await self._ask("entities", space, lambda held: held.entities()[:limit])

    async def related(
        self, space: SpaceView, id: str, depth: int, edge: str | None = None
    ) -> Sequence[Insight]:
        """Walk the edges, nearest first."""
        return await self._ask("related", space, lambda held: held.walk(id, depth, edge))

    async def remember(self, space: SpaceView, request: RememberRequest) -> Result:
        """Keep a memory, unless the same content is there already."""

        def remember(namespace: Namespace) -> Result:
            known = namespace.same(request.content)
            if known is not None:
                return {"action": "skipped", "provider": self.id, "id": known}
            id = self.service.new_id()
            namespace.keep(id, request)
            return {"action": "stored", "provider": self.id, "id": id, "summary": "stored"}

        return await self._ask("remember", space, remember)

    async def link(
        self,
        space: SpaceView,
        source_id: str,
        target_id: str,
        type: str,
        weight: float,
        reason: str | None = None,
    ) -> Result:
        """Join two memories."""

        def link(namespace: Namespace) -> Result:
            for id in (source_id, target_id):
                namespace.find(id)
            made = namespace.join(source_id, target_id, type, weight, reason)
            return {"action": "linked", "provider": self.id, "edges_inserted": int(made)}

        return await self._ask("link", space, link)

    async def forget(self, space: SpaceView, id: str) -> Result:
        """Drop a memory and its edges."""

        def forget(namespace: Namespace) -> Result:
            namespace.drop(id)
            return {"action": "deleted", "provider": self.id, "id": id}

        return await self._ask("forget", space, forget)

    async def aclose(self) -> None:
        """Count the closing."""

        def close() -> None:
            self.service.closed += 1

        await self.service.serve("aclose", "", close)


class NativeReferenceAdapter(ReferenceAdapter, NativeAdapter):
    """The same as a native engine: a store is a namespace, and a folder with an empty database."""

    def ready(self) -> bool:
        """Whether a data directory was given."""
        return self.context.native is not None

    async def create_store(self, store_id: str) -> None:
        """Make a folder ``data/<id>`` with an empty ``mnemon.db``, and a namespace."""
        if not SPACE_ID.fullmatch(store_id):
            raise ProviderRejected(f"{store_id!r} is no name of a store")
        if store_id in self.service.namespaces:
            raise ProviderConflict(f"there is a store {store_id} already")
        await self.service.serve("create_store", store_id, lambda: None)
        folder = anyio.Path(self._root / "data" / store_id)
        await folder.mkdir(parents=True, exist_ok=True)
        await (folder / "mnemon.db").touch()
        self.service.namespaces[store_id] = Namespace()

    async def set_default_store(self, store_id: str) -> None:
        """Write the name into ``active``."""
        await self.service.serve("set_default_store", store_id, lambda: self._known(store_id))
        await anyio.Path(self._root / "active").write_text(store_id, encoding="utf-8")

    async def remove_store(self, store_id: str) -> None:
        """Delete the folder and the namespace; the default store is refused."""
        await self.service.serve("remove_store", store_id, lambda: self._known(store_id))
        active = anyio.Path(self._root / "active")
        default = await active.read_text(encoding="utf-8") if await active.exists() else "default"
        if default.strip() == store_id:
            raise ProviderRejected(f"{store_id} is the default store")
        folder = anyio.Path(self._root / "data" / store_id)
        await (folder / "mnemon.db").unlink(missing_ok=True)
        await folder.rmdir()
        del self.service.namespaces[store_id]

    async def import_draft(
        self, space: SpaceView, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge]
    ) -> Result:
        """Import what is not there yet."""
        return await self._ask("import_draft", space, partial(self._import, insights, edges))

    async def embedding_status(self) -> Mapping[str, Any]:
        """Tell that there are no embeddings."""
        status = {"enabled": False, "available": False, "model": "", "endpoint": "", "protocol": ""}
        return await self.service.serve("embedding_status", "", lambda: status)

    @property
    def _root(self) -> Any:
        native = self.context.native
        return native.data_dir if native else self.context.memory_spaces.data_dir()

    def _known(self, store_id: str) -> None:
        if store_id not in self.service.namespaces:
            raise ProviderNotFound(f"there is no store {store_id}")

    def _import(
        self, insights: Sequence[DraftInsight], edges: Sequence[DraftEdge], namespace: Namespace
    ) -> Result:
        ids: list[str] = []
        imported = 0
        for draft in insights:
            known = namespace.same(draft.content)
            id = known or self.service.new_id()
            if known is None:
                request = RememberRequest(
                    content=draft.content,
                    category=draft.category or "general",
                    importance=draft.importance or 3,
                    source=draft.source or "import",
                    tags=draft.tags,
                    entities=draft.entities,
                )
                namespace.keep(id, request, draft.created_at)
                imported += 1
            ids.append(id)
        fresh = [
            namespace.join(
                ids[edge.source_index],
                ids[edge.target_index],
                edge.edge_type,
                edge.weight,
                edge.reason,
            )
            for edge in edges
        ]
        return {
            "action": "imported",
            "imported": imported,
            "skipped": len(insights) - imported,
            "updated": 0,
            "edges_inserted": sum(fresh),
            "errors": [],
        }


def reference_manifest(type_id: str = "reference", **changes: Any) -> ProviderManifest:
    """Return a manifest that declares everything; ``changes`` replace what it says."""
    said: dict[str, Any] = {
        "type_id": type_id,
        "package_name": f"dsh-mnemon-provider-{type_id}",
        "version": "0.1.0",
        "label": type_id.capitalize(),
        "summary": "Keeps memories in the memory of the process.",
        "origin": "third-party",
        "locality": "local",
        "workspace_binding": "provider-global",
        "capabilities": EVERYTHING,
        "fields": [
            {"key": "apiKey", "label": "API key", "scope": "service", "input": "secret"},
            {"key": "project", "label": "Project", "scope": "memory", "input": "text"},
        ],
        "secrets": ["apiKey"],
        "score_semantics": "normalized-relevance",
    }
    return ProviderManifest.model_validate({**said, **changes})


def reference_provider(
    service: ReferenceService | None = None,
    *,
    manifest: ProviderManifest | None = None,
    adapter: type[ReferenceAdapter] | None = None,
    config_model: type[BaseModel] = NoConfig,
) -> ProviderModule:
    """Return a Provider module over a service.

    Args:
        service: What it talks to; one without namespaces of its own when absent.
        manifest: What it says of itself; `reference_manifest` when absent.
        adapter: Class of its adapters; `NativeReferenceAdapter` for a manifest of origin
            ``native``, else `ReferenceAdapter`.
        config_model: Model of the child's configuration.
    """
    said = manifest or reference_manifest()
    native = said.origin == "native"
    made_by = adapter or (NativeReferenceAdapter if native else ReferenceAdapter)
    shared = service or ReferenceService()

    def create(context: ProviderContext) -> ProviderAdapter:
        return made_by(context, shared)

    def apply(ctx: Context, host: ProviderHost, config: Any) -> None:
        del config
        host.install(ctx, ProviderDefinition(manifest=said, create=create))

    return ProviderModule(id=said.type_id, apply=apply, config_model=config_model)

"""What the tests of the core share: a bench on which Sources and Strategies are made from words."""

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import pytest
from dsh_mnemon_core._engine.compose import compose
from dsh_mnemon_core._engine.generation import Generation, build_candidate
from dsh_mnemon_core._engine.registry import Snapshot, merge, records
from dsh_mnemon_core.evidence import Evidence, EvidenceItem, Receipt
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.runtime import GenerationOptions
from dsh_mnemon_core.scope import OperationScope, ViewBudget, ViewRequest
from dsh_mnemon_core.source import (
    ActionManifest,
    ManagementResult,
    RouteManifest,
    SourceContext,
    SourceDefinition,
    SourceFacts,
    SourceManifest,
)
from dsh_mnemon_core.strategy import (
    ANY,
    ExtensionDefinition,
    ExtensionManifest,
    ProjectionSpec,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    ViewSpec,
)
from dsh_mnemon_core.view import Contribution, Fragment, ReadGrant, View

SCOPE = OperationScope(storage="custom")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Answers:
    """The plain answers of a Source; a callback given to `Bench.source` may use them."""

    context: SourceContext
    manifest: SourceManifest

    @property
    def key(self) -> str:
        return self.context.source_instance_key

    def known(self, **overrides: Any) -> SourceFacts:
        plain = {
            "source_instance_key": self.key,
            "source_type_id": self.manifest.type_id,
            "role": self.manifest.role,
            "availability": "ready",
            "revision": "r1",
            "capabilities": self.manifest.capabilities,
            "route_ids": tuple(route.id for route in self.manifest.routes),
            "action_ids": tuple(action.id for action in self.manifest.actions),
        }
        return SourceFacts(**{**plain, **overrides})

    def grant(self, **overrides: Any) -> ReadGrant:
        plain = {
            "id": f"{self.key}/grant",
            "source_instance_key": self.key,
            "schema": "bench/v1",
            "value": {"of": self.key},
            "revision": "g1",
            "consistency": self.manifest.consistency,
        }
        return ReadGrant(**{**plain, **overrides})

    def fragment(self, request: Any, **overrides: Any) -> Fragment:
        plain = {
            "id": "cover",
            "source_instance_key": self.key,
            "mode": request.mode,
            "text": f"about {self.manifest.type_id}",
            "revision": request.expected_revision,
        }
        return Fragment(**{**plain, **overrides})

    def shown(self, request: Any, **overrides: Any) -> Contribution:
        fragments = (self.fragment(request),) if request.include_projection else ()
        plain = {"fragments": fragments, "read_grant": self.grant()}
        return Contribution(**{**plain, **overrides})

    def found(self, request: Any, *items: EvidenceItem, **overrides: Any) -> Evidence:
        plain = {
            "id": "evidence-1",
            "view_id": request.view.id,
            "route_id": request.route.id,
            "source_instance_key": self.key,
            "items": items or (EvidenceItem(id="one", text="one"),),
        }
        return Evidence(**{**plain, **overrides})

    def changed(self, request: Any, **overrides: Any) -> Receipt:
        plain = {
            "id": "receipt-1",
            "view_id": request.view.id,
            "offer_id": request.offer.id,
            "source_instance_key": self.key,
            "status": "succeeded",
            "completion": "accepted",
        }
        return Receipt(**{**plain, **overrides})


async def _facts(source: Answers, _request: Any) -> SourceFacts:
    return source.known()


async def _project(source: Answers, request: Any) -> Contribution:
    return source.shown(request)


async def _query(source: Answers, request: Any) -> Evidence:
    return source.found(request)


async def _mutate(source: Answers, request: Any) -> Receipt:
    return source.changed(request)


async def _manage(_source: Answers, request: Any) -> ManagementResult:
    return ManagementResult(revision="r2", value={"did": request.operation})


CALLBACKS = {
    "facts": _facts,
    "project": _project,
    "query": _query,
    "mutate": _mutate,
    "manage": _manage,
}


@attrs.frozen
class Bench:
    """Makes definitions, snapshots, generations and Views; everything has a default."""

    now: Callable[[], Any]

    def source(
        self,
        type_id: str = "alpha",
        *,
        absent: Sequence[str] = (),
        manifest: dict[str, Any] | None = None,
        **callbacks: Any,
    ) -> SourceDefinition:
        """Make a Source with the route ``search`` and the action ``save``.

        Args:
            type_id: Its type.
            absent: Callbacks it does not have.
            manifest: Manifest fields that differ.
            callbacks: ``async (source, request)`` by name; ``source`` has `Answers`.
        """
        plain: dict[str, Any] = {
            "type_id": type_id,
            "package_name": f"bench-{type_id}",
            "role": "working-context",
            "capabilities": ("project", "search", "write"),
            "consistency": "exact-snapshot",
            "routes": (self.route(),),
            "actions": (self.action(),),
            "management": {"label": "Bench"},
        }
        made = SourceManifest(**{**plain, **(manifest or {})})
        methods = {**CALLBACKS, **callbacks}
        kept = {name: call for name, call in methods.items() if name not in absent}
        runtime_class = type("BenchSource", (Answers,), kept)

        def create(context: SourceContext) -> Any:
            runtime = runtime_class()
            runtime.context, runtime.manifest = context, made
            return runtime

        return SourceDefinition(manifest=made, create=create)

    def route(self, id: str = "search", **overrides: Any) -> RouteManifest:
        plain: dict[str, Any] = {
            "id": id,
            "description": "Search.",
            "capability": "search",
            "input_schema": {"type": "object"},
            "max_calls": 2,
        }
        return RouteManifest(**{**plain, **overrides})

    def action(self, id: str = "save", **overrides: Any) -> ActionManifest:
        plain: dict[str, Any] = {
            "id": id,
            "description": "Save.",
            "capability": "write",
            "input_schema": {"type": "object"},
        }
        return ActionManifest(**{**plain, **overrides})

    def strategy(
        self,
        type_id: str = "plain",
        *,
        manifest: dict[str, Any] | None = None,
        compose: Any = None,
        create_turn: Any = None,
        **selection: Any,
    ) -> StrategyDefinition:
        """Make a Strategy that selects every Source with all it offers, unless it composes."""
        plain: dict[str, Any] = {
            "type_id": type_id,
            "package_name": f"bench-{type_id}",
            "deterministic": True,
            "supported_source_roles": (ANY,),
            "max_sources": 8,
            "max_routes": 8,
            "max_actions": 8,
        }

        def select_all(_request: Any, sources: Any, _contributions: Any) -> ViewSpec:
            return self.spec(*(self.selection(item, **selection) for item in sources))

        return StrategyDefinition(
            manifest=StrategyManifest(**{**plain, **(manifest or {})}),
            compose=compose or select_all,
            create_turn=create_turn,
        )

    def selection(self, source: Any, **overrides: Any) -> SourceSelection:
        plain = {
            "source_instance_key": source.source_instance_key,
            "projection": ProjectionSpec(mode="eager", max_characters=100),
            "route_ids": source.route_ids,
            "action_ids": source.action_ids,
        }
        return SourceSelection(**{**plain, **overrides})

    def spec(self, *selections: SourceSelection, **overrides: Any) -> ViewSpec:
        plain = {"strategy_type_id": "plain", "sources": selections, "explanation": "All."}
        return ViewSpec(**{**plain, **overrides})

    def extension(
        self, type_id: str = "extra", *, contribute: Any, slot: str = "selection", target: str = ANY
    ) -> ExtensionDefinition:
        manifest = ExtensionManifest(
            type_id=type_id,
            package_name=f"bench-{type_id}",
            strategy_type_id=target,
            slot=slot,
            deterministic=True,
        )
        return ExtensionDefinition(manifest=manifest, contribute=contribute)

    def batch(self, definition: Any, **more: Any) -> Contributions:
        """Wrap one definition as the contributions of a plugin."""
        kinds = {
            SourceDefinition: "sources",
            StrategyDefinition: "strategies",
            ExtensionDefinition: "strategy_extensions",
        }
        return Contributions(**{kinds[type(definition)]: (definition,)}, **more)

    def snapshot(self, *definitions: Any, revision: int = 1) -> Snapshot:
        """Install definitions under their type ids."""
        snapshot = Snapshot()
        for item in definitions:
            batch = records(item.manifest.type_id, self.batch(item))
            snapshot = merge(snapshot, batch, revision)
        return attrs.evolve(snapshot, revision=revision)

    def options(self, **options: Any) -> GenerationOptions:
        return GenerationOptions(**{"now": self.now, **options})

    def generation(self, *definitions: Any, **options: Any) -> Generation:
        """Build a generation; without a Strategy among them, of the plain one."""
        given = list(definitions)
        if not any(isinstance(item, StrategyDefinition) for item in given):
            given.append(self.strategy())
        return build_candidate(self.snapshot(*given), self.options(**options))

    def request(self, **budget: int) -> ViewRequest:
        return ViewRequest(scope=SCOPE, scenario="bench", budget=ViewBudget(**budget))

    async def view(self, generation: Generation, **budget: int) -> View:
        return await compose(generation, self.request(**budget))


@pytest.fixture
def bench(frozen_now: Any) -> Bench:
    """Return the bench; its clock stands at 2026-01-02T03:04:05.678Z."""
    return Bench(frozen_now)

"""A Host over one Source and one Strategy that live in this file, and clients of its MCP server."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any

import anyio
import attrs
import pytest
from dsh_mnemon_core.errors import InputError, StorageError
from dsh_mnemon_core.profile import Profile, Row
from dsh_mnemon_core.sdk import (
    MEMORY_SERVICE,
    ActionManifest,
    Contribution,
    Contributions,
    Evidence,
    EvidenceItem,
    Fragment,
    Guidance,
    ManagementResult,
    Plugin,
    ProjectionSpec,
    ReadGrant,
    RouteManifest,
    SourceDefinition,
    SourceFacts,
    SourceManifest,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    ViewSpec,
    create_receipt,
    install_memory,
)
from dsh_mnemon_host.harness.mcp import McpHarness, build_server
from dsh_mnemon_host.memory_host import MemoryHost
from mcp import Client

OBJECT = {"type": "object"}

MANIFEST = SourceManifest(
    type_id="runtime",
    package_name="notes",
    role="working-context",
    capabilities=("status", "project", "search", "write"),
    consistency="exact-snapshot",
    routes=(
        RouteManifest(
            id="look",
            description="Look at the notes.",
            capability="search",
            input_schema=OBJECT,
            max_calls=1,
        ),
    ),
    actions=(
        ActionManifest(
            id="mutate", description="Add a note.", capability="write", input_schema=OBJECT
        ),
    ),
    management={"label": "Notes"},
)


@attrs.define
class Store:
    """What the Source keeps; a test that appends to ``notes`` is another process."""

    notes: list[str] = attrs.field(factory=list)
    failure: Exception | None = None
    hold: anyio.Event | None = None
    entered: anyio.Event = attrs.field(factory=anyio.Event)
    asked: int = 0
    role: str = "working-context"
    unreadable: bool = False

    @property
    def revision(self) -> str:
        return hashlib.sha256(json.dumps(self.notes).encode()).hexdigest()


class Notes:
    """The Source runtime over a `Store`."""

    def __init__(self, key: str, store: Store) -> None:
        self.key = key
        self.store = store

    async def facts(self, request: Any) -> SourceFacts:
        self.store.asked += 1
        if self.store.failure is not None:
            raise self.store.failure
        return SourceFacts(
            source_instance_key=self.key,
            source_type_id="runtime",
            role=self.store.role,
            availability="ready",
            revision=self.store.revision,
            capabilities=MANIFEST.capabilities,
            route_ids=("look",),
            action_ids=("mutate",),
        )

    async def project(self, request: Any) -> Contribution:
        fragment = Fragment(
            id="notes",
            source_instance_key=self.key,
            mode=request.mode,
            text="NOTES " + json.dumps(self.store.notes),
            revision=request.expected_revision,
            provenance={"sourceTypeId": "runtime"},
        )
        grant = ReadGrant(
            id="grant",
            source_instance_key=self.key,
            schema="notes/v1",
            value={},
            revision=request.expected_revision,
            consistency="exact-snapshot",
        )
        return Contribution(fragments=(fragment,), read_grant=grant)

    async def query(self, request: Any) -> Evidence:
        items = [EvidenceItem(id=str(n), text=note) for n, note in enumerate(self.store.notes)]
        return Evidence(
            id="evidence",
            view_id=request.view.id,
            route_id=request.route.id,
            source_instance_key=self.key,
            items=tuple(items),
            truncated=False,
        )

    async def mutate(self, request: Any) -> Any:
        content = request.input["content"]
        if content == "bad":
            raise InputError("note-bad", "this note is bad", details={"path": ("a", 1)})
        if self.store.hold is not None:
            self.store.entered.set()
            await self.store.hold.wait()
        self.store.notes.append(content)
        return create_receipt(
            request,
            completion="committed",
            revision=self.store.revision,
            details={"success": True, "added": content},
        )

    async def manage(self, request: Any) -> ManagementResult:
        if self.store.unreadable:
            raise StorageError("store-unreadable", "the store cannot be read")
        sizes = {"user": {"used": len(self.store.notes), "limit": 9}}
        return ManagementResult(revision=self.store.revision, value={"targets": sizes})


def _strategy() -> StrategyDefinition:
    def compose(_request: Any, sources: Any, _contributions: Any) -> ViewSpec:
        return ViewSpec(
            strategy_type_id="plain",
            sources=tuple(
                SourceSelection(
                    source_instance_key=source.source_instance_key,
                    required=True,
                    projection=ProjectionSpec(mode="eager", max_characters=9000),
                    route_ids=source.route_ids,
                    action_ids=source.action_ids,
                )
                for source in sources
            ),
            explanation="All.",
            guidance=Guidance(protocol="The protocol.", routing="The routing."),
        )

    manifest = StrategyManifest(
        type_id="plain",
        package_name="plain",
        deterministic=True,
        supported_source_roles=("*",),
        max_sources=8,
        max_routes=8,
        max_actions=8,
        extension_slots=(),
    )
    return StrategyDefinition(manifest=manifest, compose=compose)


def _plugin(name: str, contributions: Contributions) -> Plugin:
    def apply(ctx: Any, _config: Any) -> None:
        install_memory(ctx, contributions)

    return Plugin(name=name, apply=apply, requires=(MEMORY_SERVICE,))


@attrs.frozen
class Bench:
    """An open Host, the store under it, and what opens clients."""

    host: MemoryHost
    store: Store
    folder: Any
    harness: McpHarness
    naps: Naps

    @asynccontextmanager
    async def client(
        self, mode: str = "legacy", workspace: str | None = None, **options: Any
    ) -> AsyncGenerator[Client]:
        server = build_server(self.harness, workspace=workspace)
        async with Client(server, mode=mode, **options) as client:
            yield client

    async def set(self, **values: Any) -> None:
        """Edit the settings file as a person would."""
        text = "".join(f"{key}: {json.dumps(value)}\n" for key, value in values.items())
        await anyio.Path(self.folder / "settings.yaml").write_text(text, encoding="utf-8")


class Naps:
    """A clock whose sleepers a test wakes."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self._alarm = anyio.Event()

    async def sleep(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self._alarm.wait()

    async def ring(self) -> None:
        alarm, self._alarm = self._alarm, anyio.Event()
        alarm.set()
        await anyio.wait_all_tasks_blocked()


@pytest.fixture
async def bench(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Bench]:
    store = Store()
    source = SourceDefinition(
        manifest=MANIFEST, create=lambda context: Notes(context.source_instance_key, store)
    )
    for name, contributions in {
        "notes_plugin": Contributions(sources=(source,)),
        "plain_plugin": Contributions(strategies=(_strategy(),)),
    }.items():
        module = ModuleType(name)
        module.plugin = _plugin(name, contributions)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, name, module)
    profile = Profile(
        rows=(
            Row(id="mnemon", module="dsh_mnemon_host"),
            Row(id="mnemon-source-runtime", module="notes_plugin"),
            Row(id="mnemon-strategy", module="plain_plugin"),
        )
    )
    naps = Naps()
    async with MemoryHost.open(
        profile=profile,
        workspace=tmp_path,
        settings=tmp_path / "settings.yaml",
        env={"MNEMON_DATA_DIR": str(tmp_path / "data")},
        home=tmp_path,
    ) as host:
        harness = McpHarness(host, sleep=naps.sleep)
        detach = host.attach(harness)
        yield Bench(host, store, tmp_path, harness, naps)
        detach()

"""Fixtures of the Memory Spaces tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.errors import ConfigurationError, MnemonError
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.sdk import (
    FactsRequest,
    ManagementRequest,
    NoConfig,
    SourceContext,
    json_clone,
)
from dsh_mnemon_source_memory_spaces import Config, MemorySpacesSource, memory_spaces_source
from dsh_mnemon_source_memory_spaces._children import ChildEntry, MountedChild, MountedChildren
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderDefinition, ProviderModule
from dsh_mnemon_source_memory_spaces.testing.reference import (
    ReferenceService,
    reference_manifest,
    reference_provider,
)
from dsh_mnemon_testing import VirtualClock

ENTRY = "mnemon-source-memory-spaces"


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture
def clock() -> VirtualClock:
    """A clock that stands still."""
    return VirtualClock()


class _Capture:
    def __init__(self) -> None:
        self.definition: ProviderDefinition | None = None

    def install(self, _ctx: Any, definition: ProviderDefinition) -> None:
        self.definition = definition


def mounted(*modules: ProviderModule) -> MountedChildren:
    """Return modules as children that have started, without a Fiber around them."""
    children = []
    for module in modules:
        host = _Capture()
        module.apply(None, host, NoConfig())  # type: ignore[arg-type]
        children.append(
            MountedChild(
                entry=ChildEntry(use=module),
                source_instance_id=ENTRY,
                module=module,
                definition=host.definition,
            )
        )
    return MountedChildren(ENTRY, children)


@pytest.fixture
def mount() -> Callable[..., MountedChildren]:
    """Mount Provider modules without a Fiber."""
    return mounted


@attrs.define
class Room:
    """A Source over a native Provider and two others, asked by hand."""

    source: MemorySpacesSource
    native: ReferenceService
    alpha: ReferenceService
    beta: ReferenceService
    clock: VirtualClock
    context: SourceContext
    key: str = f"source:{ENTRY}"
    scope: OperationScope = attrs.field(factory=lambda: OperationScope(storage="custom"))

    async def facts(self, scenario: str = "agent.root-turn") -> Any:
        return await self.source.facts(
            FactsRequest(source_instance_key=self.key, scope=self.scope, scenario=scenario)
        )

    async def answer(self, mode: Any, operation: str, value: Any = None, **more: Any) -> Any:
        request = {
            "source_instance_key": self.key,
            "scope": self.scope,
            "mode": mode,
            "operation": operation,
            "input": json_clone(value),
            **more,
        }
        return await self.source.manage(ManagementRequest(**request))

    async def read(self, operation: str, value: Any = None) -> Any:
        """Perform a management read."""
        return (await self.answer("read", operation, value)).value

    async def change(self, operation: str, value: Any = None, **more: Any) -> Any:
        """Perform a confirmed management mutation at the current revision."""
        fence = {"expected_revision": (await self.facts("management.mutate")).revision}
        fenced = {**fence, "confirmed": True, **more}
        return (await self.answer("mutate", operation, value, **fenced)).value

    async def refused(self, operation: str, value: Any = None, *, mode: str = "mutate") -> str:
        """Return the code with which an operation is refused."""
        call = self.change if mode == "mutate" else self.read
        with pytest.raises(MnemonError) as caught:
            await call(operation, value)
        return caught.value.code

    async def create(self, name: str, *, active: bool = True, **more: Any) -> str:
        """Create a native Space and return its id."""
        request = {"name": name, "description": f"About {name}.", "active": active, **more}
        body = (await self.change("body-create", {"request": request}))["body"]
        return str(body["id"])

    async def connect(self, provider: str, **settings: Any) -> list[str]:
        """Switch a service on and return the ids of the Spaces it has."""
        await self.change("provider-service-update", {"providerId": provider, "settings": settings})
        bodies = (await self.read("body-directory"))["bodies"]
        return [body["id"] for body in bodies if body["providerId"] == provider]

    async def keep(self, space: str, *contents: str, **more: Any) -> list[str]:
        """Remember contents in a Space and return their ids."""
        requests = [{"content": text, "memoryBodyId": space, **more} for text in contents]
        results = (await self.change("remember-many", {"requests": requests}))["results"]
        return [result["id"] for result in results]


@pytest.fixture
def make_room(tmp_path: Path, clock: VirtualClock) -> Callable[..., Room]:
    """Start a Source with the Providers ``mnemon-native``, ``alpha`` and ``beta``."""

    def make(
        config: dict[str, Any] | None = None, *, more: Sequence[MountedChild] = (), **said: Any
    ) -> Room:
        native, alpha, beta = (
            ReferenceService(),
            ReferenceService("one", "two", key="alpha-secret"),
            ReferenceService("log"),
        )
        own = {"fields": [], "secrets": [], "origin": "native"}
        modules = (
            reference_provider(
                native,
                manifest=reference_manifest("mnemon-native", **{**own, **said.get("native", {})}),
            ),
            reference_provider(
                alpha, manifest=reference_manifest("alpha", **said.get("alpha", {}))
            ),
            reference_provider(beta, manifest=reference_manifest("beta", **said.get("beta", {}))),
        )
        row = Config.model_validate({"dataDir": str(tmp_path), **(config or {})})
        children = MountedChildren(ENTRY, (*mounted(*modules), *more))
        definition = memory_spaces_source(row, children, clock=clock)
        context = SourceContext(
            source_instance_key=f"source:{ENTRY}",
            provenance=Provenance(package_name="dsh-mnemon-source-memory-spaces", entry_id=ENTRY),
        )
        source = definition.create(context)
        assert isinstance(source, MemorySpacesSource)
        return Room(source, native, alpha, beta, clock, context)

    return make


@pytest.fixture
def broken_room(make_room: Callable[..., Room]) -> Room:
    """A Source one of whose Providers is not installed, and another did not start."""
    errors = {
        "gone": ConfigurationError("module-absent", "gone is not installed"),
        "broken": ConfigurationError("config-invalid", "broken: token is missing"),
    }
    children = [
        MountedChild(entry=ChildEntry(use=name), source_instance_id=ENTRY, error=error)
        for name, error in errors.items()
    ]
    return make_room(more=children)


@pytest.fixture
async def room(make_room: Callable[..., Room]) -> Any:
    """A Source that is disposed at the end."""
    made = make_room()
    yield made
    await made.source.dispose()

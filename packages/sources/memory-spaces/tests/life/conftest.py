"""Fixtures of the tests about registry and life of Spaces."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_core.fiber import open_root
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_source_memory_spaces._children import ChildEntry, Children, mount_children
from dsh_mnemon_source_memory_spaces._config import Config, settings
from dsh_mnemon_source_memory_spaces._registry.store import Registry
from dsh_mnemon_source_memory_spaces._services import authority
from dsh_mnemon_source_memory_spaces._spaces import Spaces
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderModule
from dsh_mnemon_source_memory_spaces.testing import (
    ReferenceService,
    reference_manifest,
    reference_provider,
)


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def tick(self, seconds: float = 1) -> None:
        self.now += timedelta(seconds=seconds)


@attrs.define(kw_only=True, eq=False)
class Life:
    """Spaces over a root, and what they stand on."""

    root: Path
    registry: Registry
    children: Children
    spaces: Spaces
    clock: Clock

    @property
    def native_file(self) -> Path:
        return self.root / "data" / ".dsh-memory-bodies.json"

    @property
    def external_file(self) -> Path:
        return self.root / "state" / "memory-providers.json"

    def adapter(self, instance_id: str) -> Any:
        return self.children.get(instance_id).adapter


@pytest.fixture
def clock() -> Clock:
    """The time of the test."""
    return Clock()


@pytest.fixture
def stores() -> ReferenceService:
    """What lies behind the native Provider."""
    return ReferenceService()


@pytest.fixture
def native(stores: ReferenceService) -> ProviderModule:
    """A native Provider."""
    manifest = reference_manifest(
        "mnemon-native", label="Mnemon Native", origin="native", fields=[], secrets=[]
    )
    return reference_provider(stores, manifest=manifest)


@pytest.fixture
def service() -> ReferenceService:
    """What lies behind the third-party Provider ``alpha``."""
    return ReferenceService("proj/one", "proj/two")


ALPHA_FIELDS = [
    {"key": "endpoint", "label": "Endpoint", "scope": "service", "input": "url", "required": True},
    {"key": "apiKey", "label": "API key", "scope": "service", "input": "secret"},
    {
        "key": "home",
        "label": "Home",
        "scope": "service",
        "input": "text",
        "discoveryDefaultFrom": "project",
    },
    {"key": "project", "label": "Project", "scope": "memory", "input": "text", "required": True},
    {"key": "token", "label": "Token", "scope": "memory", "input": "secret"},
]


@pytest.fixture
def alpha_manifest() -> Callable[..., Any]:
    """Make the manifest of ``alpha``."""
    said = {"type_id": "alpha", "label": "Alpha", "fields": ALPHA_FIELDS}
    secrets = ["apiKey", "token"]
    return lambda **changes: reference_manifest(**{**said, "secrets": secrets, **changes})


@pytest.fixture
def alpha(service: ReferenceService, alpha_manifest: Callable[..., Any]) -> ProviderModule:
    """A third-party Provider with service and memory fields."""
    return reference_provider(service, manifest=alpha_manifest())


@pytest.fixture
async def open_life(
    tmp_path: Path, clock: Clock, anyio_backend: str
) -> AsyncGenerator[Callable[..., Awaitable[Life]]]:
    """Open Spaces over ``tmp_path/root`` with Providers of the test's choice."""
    numbers = count(1)
    async with AsyncExitStack() as stack:

        async def open_(
            *modules: ProviderModule,
            config: dict[str, Any] | None = None,
            root: Path = tmp_path / "root",
            timing: LockTiming | None = None,
        ) -> Life:
            context = await stack.enter_async_context(open_root())
            mounted = await mount_children(
                context, "memory-spaces", [ChildEntry(use=module) for module in modules]
            )
            in_force = settings(
                Config.model_validate({"dataDir": str(root), **(config or {})}), {}, "source:s"
            )
            registry = Registry(root, store=in_force.config.store, clock=clock, timing=timing)
            children = Children(
                mounted,
                authority=authority(registry),
                config=in_force.provider,
                native=in_force.native,
            )
            stack.push_async_callback(children.aclose)
            spaces = Spaces(
                registry, children, settings=in_force, new_id=lambda: f"new-{next(numbers)}"
            )
            return Life(root=root, registry=registry, children=children, spaces=spaces, clock=clock)

        yield open_


@pytest.fixture
async def life(
    open_life: Callable[..., Awaitable[Life]], native: ProviderModule, alpha: ProviderModule
) -> Life:
    """Spaces of a native Provider and of ``alpha``."""
    return await open_life(native, alpha)

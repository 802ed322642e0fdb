"""What a subclass of the Provider contract supplies, and what its tests build from that."""

# ruff: noqa: S101 - a contract is made of assertions

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import attrs
import pytest
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_testing.guard import Contract

from dsh_mnemon_source_memory_spaces.provider_sdk import (
    CapabilityName,
    Insight,
    ListRequest,
    NativeAdapter,
    NativeSettings,
    ProviderAdapter,
    ProviderManifest,
    ProviderModule,
    RecallMode,
    RememberRequest,
    SearchRequest,
    SpaceView,
)
from dsh_mnemon_source_memory_spaces.testing.fixture import (
    ProviderFixture,
    SpaceSetup,
    provider_fixture,
)
from dsh_mnemon_source_memory_spaces.testing.mounting import MountedProvider, mount_provider

MODES: Final[tuple[RecallMode, ...]] = ("smart", "keyword", "basic")
"""Every mode a search may be asked in."""

Answer = TypeVar("Answer")

SAMPLES: Final = (
    RememberRequest(
        content="The nightly backup of Postgres runs at two in the morning.",
        category="fact",
        importance=4,
        tags=("backup",),
        entities=("Postgres",),
    ),
    RememberRequest(
        content="Mara prefers window seats on long train rides.",
        category="preference",
        entities=("Mara",),
    ),
    RememberRequest(
        content="The release branch is cut every second Thursday, after the review with Mara.",
        category="decision",
        importance=5,
        entities=("Mara", "release"),
    ),
)
"""What a Space is filled with, unless a subclass has samples of its own."""


@attrs.frozen
class SampleSearch:
    """A query and the sample, by its place among `ProviderHooks.samples`, it must find."""

    query: str
    finds: int


@attrs.define(kw_only=True, eq=False)
class RunningProvider:
    """One instance of a Provider with its Spaces.

    Attributes:
        mounted: The mounted Provider.
        fixture: Its Spaces and settings.
        adapter: Its operations.
        folder: Its data directory.
    """

    mounted: MountedProvider
    fixture: ProviderFixture
    adapter: ProviderAdapter
    folder: Path

    @property
    def manifest(self) -> ProviderManifest:
        """What the Provider says of itself."""
        return self.mounted.manifest

    @property
    def space(self) -> SpaceView:
        """The Space that tests fill."""
        return self.fixture.spaces[0]

    @property
    def other(self) -> SpaceView:
        """Another Space of the same Provider."""
        return self.fixture.spaces[1]

    async def contents(self, space: SpaceView | None = None) -> list[str]:
        """Return the contents of a Space, sorted; page by page."""
        return sorted(item.content for item in await self.items(space))

    async def items(self, space: SpaceView | None = None) -> list[Insight]:
        """Return everything a Space lists, in order."""
        found: list[Insight] = []
        cursor: str | None = None
        while True:
            page = await self.adapter.list(space or self.space, ListRequest(cursor=cursor))
            found += page.items
            if page.next_cursor is None:
                return found
            assert page.next_cursor != cursor, "list gives a cursor that leads nowhere"
            cursor = page.next_cursor

    async def search(self, query: str, **more: Any) -> list[Insight]:
        """Search the Space that tests fill."""
        answer = await self.adapter.search(self.space, SearchRequest(query=query, **more))
        return list(answer.results)


class ProviderHooks(Contract):
    """Factories, hooks and flags of the Provider contract; see `ProviderContract`."""

    is_durable: ClassVar[bool] = True
    """What was kept is there for the next adapter over the same folder or service."""

    is_lexical: ClassVar[bool] = True
    """A query none of whose words occurs finds nothing; False for similarity without a floor."""

    has_damage: ClassVar[bool] = True
    """`damage` can make the service or the store unusable."""

    patience: ClassVar[float] = 5.0
    """Seconds within which a cancelled call must have ended."""

    # -- what a subclass supplies ------------------------------------------------------------------

    def make_provider(self, tmp_path: Path) -> ProviderModule:
        """Return the Provider module under test; called once an instance.

        Args:
            tmp_path: The data directory of that instance, empty the first time.
        """
        raise NotImplementedError(f"{type(self).__name__} needs make_provider(tmp_path)")

    def child_config(self, tmp_path: Path) -> Mapping[str, Any]:
        """Return the child's configuration as a profile spells it; none by default."""
        del tmp_path
        return {}

    def service(self, tmp_path: Path) -> Mapping[str, Any]:
        """Return the entered service settings; none by default.

        Give every secret field a value of at least 12 characters: the tests look for it.
        """
        del tmp_path
        return {}

    def spaces(self, tmp_path: Path) -> tuple[SpaceSetup, SpaceSetup]:
        """Return two Spaces of one Provider; by default ``one`` and ``two`` without settings."""
        del tmp_path
        return SpaceSetup(id="one", external_id="one"), SpaceSetup(id="two", external_id="two")

    def native(self, tmp_path: Path) -> NativeSettings:
        """Return what a Provider of origin ``native`` gets besides; stores in ``tmp_path``."""
        return NativeSettings(data_dir=tmp_path)

    async def prepare(self, running: RunningProvider, space: SpaceView) -> None:
        """Make a Space ready for its first use; a native one gets its store by default."""
        if isinstance(running.adapter, NativeAdapter):
            await running.adapter.create_store(space.id)

    async def settle(self, running: RunningProvider) -> None:
        """Wait until what was accepted can be found; nothing by default."""

    async def damage(self, running: RunningProvider) -> None:
        """Make the service or the store of the first Space unusable."""
        raise NotImplementedError(f"{type(self).__name__} needs damage(running), or has_damage")

    def samples(self) -> Sequence[RememberRequest]:
        """Return at least three memories with different contents."""
        return SAMPLES

    def sample_searches(self) -> Sequence[SampleSearch]:
        """Return queries over the samples."""
        return (
            SampleSearch("nightly backup Postgres", 0),
            SampleSearch("window seats train", 1),
            SampleSearch("release branch Thursday", 2),
        )

    # -- what the tests build ----------------------------------------------------------------------

    @pytest.fixture(autouse=True)
    async def close_started(self, anyio_backend: Any) -> AsyncGenerator[None]:
        """Undo, at the end of a test, every Provider it mounted."""
        del anyio_backend  # asked for, so that anyio runs this fixture
        async with AsyncExitStack() as self._stack:
            yield

    async def started(self, tmp_path: Path, name: str = "one", **service: Any) -> RunningProvider:
        """Start an instance over the folder ``<tmp_path>/<name>``, which is made if missing.

        Args:
            tmp_path: Folder of the test.
            name: Name of the instance; the same name is the same store.
            service: Service settings that replace those of `service`.
        """
        folder = tmp_path / name
        fresh = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        mounted = await self._stack.enter_async_context(
            mount_provider(self.make_provider(folder), config=self.child_config(folder))
        )
        fixture = self.fixture(mounted.manifest, folder, **service)
        running = RunningProvider(
            mounted=mounted, fixture=fixture, adapter=mounted.adapter(fixture), folder=folder
        )
        if fresh:
            for space in fixture.spaces:
                await self.prepare(running, space)
        return running

    def fixture(self, manifest: ProviderManifest, folder: Path, **service: Any) -> ProviderFixture:
        """Return Spaces and settings of an instance; ``service`` replaces single settings."""
        return provider_fixture(
            manifest,
            folder,
            spaces=self.spaces(folder),
            service={**self.service(folder), **service},
            native=self.native(folder) if manifest.origin == "native" else None,
        )

    async def filled(self, tmp_path: Path, name: str = "one") -> RunningProvider:
        """Start an instance and keep every sample in its first Space."""
        running = await self.started(tmp_path, name)
        await self.fill(running)
        return running

    async def fill(self, running: RunningProvider) -> None:
        """Keep every sample in the first Space; nothing where nothing can be kept."""
        if running.manifest.capabilities.remember:
            for request in self.samples():
                await running.adapter.remember(running.space, request)
            await self.settle(running)

    def needs(self, running: RunningProvider, *flags: CapabilityName) -> None:
        """Skip a test that asks for what the manifest does not declare."""
        for flag in flags:
            if not getattr(running.manifest.capabilities, flag):
                pytest.skip(f"{running.manifest.type_id} declares no {flag}")

    def needs_exact(self, running: RunningProvider) -> None:
        """Skip a test about text that is kept as it was given."""
        if running.manifest.capabilities.write_mode != "exact":
            pytest.skip(f"{running.manifest.type_id} derives from what it is given")

    async def refused(self, call: Awaitable[Answer]) -> Answer | None:
        """Return the answer of a call, or ``None`` when it was refused by a `MnemonError`."""
        try:
            return await call
        except MnemonError:
            return None

"""The registry of a root together with the Providers mounted over it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

from dsh_mnemon_core.errors import InputError, LifecycleError

from dsh_mnemon_source_memory_spaces._children import Children
from dsh_mnemon_source_memory_spaces._config import Settings
from dsh_mnemon_source_memory_spaces._registry.content import Content, advance
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, SpaceRecord
from dsh_mnemon_source_memory_spaces._registry.store import Registry, Step, T
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import NativeAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("Roster", "catalogue_only")


class Roster:
    """Reads and changes the registry as the mounted Providers see it.

    Args:
        registry: The registry of the root.
        children: The Providers of this generation, whose authority asks the same registry.
        settings: Configuration in force.
        new_id: Makes the unique part of an id.
    """

    def __init__(
        self,
        registry: Registry,
        children: Children,
        *,
        settings: Settings,
        new_id: Callable[[], str] = lambda: str(uuid4()),
    ) -> None:
        self.registry = registry
        self.children = children
        self.settings = settings
        self.new_id = new_id

    async def read(self) -> Catalogue:
        """Return what is registered now."""
        return await self.registry.read(self._manifests())

    async def change(self, step: Step[T], expected_revision: str | None = None) -> T:
        """Apply a change; see `Registry.change`."""
        return await self.registry.change(
            self._manifests(), step, expected_revision=expected_revision
        )

    async def rehearse(self, step: Step[T], expected_revision: str | None = None) -> T:
        """Make sure that a change could be applied now, and return its answer."""
        return await self.registry.change(
            self._manifests(), step, expected_revision=expected_revision, write=False
        )

    def now(self) -> datetime:
        """Return the time."""
        return self.registry.clock()

    def later(self, space: SpaceRecord) -> str:
        """Return the time as the next ``updated_at`` of a Space."""
        return advance(space.updated_at, self.now())

    async def native(self) -> NativeAdapter:
        """Return the native Provider.

        Raises:
            InputError: ``provider-unknown``; none is mounted.
            LifecycleError: ``provider-not-ready``; its engine cannot work.
        """
        child = self.children.native
        if child is None:
            raise InputError("provider-unknown", "no native Provider is mounted")
        adapter = child.adapter
        if not isinstance(adapter, NativeAdapter) or not await self.children.native_ready():
            raise LifecycleError(
                "provider-not-ready", f"the engine of {child.manifest.label} is not ready"
            )
        return adapter

    def _manifests(self) -> dict[str, ProviderManifest]:
        return {child.instance_id: child.manifest for child in self.children.ready}


def catalogue_only(catalogue: Catalogue, content: Content) -> tuple[Content, Catalogue]:
    """Change nothing and answer what is listed."""
    return content, catalogue

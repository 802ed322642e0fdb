"""Mounting one Provider without a Source."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import attrs
from dsh_mnemon_core.fiber import open_root

from dsh_mnemon_source_memory_spaces._children import (
    ChildEntry,
    Children,
    MountedChild,
    MountedChildren,
    mount_children,
)
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderAdapter,
    ProviderDefinition,
    ProviderManifest,
    ProviderModule,
)
from dsh_mnemon_source_memory_spaces.testing.fixture import ProviderFixture

__all__ = ("MountedProvider", "mount_provider")


@attrs.define(kw_only=True, eq=False)
class MountedProvider:
    """A Provider mounted as the one child of nobody's Source.

    Attributes:
        definition: What it installed.
        children: The mounted children: this one.
    """

    definition: ProviderDefinition
    children: MountedChildren
    _opened: list[Children] = attrs.field(factory=list[Children], init=False)

    @property
    def manifest(self) -> ProviderManifest:
        """What the Provider says of itself."""
        return self.definition.manifest

    @property
    def child(self) -> MountedChild:
        """The child and what became of it."""
        return self.children.children[0]

    def adapter(self, fixture: ProviderFixture) -> ProviderAdapter:
        """Make an adapter as a generation does, with every check; closed with the Provider.

        Raises:
            LifecycleError: ``provider-not-ready``; the cause is in the log.
        """
        opened = Children(
            self.children,
            authority=lambda _: fixture.authority,
            config=fixture.config,
            native=fixture.native,
        )
        self._opened.append(opened)
        return next(iter(opened)).adapter

    async def close(self, adapter: ProviderAdapter) -> None:
        """Close one adapter before the end.

        Raises:
            ExceptionGroup: What its ``aclose`` raised.
        """
        for opened in self._opened:
            if next(iter(opened)).adapter is adapter:
                self._opened.remove(opened)
                await opened.aclose()
                return

    async def aclose(self) -> None:
        """Close every adapter, last first."""
        failures: list[Exception] = []
        while self._opened:
            try:
                await self._opened.pop().aclose()
            except ExceptionGroup as group:
                failures.extend(group.exceptions)
        if failures:
            raise ExceptionGroup("not every adapter was closed cleanly", failures)


@asynccontextmanager
async def mount_provider(
    module: ProviderModule | str,
    *,
    config: Mapping[str, Any] | None = None,
    instance_id: str | None = None,
    source_instance_id: str = "memory-spaces",
) -> AsyncGenerator[MountedProvider]:
    """Mount a Provider and, at the end of the block, close its adapters and undo it.

    Args:
        module: The Provider module; or the name to import it by.
        config: Its configuration as a profile spells it.
        instance_id: Its id; the module's own when absent.
        source_instance_id: Entry id of the Source it is thought to belong to.

    Raises:
        ConfigurationError: ``providers-failed``; it cannot be imported, configured or started.
    """
    entry = ChildEntry(use=module, instance_id=instance_id, config=config or {})
    async with open_root() as root:
        children = await mount_children(root, source_instance_id, [entry])
        definition = children.children[0].definition
        assert definition is not None  # noqa: S101 - a child that runs has installed one
        mounted = MountedProvider(definition=definition, children=children)
        try:
            yield mounted
        finally:
            await mounted.aclose()

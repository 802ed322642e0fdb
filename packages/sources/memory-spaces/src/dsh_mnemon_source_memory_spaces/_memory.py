"""The parts of one running Source, and the reads that several of its doors share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

import attrs
from dsh_mnemon_core.files import LockTiming

from dsh_mnemon_source_memory_spaces._catalog import Overview
from dsh_mnemon_source_memory_spaces._children import Children, MountedChildren
from dsh_mnemon_source_memory_spaces._config import Config, Settings
from dsh_mnemon_source_memory_spaces._health import Health
from dsh_mnemon_source_memory_spaces._recall.pipeline import recall
from dsh_mnemon_source_memory_spaces._recall.quality import Quality
from dsh_mnemon_source_memory_spaces._recall.report import RecallReport, RecallRequest, Target
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, SpaceRecord
from dsh_mnemon_source_memory_spaces._registry.store import Registry
from dsh_mnemon_source_memory_spaces._services import authority
from dsh_mnemon_source_memory_spaces._spaces import NewSpace, Spaces
from dsh_mnemon_source_memory_spaces._targets import Targets
from dsh_mnemon_source_memory_spaces._views import Views
from dsh_mnemon_source_memory_spaces._writes import Writer
from dsh_mnemon_source_memory_spaces.actions import SelectionInput, SpaceInput
from dsh_mnemon_source_memory_spaces.routes import RecallInput

__all__ = ("SpacesMemory", "open_memory")


@attrs.frozen(kw_only=True)
class SpacesMemory:
    """What one Source works with.

    Attributes:
        key: Instance key of the Source.
        settings: Configuration in force.
        children: The Providers of this generation.
        spaces: The registry and the life of Spaces.
        quality: The recall policy in force.
        clock: The time, aware.
        health: What is known of the Spaces' health.
        views: What recent Views have returned and created.
        writer: Writes and what they prove.
    """

    key: str
    settings: Settings
    children: Children
    spaces: Spaces
    quality: Quality
    clock: Callable[[], datetime]
    health: Health
    views: Views
    writer: Writer

    @property
    def config(self) -> Config:
        """Configuration in force, without the root."""
        return self.settings.config

    @property
    def seconds(self) -> float:
        """How long the Providers of one read may take together."""
        return self.config.timeout_ms / 1_000

    async def targets(self) -> Targets:
        """Return the Spaces that are registered now, with their Providers."""
        return Targets(await self.spaces.current(), self.children)

    def overview(self, catalogue: Catalogue) -> Overview:
        """Return what is known of a catalogue, asking nobody."""
        return Overview(
            catalogue=catalogue,
            known=dict(self.health.known),
            children=self.children,
            config=self.config,
        )

    async def probed(self, *, all: bool) -> Overview:
        """Ask the Providers of the active Spaces, or of all that are switched on, for health."""
        targets = await self.targets()
        catalogue = targets.catalogue
        wanted = (
            [s for s in catalogue.spaces if catalogue.is_enabled(s.provider_id)]
            if all
            else (catalogue.active)
        )
        ready = [space for space in wanted if self.children.find(space.provider_id) is not None]
        await self.health.look([targets.of(space) for space in ready])
        return self.overview(catalogue)

    async def recall(self, request: RecallInput, targets: Sequence[Target]) -> RecallReport:
        """Search Spaces; no fault of a Provider is raised."""
        wanted = RecallRequest(
            query=request.query,
            mode=request.mode,
            limit=request.limit or self.config.default_recall_limit,
            category=request.category,
            source=request.source,
            intent=request.intent,
        )
        return await recall(wanted, targets, quality=self.quality, seconds=self.seconds)

    async def create(
        self,
        request: SpaceInput,
        selection: SelectionInput | None,
        *,
        expected_revision: str | None = None,
    ) -> SpaceRecord:
        """Create a Space where the persistence strategy says (spec/sources.md §4.5).

        Raises:
            InputError: ``placement-required``: several Providers are left and none was selected;
                and as `Spaces.create`.
        """
        automatic = self.config.persistence_strategy.mode == "automatic"
        placement: Any = None
        if automatic and selection is not None:
            picked = selection.model_dump(by_alias=True)
            placement = await self.spaces.finalize_placement(picked)
        new = NewSpace(
            name=request.name,
            description=request.description,
            active=request.active or False,
            provider_id=None if automatic else request.provider_id,
            placement=placement,
        )
        return await self.spaces.create(new, expected_revision=expected_revision)


def open_memory(
    key: str,
    settings: Settings,
    mounted: MountedChildren,
    *,
    quality: Quality,
    clock: Callable[[], datetime],
    timing: LockTiming | None = None,
) -> SpacesMemory:
    """Put the parts of a Source together; no file is opened and no adapter made yet.

    Args:
        key: Instance key of the Source.
        settings: Configuration in force.
        mounted: The Providers, whose adapters of this generation are made when first used.
        quality: The recall policy in force.
        clock: The time, aware.
        timing: Waiting times of the registry lock.
    """
    config = settings.config
    registry = Registry(settings.root, store=config.store, clock=clock, timing=timing)
    children = Children(
        mounted, authority=authority(registry), config=settings.provider, native=settings.native
    )
    spaces = Spaces(registry, children, settings=settings)
    return SpacesMemory(
        key=key,
        settings=settings,
        children=children,
        spaces=spaces,
        quality=quality,
        clock=clock,
        health=Health(config.timeout_ms / 1_000),
        views=Views(),
        writer=Writer(spaces),
    )

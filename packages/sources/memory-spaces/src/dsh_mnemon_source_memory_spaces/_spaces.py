"""The life of Memory Spaces: create, change, remove, activate, merge (spec/sources.md §4.3).

`Spaces` is the one door to the registry. Every call reads it anew; every change reloads it under
its lock, so that several processes lose nothing of each other's. No Provider is asked while the
lock is held.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import anyio
import attrs
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_core.sdk import distinct, text
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces._children import Children
from dsh_mnemon_source_memory_spaces._config import Settings
from dsh_mnemon_source_memory_spaces._creation import (
    Connections,
    NewSpace,
    create,
    no_connection,
    prepared,
)
from dsh_mnemon_source_memory_spaces._discovery import MAX_DESCRIPTION, MAX_NAME
from dsh_mnemon_source_memory_spaces._merge import merge
from dsh_mnemon_source_memory_spaces._metadata import apply_updates, read_updates, sample
from dsh_mnemon_source_memory_spaces._native import remove_store
from dsh_mnemon_source_memory_spaces._placement import Prepared, finalize
from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.records import (
    Catalogue,
    ServiceRecord,
    SpaceRecord,
)
from dsh_mnemon_source_memory_spaces._registry.store import Registry
from dsh_mnemon_source_memory_spaces._roster import Roster, catalogue_only
from dsh_mnemon_source_memory_spaces._services import ServiceChange, plan_service
from dsh_mnemon_source_memory_spaces._targets import Targets
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import read_settings

__all__ = ("NewSpace", "Spaces")

_log = logging.getLogger(__name__)


class Spaces:
    """The Memory Spaces of one root and the Providers that hold them.

    Every method raises `StorageError` when the registry cannot be read or written. Those with
    ``expected_revision`` raise `ConflictError` ``revision-conflict`` when `Catalogue.revision` is
    another by then; nothing has been written in that case.

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
        self._roster = Roster(registry, children, settings=settings, new_id=new_id)

    async def current(self) -> Catalogue:
        """Return what is registered now; the first call puts the files right if it can (D25)."""
        return await self._roster.read()

    async def exposed(self) -> Sequence[Mapping[str, Any]]:
        """Return ``{path, mode, wanted}`` of what others may look at of settings and keys."""
        return await self._roster.registry.exposed()

    def revision(self, catalogue: Catalogue) -> str:
        """Return the revision of a catalogue."""
        return catalogue.revision

    # -- one Space --------------------------------------------------------------------------------

    async def create(self, new: NewSpace, *, expected_revision: str | None = None) -> SpaceRecord:
        """Register a new Space; a native one gets its store.

        Raises:
            InputError: A text or a connection does not fit; ``provider-none-ready``,
                ``provider-unknown``, ``provider-disabled``, ``connection-native`` or
                ``placement-required``.
            LifecycleError: ``provider-not-ready``.
            StorageError: ``store-unwritable``, naming the folder that nothing can be added to.
            ConflictError: See the class.
        """
        return await create(self._roster, new, expected_revision=expected_revision)

    async def update(
        self,
        space_id: str,
        *,
        name: str | None = None,
        description: str | None = None,
        active: bool | None = None,
        connection: Mapping[str, Any] | None = None,
        clear_secrets: Sequence[str] = (),
        expected_revision: str | None = None,
    ) -> SpaceRecord:
        """Change what is given of a Space; ``connection`` holds memory fields.

        Raises:
            InputError: ``space-unknown``, ``connection-native``, or a value does not fit.
            ConflictError: See the class.
        """
        new_name = None if name is None else text(name, "name", MAX_NAME)
        described = (
            None if description is None else text(description, "description", MAX_DESCRIPTION)
        )
        reconnects = bool(connection or clear_secrets)

        def step(catalogue: Catalogue, content: Content) -> tuple[Content, SpaceRecord]:
            before = catalogue.get(space_id)
            after = attrs.evolve(
                before,
                name=new_name or before.name,
                description=described or before.description,
            )
            if after != before and not catalogue.is_native(before):
                after = attrs.evolve(after, metadata_source="manual")
            if active is not None:
                after = attrs.evolve(after, active=active)
            if reconnects:
                settings = _reconnected(catalogue, before, connection or {}, clear_secrets)
                after = attrs.evolve(after, connection=settings)
            if after == before:
                return content, before
            after = attrs.evolve(after, updated_at=self._roster.later(before))
            return content.replace(after), after

        record = await self._roster.change(step, expected_revision)
        if reconnects:
            self._roster.children.get(record.provider_id).adapter.invalidate_status(space_id)
        return record

    async def remove(self, space_id: str, *, expected_revision: str | None = None) -> SpaceRecord:
        """Disconnect an external Space, or delete a native one with its store.

        What an external Provider holds is never touched.

        Returns:
            What the Space was.

        Raises:
            InputError: ``space-unknown``.
            ConflictError: ``last-store``; or see the class.
        """

        def step(catalogue: Catalogue, content: Content) -> tuple[Content, Catalogue]:
            return content.without({catalogue.get(space_id).id}), catalogue

        catalogue = await self._roster.rehearse(step, expected_revision)
        space = catalogue.get(space_id)
        if not catalogue.is_native(space):
            await self._roster.change(step, expected_revision)
            return space
        adapter, registry = await self._roster.native(), self._roster.registry
        with anyio.CancelScope(shield=True):
            await remove_store(adapter, registry.stores, catalogue, space_id, registry.root)
            await self._roster.change(lambda _, content: (content.without({space_id}), None))
        return space

    async def set_active(
        self, space_id: str, active: bool, *, expected_revision: str | None = None
    ) -> SpaceRecord:
        """Switch reading and routing of one Space; its memories are not touched.

        Raises:
            InputError: ``space-unknown``.
            ConflictError: See the class.
        """
        return await self.update(space_id, active=active, expected_revision=expected_revision)

    async def committed(self, space_id: str) -> SpaceRecord | None:
        """Activate a Space after a committed write, or note the time when it is active already.

        The memory is stored whatever becomes of this: a registry that cannot be written is logged,
        and the answer is ``None``, as for a Space that is gone.
        """

        def step(catalogue: Catalogue, content: Content) -> tuple[Content, SpaceRecord | None]:
            before = catalogue.find(space_id)
            if before is None:
                return content, None
            updated_at = self._roster.later(before)
            after = attrs.evolve(before, active=True, updated_at=updated_at)
            return content.replace(after), after

        try:
            return await self._roster.change(step)
        except StorageError as error:
            _log.warning("Memory Space %s was written but not activated: %s", space_id, error)
            return None

    # -- Providers --------------------------------------------------------------------------------

    async def service_update(
        self,
        provider_id: str,
        settings: Mapping[str, Any],
        *,
        clear_secrets: Sequence[str] = (),
        enabled: bool = True,
        expected_revision: str | None = None,
    ) -> ServiceRecord:
        """Save a Provider's service; switched on, its Spaces become what it discovers.

        Switched off, the settings stay and its Spaces go from the registry.

        Raises:
            InputError: ``provider-unknown``, ``service-native``, or a setting does not fit.
            ConflictError: ``service-changed``; or see the class.
            ProviderError: Discovery failed; everything is as it was.
        """
        child = self._roster.children.get(provider_id)
        change = ServiceChange(
            provider_id=provider_id,
            settings=settings,
            clear_secrets=tuple(clear_secrets),
            enabled=enabled,
        )
        await self._roster.rehearse(catalogue_only, expected_revision)
        step = await plan_service(change, child, self._roster.registry)
        service = await self._roster.change(step, expected_revision)
        child.adapter.invalidate_status()
        return service

    async def placement(
        self,
        request: Mapping[str, Any] | None = None,
        *,
        provider_connections: Connections | None = None,
    ) -> Prepared:
        """Apply the hard rules of ``{mode, prompt?, rules?}``, or of the configured strategy.

        Args:
            request: What is asked for instead of the configured strategy.
            provider_connections: Connections that come with the new Space; a Provider that has one
                counts as configured.

        Raises:
            InputError: As `_placement.prepare`.
        """
        return await prepared(self._roster, await self.current(), request, provider_connections)

    async def finalize_placement(
        self,
        selection: Mapping[str, Any],
        *,
        request: Mapping[str, Any] | None = None,
        provider_connections: Connections | None = None,
        run_id: str | None = None,
        subagent_provider: str | None = None,
    ) -> FrozenDict:
        """Return the decision that a selection makes, for `NewSpace.placement`.

        The rules are applied again, because a Provider may have gone meanwhile.

        Raises:
            InputError: As `_placement.prepare` and `_placement.finalize`.
        """
        return finalize(
            await self.placement(request, provider_connections=provider_connections),
            selection,
            now=self._roster.now(),
            run_id=run_id,
            subagent_provider=subagent_provider,
        )

    # -- several Spaces ---------------------------------------------------------------------------

    async def merge(
        self,
        target_id: str,
        source_ids: Sequence[str],
        *,
        deactivate_sources: bool = True,
        expected_revision: str | None = None,
    ) -> Mapping[str, Any]:
        """Copy native Spaces into another; they keep all they hold and may stop being read.

        From before the first copy until everything has arrived, or until it is certain that
        nothing has, the registry says that the merge began (`Catalogue.pending_merges`).

        Returns:
            ``{action, status?, imported, updated, skipped, edges_inserted, targetMemoryBodyId}``;
            `completion_of` classifies it. Only a complete merge switches Spaces on and off.

        Raises:
            InputError: ``space-unknown``, ``merge-count``, ``merge-native-only``,
                ``merge-source-is-target`` or ``id-duplicated``.
            CapacityError: ``merge-too-large``.
            ConflictError: See the class.
        """
        return await merge(
            self._roster,
            target_id,
            source_ids,
            deactivate_sources=deactivate_sources,
            expected_revision=expected_revision,
        )

    async def update_metadata(
        self, updates: Sequence[Mapping[str, Any]], *, expected_revision: str | None = None
    ) -> tuple[SpaceRecord, ...]:
        """Write ``[{memoryBodyId, title, description}]`` of 1..20 Spaces, all or none.

        Raises:
            InputError: One does not fit, ``space-unknown`` or ``id-duplicated``.
            ConflictError: See the class.
        """
        read, now = read_updates(updates), self._roster.now
        return await self._roster.change(
            lambda catalogue, content: apply_updates(read, catalogue, content, now()),
            expected_revision,
        )

    async def sample_metadata(self, space_ids: Sequence[str]) -> list[dict[str, Any]]:
        """Show a few memories of each of 1..20 active Spaces; see `_metadata.sample`.

        Raises:
            InputError: ``space-unknown``, ``space-inactive``, ``id-duplicated`` or
                ``metadata-count``.
        """
        targets = Targets(await self.current(), self._roster.children)
        named = distinct(tuple(space_ids), "memoryBodyIds")
        seconds = self._roster.settings.config.timeout_ms / 1_000
        return await sample([targets.readable(space_id) for space_id in named], seconds=seconds)


def _reconnected(
    catalogue: Catalogue,
    space: SpaceRecord,
    connection: Mapping[str, Any],
    clear_secrets: Sequence[str],
) -> FrozenDict:
    if catalogue.is_native(space):
        raise no_connection()
    manifest, saved = catalogue.manifest(space), space.connection
    return FrozenDict(
        read_settings(manifest, "memory", connection, previous=saved, clear_secrets=clear_secrets)
    )

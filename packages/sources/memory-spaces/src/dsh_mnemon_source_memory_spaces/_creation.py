"""Making a Space: which Provider holds it, and what is registered of it (spec/sources.md §4.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.sdk import text
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces._discovery import MAX_DESCRIPTION, MAX_NAME
from dsh_mnemon_source_memory_spaces._native import create_store, registered
from dsh_mnemon_source_memory_spaces._placement import (
    Candidate,
    Prepared,
    configured_request,
    prepare,
    read_decision,
)
from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.records import (
    NATIVE_PROVIDER_ID,
    Catalogue,
    SpaceRecord,
)
from dsh_mnemon_source_memory_spaces._registry.store import Step
from dsh_mnemon_source_memory_spaces._roster import Roster
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import read_settings, settings_of
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("Connections", "NewSpace", "create", "no_connection", "prepared")

Connections = Mapping[str, Mapping[str, Any]]
"""Values of service and memory fields by Provider id."""


@attrs.frozen(kw_only=True)
class NewSpace:
    """What a new Space is to be.

    Attributes:
        name: 1..100 characters; ``description`` 1..1,000.
        provider_id: Its Provider; without one, and without a decision, the configuration decides.
        placement: The decision of `Spaces.finalize_placement`.
        connection: Values of service and memory fields; service fields are saved and switch the
            service on. A native Space has none.
        provider_connections: Connections by Provider id, for the one that is chosen.
    """

    name: str
    description: str
    active: bool = False
    provider_id: str | None = None
    placement: Mapping[str, Any] | None = None
    connection: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    provider_connections: Connections = attrs.field(
        factory=dict[str, Mapping[str, Any]], repr=False
    )


async def create(
    roster: Roster, new: NewSpace, *, expected_revision: str | None = None
) -> SpaceRecord:
    """Register a new Space; see `Spaces.create`."""
    new = attrs.evolve(
        new,
        name=text(new.name, "name", MAX_NAME),
        description=text(new.description, "description", MAX_DESCRIPTION),
    )
    catalogue = await roster.read()
    await roster.registry.check_writable()
    provider_id, placement = await _provider_of(roster, new, catalogue)
    record = SpaceRecord(
        id=roster.new_id(),
        name=new.name,
        description=new.description,
        active=new.active,
        provider_id=provider_id,
        placement=placement,
        created_at=iso_utc(roster.now()),
        updated_at=iso_utc(roster.now()),
    )
    if provider_id != catalogue.native_id:
        step = _external(roster, new, record)
        return await roster.change(step, expected_revision)
    if new.connection:
        raise no_connection()
    return await _create_native(roster, record, expected_revision)


async def _create_native(
    roster: Roster, record: SpaceRecord, expected_revision: str | None
) -> SpaceRecord:
    adapter = await roster.native()
    record = attrs.evolve(record, provider_id=NATIVE_PROVIDER_ID)
    # Nothing may stand in the way of the entry once there is a store.
    catalogue = await roster.rehearse(_before(registered(record)), expected_revision)
    with anyio.CancelScope(shield=True):
        record = await create_store(roster, adapter, record, catalogue)
    return attrs.evolve(record, provider_id=catalogue.native_id or NATIVE_PROVIDER_ID)


def _before(step: Step[SpaceRecord]) -> Step[Catalogue]:
    return lambda catalogue, content: (step(catalogue, content)[0], catalogue)


def _external(roster: Roster, new: NewSpace, record: SpaceRecord) -> Step[SpaceRecord]:
    provider_id = record.provider_id
    manifest = roster.children.get(provider_id).manifest
    service, memory = _by_scope(manifest, _connection(roster, new, provider_id))
    record = attrs.evolve(
        record,
        id=f"{provider_id}-{record.id}",
        metadata_source="manual",
        connection=FrozenDict(read_settings(manifest, "memory", memory)),
    )

    def step(_: Catalogue, content: Content) -> tuple[Content, SpaceRecord]:
        if service:
            saved: FrozenDict | None = content.services.get(provider_id)
            settings = read_settings(manifest, "service", service, previous=saved)
            content = content.with_service(provider_id, settings, enabled=True)
        elif not content.is_enabled(provider_id):
            raise InputError("provider-disabled", f"set up and switch on {manifest.label} first")
        return attrs.evolve(content, external=(*content.external, record)), record

    return step


def _by_scope(
    manifest: ProviderManifest, connection: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    of_service = {field.key for field in settings_of(manifest, "service")}
    service = {key: value for key, value in connection.items() if key in of_service}
    return service, {key: value for key, value in connection.items() if key not in of_service}


def _connection(roster: Roster, new: NewSpace, provider_id: str) -> Mapping[str, Any]:
    if new.connection is not None:
        return new.connection
    offered = new.provider_connections.get(provider_id)
    return roster.settings.connection(provider_id) if offered is None else offered


async def _provider_of(
    roster: Roster, new: NewSpace, catalogue: Catalogue
) -> tuple[str, FrozenDict | None]:
    """Return the Provider of a new Space and the decision that chose it, if one did."""
    if new.placement is not None:
        decision = read_decision(new.placement)
        return decision["providerId"], decision
    strategy = roster.settings.config.persistence_strategy
    if new.provider_id is None and strategy.mode == "automatic":
        decided = (await prepared(roster, catalogue, connections=new.provider_connections)).decision
        if decided is None:
            raise InputError(
                "placement-required", "several Providers are eligible; decide on one first"
            )
        return decided["providerId"], decided
    chosen = new.provider_id or strategy.fixed_provider_id
    return chosen or await _default_provider(roster, catalogue), None


async def _default_provider(roster: Roster, catalogue: Catalogue) -> str:
    if catalogue.native_id is not None and await roster.children.native_ready():
        return catalogue.native_id
    for service in catalogue.services:
        if service.enabled:
            return service.provider_id
    raise InputError(
        "provider-none-ready",
        "no Provider can hold a new Memory Space: set one up and switch it on",
    )


async def prepared(
    roster: Roster,
    catalogue: Catalogue,
    request: Mapping[str, Any] | None = None,
    connections: Connections | None = None,
) -> Prepared:
    """Apply the hard rules of a request, or of the configured strategy, to the mounted Providers.

    Args:
        roster: The mounted Providers.
        catalogue: What is registered.
        request: ``{mode, prompt?, rules?}``.
        connections: Connections that come with the new Space; a Provider that has one counts as
            configured.

    Raises:
        InputError: As `prepare`.
    """
    native_ready = await roster.children.native_ready()

    def is_configured(provider_id: str) -> bool:
        if provider_id == catalogue.native_id:
            return native_ready
        offered = (connections or {}).get(provider_id) or roster.settings.connection(provider_id)
        return catalogue.is_enabled(provider_id) or bool(offered)

    candidates = [
        Candidate.of(provider_id, manifest, configured=is_configured(provider_id))
        for provider_id, manifest in catalogue.manifests.items()
    ]
    if request is None:
        request = configured_request(roster.settings.config.persistence_strategy)
    return prepare(request, candidates, now=roster.now())


def no_connection() -> InputError:
    """Return the refusal of connection settings for a native Space."""
    return InputError("connection-native", "a native Memory Space has no connection settings")

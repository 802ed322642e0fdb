"""The content of both registry files as one value, and its pure changes (spec/sources.md §4.2)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Any

import attrs
from dsh_mnemon_core.instant import iso_utc, parse_utc
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces._registry.pending import Pending
from dsh_mnemon_source_memory_spaces._registry.records import (
    NATIVE_PROVIDER_ID,
    Catalogue,
    ServiceRecord,
    SpaceRecord,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import missing_settings
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("Content", "advance", "catalogue_of", "normal", "service_of")


def advance(previous: str, now: datetime) -> str:
    """Return ``now`` as an instant that is later than the previous one by 1 ms at least."""
    before, after = parse_utc(previous), iso_utc(now)
    if before is None or after > iso_utc(before):
        return after
    return iso_utc(before + timedelta(milliseconds=1))


@attrs.frozen(kw_only=True)
class Content:
    """Both files: native Spaces; services, their switches and the external Spaces.

    Attributes:
        services: Saved service fields by Provider id, secrets in clear.
        enabled: Switch by Provider id; a service without one is off.
        native_extra: Keys of the native file that are not known here; ``external_extra`` likewise.
        pending: What was begun and may have been cut off; a file of its own.
    """

    native: tuple[SpaceRecord, ...] = ()
    services: FrozenDict = attrs.field(factory=FrozenDict, repr=False)
    enabled: FrozenDict = attrs.field(factory=FrozenDict)
    external: tuple[SpaceRecord, ...] = ()
    native_extra: FrozenDict = attrs.field(factory=FrozenDict, repr=False)
    external_extra: FrozenDict = attrs.field(factory=FrozenDict, repr=False)
    pending: Pending = attrs.field(factory=Pending)

    @property
    def spaces(self) -> tuple[SpaceRecord, ...]:
        """All Spaces in registry order."""
        return self.native + self.external

    @property
    def ids(self) -> frozenset[str]:
        """Ids that are taken."""
        return frozenset(space.id for space in self.spaces)

    def is_enabled(self, provider_id: str) -> bool:
        """Tell whether a service is saved and switched on."""
        return provider_id in self.services and bool(self.enabled.get(provider_id, False))

    def replace(self, *changed: SpaceRecord) -> Content:
        """Put each record in the place of the one with its id."""
        by_id = {space.id: space for space in changed}
        return attrs.evolve(
            self,
            native=tuple(by_id.get(space.id, space) for space in self.native),
            external=tuple(by_id.get(space.id, space) for space in self.external),
        )

    def without(self, space_ids: Collection[str]) -> Content:
        """Leave out the Spaces with these ids."""
        return attrs.evolve(
            self,
            native=tuple(space for space in self.native if space.id not in space_ids),
            external=tuple(space for space in self.external if space.id not in space_ids),
        )

    def with_service(
        self, provider_id: str, settings: Mapping[str, Any], *, enabled: bool
    ) -> Content:
        """Save a service and its switch."""
        return attrs.evolve(
            self,
            services=FrozenDict({**self.services, provider_id: FrozenDict(settings)}),
            enabled=FrozenDict({**self.enabled, provider_id: enabled}),
        )


def normal(content: Content, manifests: Mapping[str, ProviderManifest]) -> Content:
    """Drop Spaces of mounted Providers whose service is off; others' stay as they are."""
    kept = tuple(
        space
        for space in content.external
        if space.provider_id not in manifests or content.is_enabled(space.provider_id)
    )
    return content if kept == content.external else attrs.evolve(content, external=kept)


def catalogue_of(content: Content, manifests: Mapping[str, ProviderManifest]) -> Catalogue:
    """Return what is listed while these Providers are mounted."""
    native_ids = {space.id for space in content.native}
    external = (space for space in content.external if space.id not in native_ids)
    listed = Catalogue(manifests=manifests)
    native_id = listed.native_id
    native = content.native if native_id is not None else ()
    if native_id not in (None, NATIVE_PROVIDER_ID):
        native = tuple(attrs.evolve(space, provider_id=native_id) for space in native)
    services = [
        service_of(content, provider_id, manifest)
        for provider_id, manifest in manifests.items()
        if manifest.origin != "native"
    ]
    return attrs.evolve(
        listed,
        spaces=(*native, *(space for space in external if space.provider_id in manifests)),
        services=tuple(services),
    )


def service_of(content: Content, provider_id: str, manifest: ProviderManifest) -> ServiceRecord:
    """Return the service of a third-party Provider as it is saved."""
    saved: FrozenDict | None = content.services.get(provider_id)
    return ServiceRecord(
        provider_id=provider_id,
        settings=saved,
        enabled=content.is_enabled(provider_id),
        configured=saved is not None and not missing_settings(manifest, "service", saved),
    )

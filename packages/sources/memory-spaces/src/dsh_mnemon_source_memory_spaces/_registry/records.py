"""What the registry knows: Spaces, services, the catalogue of one moment (spec/sources.md §4.2).

All values are frozen; connections and settings may hold secrets in clear and are never shown.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cached_property
from typing import Final, Literal, TypeAlias

import attrs
from dsh_mnemon_core.errors import InputError, StorageError
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces.provider_sdk.items import SpaceView
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = (
    "NATIVE_PROVIDER_ID",
    "Catalogue",
    "MetadataSource",
    "PendingMerge",
    "ServiceRecord",
    "SpaceRecord",
)

NATIVE_PROVIDER_ID: Final = "mnemon-native"
"""Provider id of native Spaces while no child of origin ``native`` is mounted."""

MetadataSource: TypeAlias = Literal["provider", "manual", "ai"]
"""Who wrote name and description last: discovery, a person or a maintenance worker."""


@attrs.frozen(kw_only=True)
class SpaceRecord:
    """One registered Memory Space.

    Attributes:
        id: ``[a-zA-Z0-9][a-zA-Z0-9_-]*``; of a native Space also its store's name.
        name: 1..100 characters; description: at most 1,000.
        active: The flag; whether it can be read also depends on its service (`Catalogue.active`).
        provider_id: Instance id of the Provider child.
        created_at: ISO 8601, UTC, ms; ``updated_at`` likewise and strictly increasing.
        external_id: The Provider's name of the namespace; a native Space has none.
        placement: The decision of an automatic placement (spec/sources.md §4.5).
        connection: Values of the Provider's memory fields; empty for a native Space.
        extra: Stored keys that are not known here; they are kept.
    """

    id: str
    name: str
    description: str
    active: bool
    provider_id: str
    created_at: str
    updated_at: str
    external_id: str | None = None
    metadata_source: MetadataSource | None = None
    placement: FrozenDict | None = None
    connection: FrozenDict = attrs.field(factory=FrozenDict, repr=False)
    extra: FrozenDict = attrs.field(factory=FrozenDict, repr=False)

    def view(self) -> SpaceView:
        """Return what the Provider is shown of it."""
        return SpaceView(
            id=self.id,
            name=self.name,
            description=self.description,
            active=self.active,
            external_id=self.external_id,
        )


@attrs.frozen(kw_only=True)
class ServiceRecord:
    """The service of one mounted third-party Provider.

    Attributes:
        settings: Saved values of the service fields; ``None`` when nothing was ever saved.
        enabled: Saved and switched on.
        configured: Saved, and every required service field has a value.
    """

    provider_id: str
    enabled: bool
    configured: bool
    settings: FrozenDict | None = attrs.field(default=None, repr=False)


@attrs.frozen(kw_only=True)
class PendingMerge:
    """A merge that began and of which nobody knows that it ended; part of it may be there.

    Attributes:
        started_at: ISO 8601, UTC, ms.
    """

    target_id: str
    source_id: str
    started_at: str


@attrs.frozen(kw_only=True)
class Catalogue:
    """Everything that is listed at one moment; Providers that are not mounted are not.

    Attributes:
        spaces: Registry order: native file, then external file, each in file order (D44).
        services: One for each mounted third-party Provider, in the order of the children.
        manifests: Manifest of each mounted Provider by instance id, in the same order.
        default_store: Id of the store the command line tool works on, when it is a Space.
        faults: Why a registry file could not be read, or not whole; what could not is missing here
            and nothing can be written to it. Each is a `StorageError` with ``{file, reason}`` in
            its details.
        pending_merges: Merges that are under way or were cut off.
    """

    spaces: tuple[SpaceRecord, ...] = ()
    services: tuple[ServiceRecord, ...] = ()
    manifests: Mapping[str, ProviderManifest] = attrs.field(factory=dict[str, ProviderManifest])
    default_store: str | None = None
    faults: tuple[StorageError, ...] = ()
    pending_merges: tuple[PendingMerge, ...] = ()

    @property
    def unknown(self) -> StorageError | None:
        """Why nothing can be known of any Space, when that is so."""
        return self.faults[0] if self.faults and not self.spaces else None

    def check_known(self) -> None:
        """Refuse to take what cannot be read for nothing.

        Raises:
            StorageError: What `unknown` says.
        """
        if self.unknown is not None:
            raise self.unknown

    @cached_property
    def native_id(self) -> str | None:
        """Instance id of the mounted native Provider."""
        natives = (key for key, item in self.manifests.items() if item.origin == "native")
        return next(natives, None)

    @cached_property
    def active(self) -> tuple[SpaceRecord, ...]:
        """The Spaces that can be read, in registry order."""
        return tuple(space for space in self.spaces if self.is_active(space))

    def is_active(self, space: SpaceRecord) -> bool:
        """Tell whether a Space is switched on and its Provider too."""
        return space.active and self.is_enabled(space.provider_id)

    def is_enabled(self, provider_id: str) -> bool:
        """Tell whether a Provider is native, or its service is saved and switched on."""
        service = self.service(provider_id)
        return service.enabled if service else provider_id == self.native_id

    def is_native(self, space: SpaceRecord) -> bool:
        """Tell whether a Space is a store of this root."""
        return space.provider_id == self.native_id

    def manifest(self, space: SpaceRecord) -> ProviderManifest:
        """Return the manifest of a listed Space's Provider."""
        return self.manifests[space.provider_id]

    def service(self, provider_id: str) -> ServiceRecord | None:
        """Return the service of a mounted third-party Provider."""
        return next((item for item in self.services if item.provider_id == provider_id), None)

    @cached_property
    def _by_id(self) -> Mapping[str, SpaceRecord]:
        return {space.id: space for space in self.spaces}

    def find(self, space_id: str) -> SpaceRecord | None:
        """Return a listed Space or ``None``."""
        return self._by_id.get(space_id)

    def get(self, space_id: str) -> SpaceRecord:
        """Return a listed Space.

        Raises:
            InputError: ``space-unknown``.
            StorageError: The registry file that may hold it could not be read.
        """
        space = self.find(space_id)
        if space is None:
            if self.faults:
                raise self.faults[0]
            raise InputError(
                "space-unknown", f"there is no Memory Space {space_id!r}", details={"id": space_id}
            )
        return space

    @cached_property
    def revision(self) -> str:
        """Digest of what is listed; no secret and no remote state is part of it."""
        capabilities = {
            provider_id: manifest.capabilities.model_dump(by_alias=True)
            for provider_id, manifest in self.manifests.items()
        }
        bodies = [
            {
                "id": space.id,
                "name": space.name,
                "description": space.description,
                "active": space.active,
                "providerId": space.provider_id,
                "updatedAt": space.updated_at,
                "capabilities": capabilities[space.provider_id],
            }
            for space in sorted(self.spaces, key=lambda space: space.id)
        ]
        services = [
            {
                "providerId": service.provider_id,
                "enabled": service.enabled,
                "configured": service.configured,
            }
            for service in sorted(self.services, key=lambda service: service.provider_id)
        ]
        whole = {"bodies": bodies, "services": services}
        text = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

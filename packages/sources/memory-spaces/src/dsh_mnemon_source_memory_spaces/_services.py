"""Provider services: saved, switched, discovered; what a Provider may ask (sources.md §4.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import anyio
import attrs
from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces._children import Child, MountedChild
from dsh_mnemon_source_memory_spaces._discovery import checked, project, seeded
from dsh_mnemon_source_memory_spaces._registry.content import Content, service_of
from dsh_mnemon_source_memory_spaces._registry.records import (
    NATIVE_PROVIDER_ID,
    Catalogue,
    ServiceRecord,
    SpaceRecord,
)
from dsh_mnemon_source_memory_spaces._registry.store import Registry, Step
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import ProviderAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.definition import MemorySpaceAuthority
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderTimeout
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import (
    Scope,
    read_settings,
    settings_of,
)
from dsh_mnemon_source_memory_spaces.provider_sdk.items import ExternalSpace, SpaceView
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("ChildAuthority", "ServiceChange", "authority", "plan_service")

_DISCOVERY_SECONDS: Final = 60.0


# -- what a Provider may ask ----------------------------------------------------------------------


class ChildAuthority:
    """Answers one child from the registry as it was last read; no other child's Spaces are in it.

    Args:
        registry: The registry of the root.
        mounted: The child.
    """

    def __init__(self, registry: Registry, mounted: MountedChild) -> None:
        self._registry = registry
        self._mounted = mounted

    def data_dir(self) -> Path:
        """Return the storage root."""
        return self._registry.root

    def list(self) -> Sequence[SpaceView]:
        """Return the child's Spaces, in registry order."""
        return tuple(space.view() for space in self._own(self._registry.latest))

    def connection(self, space_id: str) -> Mapping[str, Any]:
        """Return service and memory settings of a Space, memory last; secrets in clear.

        Raises:
            AuthorityError: ``space-foreign``; it is another Provider's, unknown or switched off.
        """
        content = self._registry.latest
        space = next((item for item in self._own(content) if item.id == space_id), None)
        if space is None:
            raise AuthorityError(
                "space-foreign",
                f"Memory Space {space_id!r} is none of Provider {self._mounted.instance_id!r}",
            )
        return {**self.service(), **_values(self._manifest, "memory", space.connection)}

    def service(self) -> Mapping[str, Any]:
        """Return the saved service settings of this Provider; secrets in clear."""
        saved = self._registry.latest.services.get(self._mounted.instance_id, {})
        return _values(self._manifest, "service", saved)

    @property
    def _manifest(self) -> ProviderManifest | None:
        return self._mounted.manifest

    def _own(self, content: Content) -> tuple[SpaceRecord, ...]:
        if self._manifest is not None and self._manifest.origin == "native":
            return content.native
        own = self._mounted.instance_id
        if not content.is_enabled(own):
            return ()
        return tuple(space for space in content.external if space.provider_id == own)


def authority(registry: Registry) -> Callable[[MountedChild], MemorySpaceAuthority]:
    """Return what makes the authority of each child of a registry."""
    return lambda mounted: ChildAuthority(registry, mounted)


def _values(
    manifest: ProviderManifest | None, scope: Scope, saved: Mapping[str, Any]
) -> dict[str, Any]:
    """Return saved values and defaults of one scope's fields; what is no such field is left out."""
    fields = settings_of(manifest, scope) if manifest else ()
    values = {field.key: saved.get(field.key, field.default_value) for field in fields}
    return {key: value for key, value in values.items() if value is not None}


# -- changing a service ---------------------------------------------------------------------------


@attrs.frozen(kw_only=True)
class ServiceChange:
    """A service as somebody wants it.

    Attributes:
        settings: Entered values; what is not named stays.
        clear_secrets: Secret fields to empty.
        enabled: Whether its Spaces are to be discovered, or dropped.
    """

    provider_id: str
    settings: Mapping[str, Any] = attrs.field(factory=dict[str, Any], repr=False)
    clear_secrets: Sequence[str] = ()
    enabled: bool = True

    def merged(self, manifest: ProviderManifest, content: Content) -> dict[str, Any]:
        """Return the settings to save over what is saved."""
        saved: FrozenDict | None = content.services.get(self.provider_id)
        if not self.enabled and not self.settings and not self.clear_secrets:
            # Switching off must not fail because a setting is missing.
            return dict(saved or {})
        return dict(
            read_settings(
                manifest,
                "service",
                self.settings,
                previous=saved,
                clear_secrets=self.clear_secrets,
            )
        )


async def plan_service(
    change: ServiceChange, child: Child, registry: Registry
) -> Step[ServiceRecord]:
    """Ask the Provider what there is, outside of any lock, and return the change to apply.

    Raises:
        InputError: ``service-native``, or a setting that does not fit.
        ProviderError: Discovery failed; the saved state is as it was.
    """
    manifest, provider_id = child.manifest, change.provider_id
    if manifest.origin == "native" or provider_id == NATIVE_PROVIDER_ID:
        raise InputError("service-native", f"Provider {provider_id!r} has no service to set")
    asked = change.merged(manifest, registry.latest)
    found = await _discover(child.adapter, asked) if change.enabled else ()

    def step(catalogue: Catalogue, content: Content) -> tuple[Content, ServiceRecord]:
        if change.merged(manifest, content) != asked:
            raise ConflictError(
                "service-changed",
                f"the settings of {provider_id!r} changed while it was asked for its Spaces",
                retryable=True,
            )
        settings = seeded(manifest, asked, found or ())
        content = content.with_service(provider_id, settings, enabled=change.enabled)
        if not change.enabled:
            own = {space.id for space in content.external if space.provider_id == provider_id}
            content = content.without(own)
        elif found is not None:
            content = project(provider_id, manifest, found, content, registry.clock())
        return content, service_of(content, provider_id, manifest)

    return step


async def _discover(
    adapter: ProviderAdapter, connection: Mapping[str, Any]
) -> tuple[ExternalSpace, ...] | None:
    """Return every namespace; ``None`` when the Provider cannot tell."""
    if type(adapter).discover is ProviderAdapter.discover:
        return None
    try:
        with anyio.fail_after(_DISCOVERY_SECONDS):
            found = await adapter.discover(connection)
    except TimeoutError:
        raise ProviderTimeout("discovery did not end in time; nothing was changed") from None
    return checked(found)

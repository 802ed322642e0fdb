"""Reading both files in every version they ever had (spec/sources.md §4.2; pure).

A file is put into today's form in memory; the next write stores it so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces._registry import format
from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.faults import Damage
from dsh_mnemon_source_memory_spaces._registry.records import NATIVE_PROVIDER_ID, SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("DISCOVERED", "Manifests", "joined", "read_external", "read_native")

Manifests: TypeAlias = Mapping[str, ProviderManifest]

DISCOVERED: Final = "Existing Mnemon Store discovered on disk."
"""Description of a store that was found and not created here; part of the file format."""

_OLD_DEFAULT_NAME: Final = "默认记忆体"
_LEGACY_NATIVE_VERSION: Final = 2
_SERVICES_SINCE: Final = 3
_OPENVIKING: Final = "openviking"


def read_native(data: bytes, manifests: Manifests) -> Content:
    """Read ``data/.dsh-memory-bodies.json``, version 1, or 2 with Spaces of other Providers in it.

    Raises:
        Damage: The bytes are no such file.
    """
    version, found = format.document(data, _LEGACY_NATIVE_VERSION)
    legacy = version == _LEGACY_NATIVE_VERSION
    read, damage = format.read_rows(format.rows(found), _legacy_space if legacy else _native_space)
    if legacy and damage is not None:
        # Half a move would leave some Spaces in both files.
        raise damage
    content = attrs.evolve(
        _split([space for space in read if space.provider_id != NATIVE_PROVIDER_ID], manifests),
        native=tuple(space for space in read if space.provider_id == NATIVE_PROVIDER_ID),
        native_extra=format.unknown_keys(found, ("version", "bodies")),
    )
    return _unless(damage, content)


def _native_space(row: Mapping[str, Any], index: int) -> SpaceRecord:
    read = format.space(row, index, NATIVE_PROVIDER_ID, connected=False)
    return _renamed_default(read)


def _legacy_space(row: Mapping[str, Any], index: int) -> SpaceRecord:
    provider_id = _provider_of(row)
    if provider_id is None:
        return _native_space(row, index)
    inline = row.get("connection", row.get("openViking"))
    return format.space({**row, "connection": inline}, index, provider_id)


def _unless(damage: Damage | None, content: Content) -> Content:
    """Return a content; of a damaged file it is only what can be read all the same."""
    if damage is not None:
        raise Damage(damage.reason, damage.index, space_id=damage.space_id, content=content)
    return content


def _provider_of(row: Mapping[str, Any]) -> str | None:
    named = row.get("providerId")
    if named is None and "openViking" in row:
        return _OPENVIKING
    return named if isinstance(named, str) and named != NATIVE_PROVIDER_ID else None


def _renamed_default(space: SpaceRecord) -> SpaceRecord:
    """Give the made-up default Space of early releases the name it has today."""
    untouched = space.metadata_source is None and space.placement is None
    if space.id == "default" and space.name == _OLD_DEFAULT_NAME and untouched:
        return attrs.evolve(space, name="default", description=DISCOVERED)
    return space


def read_external(data: bytes, manifests: Manifests) -> Content:
    """Read ``state/memory-providers.json``, versions 1 to 4.

    Raises:
        Damage: The bytes are no such file.
    """
    version, found = format.document(data, format.EXTERNAL_VERSION)
    spaces, damage = format.read_rows(format.rows(found), format.space)
    services = _objects(found, "services")
    extra = format.unknown_keys(found, ("version", "services", "enabled", "bodies"))
    if version < _SERVICES_SINCE:
        content = attrs.evolve(_split(spaces, manifests, services), external_extra=extra)
        return _unless(damage, content)
    # Before version 4 every saved service was on.
    enabled: Mapping[str, Any] = dict.fromkeys(services, True)
    if version == format.EXTERNAL_VERSION:
        enabled = {key: item for key, item in _section(found, "enabled").items() if item is True}
        enabled = {**dict.fromkeys(services, False), **enabled}
    content = Content(
        services=FrozenDict(services),
        enabled=FrozenDict(enabled),
        external=spaces,
        external_extra=extra,
    )
    return _unless(damage, content)


def _section(found: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = found.get(key, {})
    if not isinstance(value, dict):
        raise Damage("wrong-version")
    return cast("dict[str, Any]", value)


def _objects(found: Mapping[str, Any], key: str) -> dict[str, FrozenDict]:
    return {name: format.sanitized(item) for name, item in _section(found, key).items()}


def _split(
    spaces: Sequence[SpaceRecord],
    manifests: Manifests,
    saved: Mapping[str, FrozenDict] | None = None,
) -> Content:
    """Take the service fields out of whole connections; the first Space decides each value.

    Without a manifest nobody can tell the fields apart: service and Space both keep all of them,
    and whoever reads them later picks the fields of the scope in question.
    """
    services: dict[str, dict[str, Any]] = {key: dict(item) for key, item in (saved or {}).items()}
    memories: list[SpaceRecord] = []
    for space in spaces:
        manifest = manifests.get(space.provider_id)
        scopes = {field.key: field.scope for field in manifest.fields} if manifest else {}
        service = services.setdefault(space.provider_id, {})
        kept: dict[str, Any] = {}
        for key, value in space.connection.items():
            if scopes.get(key) != "memory":
                service.setdefault(key, value)
            # A service value that differs from the one that won is kept rather than lost.
            if scopes.get(key) != "service" or service[key] != value:
                kept[key] = value
        memories.append(attrs.evolve(space, connection=FrozenDict(kept)))
    return Content(
        services=FrozenDict({key: FrozenDict(item) for key, item in services.items()}),
        enabled=FrozenDict(dict.fromkeys(services, True)),
        external=tuple(memories),
    )


def joined(native: Content, external: Content) -> Content:
    """Return one content of both files; what the external file has is newer than a legacy row."""
    moved = tuple(space for space in native.external if space.id not in external.ids)
    return Content(
        native=native.native,
        services=FrozenDict({**native.services, **external.services}),
        enabled=FrozenDict({**native.enabled, **external.enabled}),
        external=external.external + moved,
        native_extra=native.native_extra,
        external_extra=external.external_extra,
    )

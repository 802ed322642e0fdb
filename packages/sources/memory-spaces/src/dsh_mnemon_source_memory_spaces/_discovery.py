"""From discovered namespaces to registered Spaces (spec/sources.md §4.3; pure)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.sdk import text, truncate
from dsh_mnemon_core.values import FrozenDict

from dsh_mnemon_source_memory_spaces._registry.content import Content, advance
from dsh_mnemon_source_memory_spaces._registry.records import SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol
from dsh_mnemon_source_memory_spaces.provider_sdk.fields import read_settings
from dsh_mnemon_source_memory_spaces.provider_sdk.items import ExternalSpace
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("MAX_DESCRIPTION", "MAX_NAME", "checked", "project", "seeded")

MAX_NAME: Final = 100
"""Characters of a Space's name."""

MAX_DESCRIPTION: Final = 1_000
"""Characters of a Space's description."""

_MAX_EXTERNAL_ID: Final = 2_000
_NAMESPACE_FIELDS: Final = (
    "name",
    "title",
    "displayName",
    "workspace",
    "bankId",
    "project",
    "containerTag",
    "userId",
    "user",
    "workingDirectory",
    "targetUri",
)


def checked(found: Sequence[ExternalSpace]) -> tuple[ExternalSpace, ...]:
    """Return what a Provider discovered, its ids trimmed.

    Raises:
        ProviderProtocol: An id is missing, too long or there twice.
    """
    spaces: list[ExternalSpace] = []
    for space in found:
        try:
            external_id = text(space.external_id, "externalId", _MAX_EXTERNAL_ID)
        except InputError as error:
            raise ProviderProtocol(f"a discovered namespace is wrong: {error.message}") from None
        spaces.append(attrs.evolve(space, external_id=external_id))
    if len({space.external_id for space in spaces}) != len(spaces):
        raise ProviderProtocol("a namespace was discovered twice")
    return tuple(spaces)


def seeded(
    manifest: ProviderManifest, settings: Mapping[str, Any], found: Sequence[ExternalSpace]
) -> dict[str, Any]:
    """Fill empty service defaults from the first namespace, where a field asks for it."""
    filled = dict(settings)
    for field in manifest.fields if found else ():
        wanted = field.discovery_default_from
        if wanted is not None and filled.get(field.key) in (None, ""):
            value = found[0].connection.get(wanted)
            if value not in (None, ""):
                filled[field.key] = value
    return filled


def project(
    provider_id: str,
    manifest: ProviderManifest,
    found: Sequence[ExternalSpace],
    content: Content,
    now: datetime,
) -> Content:
    """Replace a Provider's Spaces by what was discovered, in the order of discovery.

    A Space is recognised by its external id, or, where it was registered by hand, by its
    connection; it keeps id, flag and curated texts. One that was registered by hand and is not
    recognised stays; any other that was not discovered goes.

    Raises:
        ProviderProtocol: A connection does not fit the memory fields.
    """
    old = [space for space in content.external if space.provider_id == provider_id]
    by_hand = [space for space in old if space.external_id is None]
    taken = set(content.ids)
    spaces: list[SpaceRecord] = []
    for namespace in found:
        known = next((space for space in old if space.external_id == namespace.external_id), None)
        connection = _connection(manifest, namespace, known)
        if known is None:
            known = next((space for space in by_hand if space.connection == connection), None)
        if known is not None and known in by_hand:
            by_hand.remove(known)
        record = _record(provider_id, manifest, namespace, connection, known, taken, now)
        taken.add(record.id)
        spaces.append(record)
    place = next((i for i, space in enumerate(content.external) if space in old), None)
    before = content.external if place is None else content.external[:place]
    after = () if place is None else content.external[place:]
    rest = (space for space in after if space.provider_id != provider_id)
    return attrs.evolve(content, external=(*before, *by_hand, *spaces, *rest))


def _connection(
    manifest: ProviderManifest, namespace: ExternalSpace, known: SpaceRecord | None
) -> FrozenDict:
    previous = known.connection if known else None
    # What discovery cannot know, such as a key of the namespace, is entered later.
    fields = tuple(field.model_copy(update={"required": False}) for field in manifest.fields)
    relaxed = manifest.model_copy(update={"fields": fields})
    try:
        read = read_settings(relaxed, "memory", namespace.connection, previous=previous)
    except InputError as error:
        raise ProviderProtocol(f"a discovered namespace is wrong: {error.message}") from None
    return FrozenDict(read)


def _record(
    provider_id: str,
    manifest: ProviderManifest,
    namespace: ExternalSpace,
    connection: FrozenDict,
    known: SpaceRecord | None,
    taken: Collection[str],
    now: datetime,
) -> SpaceRecord:
    name = namespace.name.strip() or _nearest_name(connection)
    name = name or f"{manifest.label} {namespace.external_id}"
    described = namespace.description.strip()
    described = described or (
        f"{manifest.label} memory namespace mapped from {namespace.external_id}."
    )
    name, described = truncate(name, MAX_NAME), truncate(described, MAX_DESCRIPTION)
    if known is None:
        return SpaceRecord(
            id=_new_id(provider_id, namespace.external_id, taken),
            external_id=namespace.external_id,
            name=name,
            description=described,
            metadata_source="provider",
            active=True,
            provider_id=provider_id,
            connection=connection,
            created_at=iso_utc(now),
            updated_at=iso_utc(now),
        )
    curated = known.metadata_source != "provider"
    return attrs.evolve(
        known,
        external_id=namespace.external_id,
        name=known.name if curated else name,
        description=known.description if curated else described,
        connection=connection,
        updated_at=advance(known.updated_at, now),
    )


def _new_id(provider_id: str, external_id: str, taken: Collection[str]) -> str:
    """Return ``<provider>-<24 hex of the external id's SHA-256>``, with ``:n`` after a clash."""
    for attempt in count():
        hashed = external_id if attempt == 0 else f"{external_id}:{attempt}"
        space_id = f"{provider_id}-{hashlib.sha256(hashed.encode()).hexdigest()[:24]}"
        if space_id not in taken:
            return space_id
    raise AssertionError("unreachable")  # pragma: no cover - count() does not end


def _nearest_name(connection: Mapping[str, Any]) -> str:
    """Return the last path segment of the first field that names the namespace."""
    for key in _NAMESPACE_FIELDS:
        value = connection.get(key)
        segments = re.split(r"[/\\]", value) if isinstance(value, str) else []
        named = [part.strip() for part in segments if part.strip() not in ("", "*")]
        if named:
            return named[-1]
    return ""

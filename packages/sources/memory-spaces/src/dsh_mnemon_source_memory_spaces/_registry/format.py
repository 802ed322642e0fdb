"""The stored forms of both registry files (spec/sources.md §4.2; pure).

Every byte equals what the original writes, so that both can share one directory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, cast

from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.files import read_json
from dsh_mnemon_core.values import FrozenDict, json_clone, thaw

from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.faults import Damage
from dsh_mnemon_source_memory_spaces._registry.records import SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.ids import FIELD_KEY, PROVIDER_ID, SPACE_ID

__all__ = (
    "EXTERNAL_VERSION",
    "NATIVE_VERSION",
    "document",
    "encode_external",
    "encode_native",
    "native_row",
    "read_rows",
    "rows",
    "sanitized",
    "space",
    "stored",
    "text",
    "unknown_keys",
)

NATIVE_VERSION: Final = 1
EXTERNAL_VERSION: Final = 4

_METADATA_SOURCES: Final = ("provider", "manual", "ai")
_MAX_VALUE: Final = 8_000
_ROW_KEYS: Final = frozenset(
    (
        "id", "externalId", "name", "description", "metadataSource", "active", "providerId",
        "placement", "connection", "openViking", "createdAt", "updatedAt",
    )
)  # fmt: skip
"""What a Space has, or once had."""


# -- writing --------------------------------------------------------------------------------------


def stored(value: Any) -> bytes:
    """Return a value as all registry files are written."""
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


def _present(**values: Any) -> dict[str, Any]:
    return {key: thaw(value) for key, value in values.items() if value is not None}


def native_row(space: SpaceRecord) -> dict[str, Any]:
    """Return a native Space as it is stored."""
    return {
        **_present(
            id=space.id,
            name=space.name,
            description=space.description,
            active=space.active,
            metadataSource=space.metadata_source,
            placement=space.placement,
            createdAt=space.created_at,
            updatedAt=space.updated_at,
        ),
        **thaw(space.extra),
    }


def encode_native(spaces: Sequence[SpaceRecord], extra: Mapping[str, Any] = FrozenDict()) -> bytes:
    """Return the bytes of ``data/.dsh-memory-bodies.json``."""
    bodies = [native_row(space) for space in spaces]
    return stored({"version": NATIVE_VERSION, "bodies": bodies, **thaw(extra)})


def encode_external(content: Content) -> bytes | None:
    """Return the bytes of ``state/memory-providers.json``; ``None`` when there is to be none."""
    if not content.external and not content.services and not content.external_extra:
        return None
    bodies = [
        {
            **_present(
                id=space.id,
                externalId=space.external_id,
                name=space.name,
                description=space.description,
                metadataSource=space.metadata_source,
                active=space.active,
                providerId=space.provider_id,
                placement=space.placement,
                connection=space.connection,
                createdAt=space.created_at,
                updatedAt=space.updated_at,
            ),
            **thaw(space.extra),
        }
        for space in content.external
    ]
    return stored(
        {
            "version": EXTERNAL_VERSION,
            "services": thaw(content.services),
            "enabled": thaw(content.enabled),
            "bodies": bodies,
            **thaw(content.external_extra),
        }
    )


# -- reading --------------------------------------------------------------------------------------


def document(data: bytes, newest: int) -> tuple[int, Mapping[str, Any]]:
    """Read version and top-level object of a registry file.

    Raises:
        Damage: ``not-json``, also for a key that is given twice, ``wrong-version`` or
            ``newer-version``.
    """
    try:
        value = read_json(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise Damage("not-json") from None
    if not isinstance(value, dict):
        raise Damage("wrong-version")
    found = cast("dict[str, Any]", value)
    version = found.get("version")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise Damage("wrong-version")
    if version > newest:
        raise Damage("newer-version")
    return version, found


def rows(found: Mapping[str, Any]) -> list[object]:
    """Return the list of Spaces as it is stored.

    Raises:
        Damage: ``wrong-version``; there is no list.
    """
    listed = found.get("bodies")
    if not isinstance(listed, list):
        raise Damage("wrong-version")
    return cast("list[object]", listed)


def read_rows(
    listed: Sequence[object], read: Callable[[Mapping[str, Any], int], SpaceRecord]
) -> tuple[tuple[SpaceRecord, ...], Damage | None]:
    """Read each stored Space; of those with one id the first counts.

    Returns:
        The good ones, and what is wrong with the first bad one.
    """
    good: dict[str, SpaceRecord] = {}
    first: Damage | None = None
    for index, row in enumerate(listed):
        entry = cast("dict[str, Any]", row) if isinstance(row, dict) else None
        try:
            if entry is None:
                raise Damage("invalid-entry", index)
            found = read(entry, index)
            if found.id in good:
                raise Damage("duplicate-id", index)
            good[found.id] = found
        except Damage as damage:
            first = first or Damage(damage.reason, index, space_id=_id_of(entry))
    return tuple(good.values()), first


def _id_of(row: Mapping[str, Any] | None) -> str | None:
    named = None if row is None else row.get("id")
    return named[:100] if isinstance(named, str) and SPACE_ID.fullmatch(named) else None


def unknown_keys(
    found: Mapping[str, Any], known: Collection[str], index: int | None = None
) -> FrozenDict:
    """Return what is stored under keys that are not known here.

    Raises:
        Damage: ``invalid-entry``; it could not be written back as it is.
    """
    extra = {key: value for key, value in found.items() if key not in known}
    try:
        return cast("FrozenDict", json_clone(extra))
    except MnemonError:
        raise Damage("invalid-entry", index) from None


def text(row: Mapping[str, Any], key: str, index: int) -> str:
    """Return a text of an entry.

    Raises:
        Damage: ``invalid-entry``.
    """
    value = row.get(key)
    if not isinstance(value, str):
        raise Damage("invalid-entry", index)
    try:
        return well_formed(value, key)
    except MnemonError:
        raise Damage("invalid-entry", index) from None


def space(
    row: Mapping[str, Any], index: int, provider_id: str | None = None, *, connected: bool = True
) -> SpaceRecord:
    """Read one stored Space.

    Args:
        row: The stored object; keys that are not known are kept.
        index: Its place, for the fault.
        provider_id: Its Provider; the row's own ``providerId`` when absent.
        connected: Whether the Provider has connections.

    Raises:
        Damage: ``invalid-entry``.
    """
    provider_id = provider_id or text(row, "providerId", index)
    space_id, active = text(row, "id", index), row.get("active")
    good = SPACE_ID.fullmatch(space_id) and PROVIDER_ID.fullmatch(provider_id)
    if not good or not isinstance(active, bool):
        raise Damage("invalid-entry", index)
    external_id = text(row, "externalId", index) if row.get("externalId") is not None else None
    source = row.get("metadataSource")
    return SpaceRecord(
        id=space_id,
        name=text(row, "name", index),
        description=text(row, "description", index),
        active=active,
        provider_id=provider_id,
        created_at=text(row, "createdAt", index),
        updated_at=text(row, "updatedAt", index),
        external_id=external_id if connected else None,
        metadata_source=source if source in _METADATA_SOURCES else None,
        placement=_placement(row.get("placement"), index),
        connection=sanitized(row.get("connection")) if connected else FrozenDict(),
        extra=unknown_keys(row, _ROW_KEYS, index),
    )


def _placement(value: object, index: int) -> FrozenDict | None:
    if not isinstance(value, Mapping):
        return None
    try:
        return cast("FrozenDict", json_clone(cast("object", value)))
    except MnemonError:
        raise Damage("invalid-entry", index) from None


def sanitized(value: object) -> FrozenDict:
    """Keep what can be a setting: strings of at most 8,000 characters, finite numbers, booleans."""
    if not isinstance(value, Mapping):
        return FrozenDict()
    items = cast("Mapping[object, object]", value).items()
    return FrozenDict(
        {
            key: item
            for key, item in items
            if isinstance(key, str) and FIELD_KEY.fullmatch(key) and _is_setting(item)
        }
    )


def _is_setting(value: object) -> bool:
    if isinstance(value, str):
        try:
            return len(well_formed(value, "value")) <= _MAX_VALUE
        except MnemonError:
            return False
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, (bool, int))

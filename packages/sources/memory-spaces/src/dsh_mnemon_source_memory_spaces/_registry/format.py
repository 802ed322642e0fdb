"""The stored forms of both registry files (spec/sources.md §4.2; pure).

Every byte equals what the original writes, so that both can share one directory.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, NoReturn, cast

from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import MnemonError
from dsh_mnemon_core.values import FrozenDict, json_clone, thaw

from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.faults import Damage
from dsh_mnemon_source_memory_spaces._registry.records import SpaceRecord

__all__ = (
    "EXTERNAL_VERSION",
    "NATIVE_VERSION",
    "SPACE_ID",
    "document",
    "encode_external",
    "encode_native",
    "rows",
    "sanitized",
    "space",
)

NATIVE_VERSION: Final = 1
EXTERNAL_VERSION: Final = 4

SPACE_ID: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9_-]*")
"""Ids of Spaces and names of native stores."""

_PROVIDER_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,127}")
_FIELD_KEY: Final = re.compile(r"[a-z][a-zA-Z0-9_-]{0,127}")
_METADATA_SOURCES: Final = ("provider", "manual", "ai")
_MAX_VALUE: Final = 8_000


# -- writing --------------------------------------------------------------------------------------


def _stored(value: Any) -> bytes:
    return f"{json.dumps(value, ensure_ascii=False, indent=2)}\n".encode()


def _present(**values: Any) -> dict[str, Any]:
    return {key: thaw(value) for key, value in values.items() if value is not None}


def encode_native(spaces: Sequence[SpaceRecord]) -> bytes:
    """Return the bytes of ``data/.dsh-memory-bodies.json``."""
    bodies = [
        _present(
            id=space.id,
            name=space.name,
            description=space.description,
            active=space.active,
            metadataSource=space.metadata_source,
            placement=space.placement,
            createdAt=space.created_at,
            updatedAt=space.updated_at,
        )
        for space in spaces
    ]
    return _stored({"version": NATIVE_VERSION, "bodies": bodies})


def encode_external(content: Content) -> bytes | None:
    """Return the bytes of ``state/memory-providers.json``; ``None`` when there is to be none."""
    if not content.external and not content.services:
        return None
    bodies = [
        _present(
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
        )
        for space in content.external
    ]
    return _stored(
        {
            "version": EXTERNAL_VERSION,
            "services": thaw(content.services),
            "enabled": thaw(content.enabled),
            "bodies": bodies,
        }
    )


# -- reading --------------------------------------------------------------------------------------


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def document(data: bytes, newest: int) -> tuple[int, Mapping[str, Any]]:
    """Read version and top-level object of a registry file.

    Raises:
        Damage: ``not-json``, ``wrong-version`` or ``newer-version``.
    """
    try:
        value = json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
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


def rows(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the list of Spaces as it is stored.

    Raises:
        Damage: ``wrong-version`` without a list, ``invalid-entry`` or ``duplicate-id``.
    """
    listed = found.get("bodies")
    if not isinstance(listed, list):
        raise Damage("wrong-version")
    seen: set[object] = set()
    for index, row in enumerate(cast("list[object]", listed)):
        if not isinstance(row, dict):
            raise Damage("invalid-entry", index)
        key = cast("dict[str, object]", row).get("id")
        if isinstance(key, str) and key in seen:
            raise Damage("duplicate-id", index)
        seen.add(key if isinstance(key, str) else None)
    return cast("list[Mapping[str, Any]]", listed)


def _text(row: Mapping[str, Any], key: str, index: int) -> str:
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
        row: The stored object; keys that are not known are dropped.
        index: Its place, for the fault.
        provider_id: Its Provider; the row's own ``providerId`` when absent.
        connected: Whether the Provider has connections.

    Raises:
        Damage: ``invalid-entry``.
    """
    provider_id = provider_id or _text(row, "providerId", index)
    space_id, active = _text(row, "id", index), row.get("active")
    good = SPACE_ID.fullmatch(space_id) and _PROVIDER_ID.fullmatch(provider_id)
    if not good or not isinstance(active, bool):
        raise Damage("invalid-entry", index)
    external_id = _text(row, "externalId", index) if row.get("externalId") is not None else None
    source = row.get("metadataSource")
    return SpaceRecord(
        id=space_id,
        name=_text(row, "name", index),
        description=_text(row, "description", index),
        active=active,
        provider_id=provider_id,
        created_at=_text(row, "createdAt", index),
        updated_at=_text(row, "updatedAt", index),
        external_id=external_id if connected else None,
        metadata_source=source if source in _METADATA_SOURCES else None,
        placement=_placement(row.get("placement"), index),
        connection=sanitized(row.get("connection")) if connected else FrozenDict(),
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
            if isinstance(key, str) and _FIELD_KEY.fullmatch(key) and _is_setting(item)
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

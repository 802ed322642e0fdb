"""The stored form of what was begun: ``data/.dsh-memory-bodies.pending.json`` (pure).

The original does not know this file; it is there only while something is under way or was cut off.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from dsh_mnemon_source_memory_spaces._registry import format
from dsh_mnemon_source_memory_spaces._registry.content import Content
from dsh_mnemon_source_memory_spaces._registry.faults import Damage
from dsh_mnemon_source_memory_spaces._registry.pending import Pending
from dsh_mnemon_source_memory_spaces._registry.records import NATIVE_PROVIDER_ID, PendingMerge
from dsh_mnemon_source_memory_spaces.provider_sdk.manifest import ProviderManifest

__all__ = ("encode_pending", "read_pending")

_VERSION: Final = 1


def encode_pending(pending: Pending) -> bytes | None:
    """Return the bytes of the file; ``None`` when there is to be none."""
    if not pending.claims and not pending.merges:
        return None
    merging = [
        {"target": item.target_id, "source": item.source_id, "startedAt": item.started_at}
        for item in pending.merges
    ]
    creating = [format.native_row(space) for space in pending.claims]
    return format.stored({"version": _VERSION, "creating": creating, "merging": merging})


def read_pending(data: bytes, _manifests: Mapping[str, ProviderManifest]) -> Content:
    """Read the file; nothing but `Content.pending` is in it.

    Raises:
        Damage: The bytes are no such file.
    """
    _, found = format.document(data, _VERSION)
    claims = [
        format.space(row, index, NATIVE_PROVIDER_ID, connected=False)
        for index, row in enumerate(_objects(found, "creating"))
    ]
    merges = [_merge(row, index) for index, row in enumerate(_objects(found, "merging"))]
    return Content(pending=Pending(claims=tuple(claims), merges=tuple(merges)))


def _objects(found: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    listed: object = found.get(key)
    if not isinstance(listed, list):
        raise Damage("wrong-version")
    for index, row in enumerate(cast("list[object]", listed)):
        if not isinstance(row, dict):
            raise Damage("invalid-entry", index)
    return cast("list[Mapping[str, Any]]", listed)


def _merge(row: Mapping[str, Any], index: int) -> PendingMerge:
    target, source, started = (
        format.text(row, key, index) for key in ("target", "source", "startedAt")
    )
    return PendingMerge(target_id=target, source_id=source, started_at=started)

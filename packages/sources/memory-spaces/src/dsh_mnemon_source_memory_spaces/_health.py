"""Health of Spaces: probed within a deadline, shared by simultaneous calls, remembered (§4.10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

import anyio
import attrs

from dsh_mnemon_source_memory_spaces._answers import Patience, ask, caption, each, sentence
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderProtocol
from dsh_mnemon_source_memory_spaces.provider_sdk.items import EntityCount, SpaceStats, SpaceStatus

__all__ = ("Health", "entity_counts", "stats_json")

_UNHEALTHY = "the Provider reports a problem without saying which"


@attrs.define
class _Probe:
    """A probe in progress: who else asks waits for it."""

    done: anyio.Event = attrs.field(factory=anyio.Event)
    status: SpaceStatus | None = None


class Health:
    """What is known of the health of each Space, by Space id.

    Args:
        seconds: How long the Providers of one look may take together.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._known: dict[str, SpaceStatus] = {}
        self._probes: dict[str, _Probe] = {}

    @property
    def known(self) -> Mapping[str, SpaceStatus]:
        """The latest answers; a Space nobody asked for is not there."""
        return self._known

    def forget(self, target: Target) -> None:
        """Drop what is known of a Space, here and in its Provider."""
        self._known.pop(target.space.id, None)
        target.adapter.invalidate_status(target.space.id)

    async def look(self, targets: Sequence[Target]) -> Mapping[str, SpaceStatus]:
        """Ask the Providers of several Spaces at once.

        Returns:
            Their answers by Space id; a Provider that hangs, raises or answers rubbish is
            unhealthy and says why in one bounded line.
        """
        patience = Patience(self._seconds)
        answers = await each(targets, partial(self._shared, patience=patience))
        found = {target.space.id: status for target, status in zip(targets, answers, strict=True)}
        self._known.update(found)
        return found

    async def _shared(self, target: Target, patience: Patience) -> SpaceStatus:
        while (running := self._probes.get(target.space.id)) is not None:
            await running.done.wait()
            if running.status is not None:
                return running.status
        probe = self._probes[target.space.id] = _Probe()
        try:
            probe.status = await _status(target, patience)
            return probe.status
        finally:
            del self._probes[target.space.id]
            probe.done.set()


async def _status(target: Target, patience: Patience) -> SpaceStatus:
    answer = await ask(partial(_read, target), patience, target.secrets)
    return answer.value or SpaceStatus(healthy=False, error=answer.fault)


async def _read(target: Target) -> SpaceStatus:
    status = cast("object", await target.adapter.status(target.space))
    if not isinstance(status, SpaceStatus):
        raise ProviderProtocol("the Provider did not answer with a status")
    healthy = cast("object", status.healthy) is True
    error, note = _said(status.error, target), _said(status.note, target)
    stats = cast("object", status.stats)
    return SpaceStatus(
        healthy=healthy,
        error=None if healthy else error or _UNHEALTHY,
        note=note if healthy else None,
        stats=_stats(stats) if isinstance(stats, SpaceStats) else None,
    )


def _said(value: object, target: Target) -> str | None:
    """Return what a Provider says as one bounded line."""
    return sentence(value, target.secrets) if isinstance(value, str) and value.strip() else None


def _stats(value: SpaceStats) -> SpaceStats:
    return SpaceStats(
        total_insights=_count(value.total_insights),
        deleted_insights=_count(value.deleted_insights),
        edge_count=_count(value.edge_count),
        oplog_count=_count(value.oplog_count),
        db_size_bytes=_count(value.db_size_bytes),
        by_category=_categories(value.by_category),
        top_entities=entity_counts(value.top_entities) or None,
    )


def _categories(value: object) -> dict[str, int] | None:
    if not isinstance(value, Mapping):
        return None
    items = cast("Mapping[object, object]", value).items()
    return {
        caption(key): count
        for key, item in items
        if isinstance(key, str) and (count := _count(item)) is not None
    }


def entity_counts(value: object) -> tuple[EntityCount, ...]:
    """Return the readable ones of what should be counts of entities."""
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    return tuple(
        EntityCount(entity=caption(item.entity), count=count)
        for item in items
        if isinstance(item, EntityCount)
        and isinstance(cast("object", item.entity), str)
        and item.entity.strip()
        and (count := _count(item.count)) is not None
    )


def _count(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if value >= 0 else None


def stats_json(stats: SpaceStats) -> dict[str, Any]:
    """Return what a Provider counted; what it did not count is left out."""
    entities = stats.top_entities or ()
    fields: dict[str, Any] = {
        "totalInsights": stats.total_insights,
        "deletedInsights": stats.deleted_insights,
        "edgeCount": stats.edge_count,
        "oplogCount": stats.oplog_count,
        "dbSizeBytes": stats.db_size_bytes,
        "byCategory": dict(stats.by_category) if stats.by_category else None,
        "topEntities": [{"entity": item.entity, "count": item.count} for item in entities] or None,
    }
    return {key: value for key, value in fields.items() if value is not None}

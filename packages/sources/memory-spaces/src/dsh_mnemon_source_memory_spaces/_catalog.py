"""What Spaces there are and whether they work, bounded for a model (spec/sources.md §4.6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs
from dsh_mnemon_core.sdk import truncate

from dsh_mnemon_source_memory_spaces._children import Children
from dsh_mnemon_source_memory_spaces._config import Config
from dsh_mnemon_source_memory_spaces._gaps import merge_lines
from dsh_mnemon_source_memory_spaces._paths import short_paths
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.items import SpaceStats, SpaceStatus

__all__ = (
    "Overview",
    "compact",
    "directory_item",
    "fitted",
    "placement_summary",
    "space_status",
)

SpaceHealth: TypeAlias = Literal["provider-disabled", "not-probed", "healthy", "unhealthy"]

_MOST_ITEMS: Final = 16
_NAME, _DESCRIPTION, _ERROR = 120, 500, 500
_WHOLE_ERROR: Final = 1_000
_PROMPT: Final = 1_000
_COUNTS: Final = (
    ("totalInsights", "total_insights"),
    ("deletedInsights", "deleted_insights"),
    ("edgeCount", "edge_count"),
    ("oplogCount", "oplog_count"),
    ("dbSizeBytes", "db_size_bytes"),
)
_SHORT: Final = {"unavailable": "There is no room to show this here."}


def compact(value: Any) -> str:
    """Return compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def fitted(value: Mapping[str, Any], items: str, omitted: str, maximum: int) -> str:
    """Return JSON of at most ``maximum`` characters: the last items give way, and are counted.

    Args:
        value: What to show.
        items: Key of the list that may be shortened.
        omitted: Key of the count of what is not shown.
        maximum: Most characters.

    Returns:
        Valid JSON; a short object with ``unavailable`` where not even an empty list fits.
    """
    rows: Sequence[Any] = value[items]
    for kept in range(len(rows), -1, -1):
        left_out = value[omitted] + len(rows) - kept
        text = compact({**value, items: rows[:kept], omitted: left_out})
        if len(text) <= maximum:
            return text
    return compact(_SHORT)


def space_status(enabled: bool, status: SpaceStatus | None) -> SpaceHealth:
    """Tell the health of a Space as far as it is known."""
    if not enabled:
        return "provider-disabled"
    if status is None:
        return "not-probed"
    return "healthy" if status.healthy else "unhealthy"


def directory_item(
    space: SpaceRecord, catalogue: Catalogue, status: SpaceStatus | None
) -> dict[str, Any]:
    """Return one entry of the model's catalogue: no folder, setting or statistic."""
    manifest = catalogue.manifest(space)
    enabled = catalogue.is_enabled(space.provider_id)
    health = space_status(enabled, status)
    error = status.error if status is not None and health == "unhealthy" else None
    item = {
        "id": space.id,
        "name": truncate(space.name, _NAME),
        "description": truncate(space.description, _DESCRIPTION),
        "active": space.active,
        "providerEnabled": enabled,
        "status": health,
        "error": truncate(short_paths(error), _ERROR) if error else None,
        "provider": {
            "id": space.provider_id,
            "label": truncate(manifest.label, _NAME),
            "capabilities": manifest.capabilities.model_dump(mode="json", by_alias=True),
        },
    }
    return {key: value for key, value in item.items() if value is not None}


def placement_summary(config: Config) -> dict[str, Any]:
    """Return how the Provider of a new Space is chosen; never a connection."""
    strategy = config.persistence_strategy
    if strategy.mode == "manual":
        fixed = strategy.fixed_provider_id
        return {"mode": "manual", **({} if fixed is None else {"providerId": fixed})}
    prompt = truncate(strategy.prompt.strip(), _PROMPT)
    rules = strategy.rules.model_dump(mode="json", by_alias=True)
    return {"mode": "automatic", **({"prompt": prompt} if prompt else {}), "rules": rules}


@attrs.frozen(kw_only=True)
class Overview:
    """Everything that is known at one moment, without asking anybody.

    Attributes:
        catalogue: What is listed.
        known: The latest answers about health, by Space id.
        children: The Providers of this generation.
        config: Configuration in force.
        worded: What becomes of a line about a fault before it is shown.
    """

    catalogue: Catalogue
    known: Mapping[str, SpaceStatus]
    children: Children
    config: Config
    worded: Callable[[str], str] = str

    def for_model(self) -> Overview:
        """Return the same as a model may see it: no line about a fault names a folder."""
        return attrs.evolve(self, worded=short_paths)

    def directory(self, space_ids: Sequence[str]) -> dict[str, Any]:
        """Return the model's catalogue of the named Spaces, in registry order."""
        wanted = frozenset(space_ids)
        spaces = [space for space in self.catalogue.spaces if space.id in wanted]
        shown = spaces[:_MOST_ITEMS]
        return {
            "items": [
                directory_item(space, self.catalogue, self.known.get(space.id)) for space in shown
            ],
            "persistenceStrategy": placement_summary(self.config),
            "total": len(spaces),
            "activeCount": sum(self.catalogue.is_active(space) for space in spaces),
            "omittedCount": len(spaces) - len(shown),
        }

    def health(self, *, engine_ready: bool) -> dict[str, Any]:
        """Return the aggregate: Spaces counted, Providers listed, faults named.

        Args:
            engine_ready: Whether the native engine can work; see `Children.native_ready`.
        """
        providers = list(self._providers())
        shown = providers[:_MOST_ITEMS]
        error = self._error()
        aggregate = self._aggregate()
        native = self.children.native
        return {
            "healthy": not self.catalogue.faults,
            **({} if error is None else {"error": truncate(error, _WHOLE_ERROR)}),
            **({} if native is None else {"version": truncate(native.manifest.version, _NAME)}),
            "commandFound": engine_ready,
            "writeEnabled": self.config.write_enabled,
            "memorySpaces": self._counts(),
            "providers": shown,
            "omittedProviderCount": len(providers) - len(shown),
            **({} if aggregate is None else {"aggregate": aggregate}),
        }

    def status_of(self, space: SpaceRecord) -> SpaceHealth:
        """Tell the health of a listed Space as far as it is known."""
        enabled = self.catalogue.is_enabled(space.provider_id)
        return space_status(enabled, self.known.get(space.id))

    def _counts(self) -> dict[str, int]:
        states = [self.status_of(space) for space in self.catalogue.spaces]
        return {
            "total": len(states),
            "active": len(self.catalogue.active),
            "healthy": states.count("healthy"),
            "unhealthy": states.count("unhealthy"),
            "providerDisabled": states.count("provider-disabled"),
        }

    def _error(self) -> str | None:
        lines = [self.worded(fault.message) for fault in self.catalogue.faults]
        lines += merge_lines(self.catalogue)
        lines += [
            f"{child.instance_id}: {self.worded(str(child.reason))}"
            for child in self.children
            if child.state == "failed"
        ]
        lines += [line for space in self.catalogue.spaces for line in self._faults(space)]
        return "; ".join(lines) or None

    def _faults(self, space: SpaceRecord) -> Iterator[str]:
        if self.status_of(space) == "unhealthy":
            yield f"{space.name}: {self.worded(str(self.known[space.id].error))}"

    def _providers(self) -> Iterator[dict[str, Any]]:
        """Yield those that are enabled, configured, broken or hold Spaces, in child order.

        One whose package is not installed is none of these; ``provider-services`` names it.
        """
        for child in self.children:
            if child.state == "absent":
                continue
            if child.state == "failed":
                yield {
                    "providerId": child.instance_id,
                    "label": child.instance_id,
                    "enabled": False,
                    "configured": False,
                    "status": "unhealthy",
                    "memoryBodyCount": 0,
                    "activeMemoryBodyCount": 0,
                    "error": truncate(self.worded(str(child.reason)), _ERROR),
                }
                continue
            entry = self._provider(child.instance_id)
            if entry["enabled"] or entry["configured"] or entry["memoryBodyCount"]:
                yield entry

    def _provider(self, provider_id: str) -> dict[str, Any]:
        catalogue = self.catalogue
        service = catalogue.service(provider_id)
        enabled = catalogue.is_enabled(provider_id)
        spaces = [space for space in catalogue.spaces if space.provider_id == provider_id]
        states = {self.status_of(space) for space in spaces}
        faults = "; ".join(line for space in spaces for line in self._faults(space))
        status = (
            "disabled"
            if not enabled
            else next((state for state in ("unhealthy", "healthy") if state in states), "idle")
        )
        manifest = catalogue.manifests.get(provider_id)
        return {
            "providerId": provider_id,
            "label": truncate(manifest.label if manifest else provider_id, _NAME),
            "enabled": enabled,
            "configured": service.configured if service else enabled,
            "status": status,
            "memoryBodyCount": len(spaces),
            "activeMemoryBodyCount": sum(catalogue.is_active(space) for space in spaces),
            **({"error": truncate(faults, _ERROR)} if faults else {}),
        }

    def _aggregate(self) -> dict[str, int] | None:
        healthy = (self.known.get(space.id) for space in self.catalogue.spaces)
        counted = [item.stats for item in healthy if item is not None and item.stats is not None]
        if not counted:
            return None
        return {wire: _sum(counted, name) for wire, name in _COUNTS}


def _sum(counted: Sequence[SpaceStats], name: str) -> int:
    return sum(getattr(stats, name) or 0 for stats in counted)

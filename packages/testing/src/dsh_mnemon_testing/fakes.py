"""Fakes described by data: the same descriptions as the golden files (spec/core.md §20.1).

Every description is a JSON mapping with camelCase keys. Callbacks leave a line in a shared trace,
in start order, so that a test can say what was called and with what.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from dsh_mnemon_core.plugin import Contributions, MemoryPlugin
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import (
    AvailableSource,
    SourceContext,
    SourceDefinition,
    SourceManifest,
    SourceRuntime,
)
from dsh_mnemon_core.strategy import (
    ExtensionContribution,
    ExtensionDefinition,
    ExtensionManifest,
    ProjectionSpec,
    SourceSelection,
    StrategyDefinition,
    StrategyManifest,
    ViewSpec,
)
from dsh_mnemon_core.view import Guidance, Reminders
from dsh_mnemon_core.wire import from_wire

from dsh_mnemon_testing._fake_source import FAKES, FakeSource, Trace, raw

__all__ = (
    "SOURCE_MANIFEST",
    "STRATEGY_MANIFEST",
    "FakeSource",
    "Trace",
    "fake_contributions",
    "fake_extension",
    "fake_source",
    "fake_strategy",
    "raw",
)

SOURCE_MANIFEST: Final[Mapping[str, Any]] = {
    "typeId": "fake",
    "packageName": "fake-source",
    "role": "working-context",
    "capabilities": ["status", "project"],
    "consistency": "exact-snapshot",
}
"""The least manifest of a Source: it projects, and offers nothing."""

STRATEGY_MANIFEST: Final[Mapping[str, Any]] = {
    "typeId": "fake",
    "packageName": "fake-strategy",
    "deterministic": True,
    "supportedSourceRoles": ["*"],
    "maxSources": 32,
    "maxRoutes": 32,
    "maxActions": 32,
    "extensionSlots": ["selection", "projection", "capture"],
}
"""The manifest of a Strategy that takes every Source and declares the standard slots."""


def fake_source(spec: Mapping[str, Any], trace: Trace | None = None) -> SourceDefinition:
    """Make a Source definition from its description.

    Args:
        spec: ``{manifest, facts?, project?, query?, mutate?, create?}``.
        trace: Where callbacks are recorded; a list of its own when absent.

    Raises:
        MnemonError: The described manifest is malformed.
    """
    lines: Trace = [] if trace is None else trace

    def create(context: SourceContext) -> SourceRuntime:
        lines.append(f"create {context.source_instance_key}")
        how = spec.get("create")
        if how == "raise":
            raise RuntimeError("a secret of the factory")
        if how == "invalid":
            return cast("SourceRuntime", object())
        kind = FAKES[spec.get("query") != "absent", spec.get("mutate") != "absent"]
        return kind(spec, context, lines)

    return SourceDefinition(manifest=from_wire(SourceManifest, spec["manifest"]), create=create)


def fake_strategy(spec: Mapping[str, Any]) -> StrategyDefinition:
    """Make a Strategy definition from ``{manifest, compose}``.

    ``compose.spec`` is proposed literally; otherwise every Source is selected with the given
    ``projection``, ``routeIds``, ``actionIds`` (``"offered"`` for all) and ``required``;
    ``unstable`` changes the explanation on every call.
    """
    manifest = from_wire(StrategyManifest, spec["manifest"])
    how: Mapping[str, Any] = spec["compose"]
    calls = iter(range(1_000_000))

    def compose(
        _request: ViewRequest,
        sources: Iterable[AvailableSource],
        _contributions: Iterable[ExtensionContribution],
    ) -> ViewSpec:
        if "spec" in how:
            return _literal_spec(how["spec"], manifest.type_id)
        again = f" {next(calls)}" if how.get("unstable") else ""
        return ViewSpec(
            strategy_type_id=manifest.type_id,
            sources=tuple(_select(how, source) for source in sources),
            explanation=f"All.{again}",
        )

    return StrategyDefinition(manifest=manifest, compose=compose)


def _select(how: Mapping[str, Any], source: AvailableSource) -> SourceSelection:
    routes, actions = how.get("routeIds"), how.get("actionIds")
    projection = how.get("projection")
    return SourceSelection(
        source_instance_key=source.source_instance_key,
        required=how.get("required", True),
        projection=None if projection is None else raw(ProjectionSpec, projection),
        route_ids=source.route_ids if routes == "offered" else routes,
        action_ids=source.action_ids if actions == "offered" else actions,
    )


def _literal_spec(spec: Mapping[str, Any], type_id: str) -> ViewSpec:
    sources = tuple(_literal_selection(item) for item in spec["sources"])
    defaults = {"strategyTypeId": type_id, "explanation": "Fixed."}
    values = {**defaults, **spec, "sources": sources, "guidance": _guidance(spec.get("guidance"))}
    return cast("ViewSpec", raw(ViewSpec, values))


def _literal_selection(item: Mapping[str, Any]) -> SourceSelection:
    projection = item.get("projection")
    made = None if projection is None else raw(ProjectionSpec, projection)
    return cast("SourceSelection", raw(SourceSelection, {**item, "projection": made}))


def _guidance(value: Any) -> Any:
    """Build Guidance from a mapping; hand anything else on, so that Core can refuse it."""
    if not isinstance(value, Mapping):
        return value
    mapping = cast("Mapping[str, Any]", value)
    reminders: Any = mapping.get("reminders")
    if isinstance(reminders, Mapping):
        reminders = raw(Reminders, cast("Mapping[str, Any]", reminders))
    return raw(Guidance, {**mapping, "reminders": reminders})


def fake_extension(spec: Mapping[str, Any]) -> ExtensionDefinition:
    """Make an extension from ``{manifest, contribute}``.

    ``contribute`` is the JSON value, ``"counter"`` (a new number each call) or ``"large"``
    (64 001 characters).
    """
    value: Any = spec["contribute"]
    calls = iter(range(1_000_000))

    def contribute(_request: ViewRequest, _sources: Iterable[AvailableSource]) -> Any:
        if value == "counter":
            return next(calls)
        return "x" * 64_001 if value == "large" else value

    manifest = from_wire(ExtensionManifest, spec["manifest"])
    return ExtensionDefinition(manifest=manifest, contribute=contribute)


def fake_contributions(
    description: Mapping[str, Any], trace: Trace | None = None
) -> tuple[tuple[str, Contributions], ...]:
    """Turn ``{sources?, strategies?, extensions?}`` into ``(entryId, Contributions)`` batches."""
    lines: Trace = [] if trace is None else trace
    batches: list[tuple[str, Contributions]] = []
    for kind, items in description.items():
        for item in cast("Iterable[Mapping[str, Any]]", items):
            plugin = item.get("plugin")
            described = None if plugin is None else from_wire(MemoryPlugin, plugin)
            batches.append((item["entryId"], _batch(kind, item, described, lines)))
    return tuple(batches)


def _batch(
    kind: str, item: Mapping[str, Any], plugin: MemoryPlugin | None, trace: Trace
) -> Contributions:
    if kind == "sources":
        return Contributions(plugin=plugin, sources=(fake_source(item, trace),))
    if kind == "strategies":
        return Contributions(plugin=plugin, strategies=(fake_strategy(item),))
    return Contributions(plugin=plugin, strategy_extensions=(fake_extension(item),))

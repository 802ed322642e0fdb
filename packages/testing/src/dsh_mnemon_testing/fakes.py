"""Fakes described by data: the same descriptions as the golden files (spec/core.md §20.1).

Every description is a JSON mapping with camelCase keys. Callbacks leave a line in a shared trace,
in start order, so that a test can say what was called and with what.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

import anyio
import attrs
from dsh_mnemon_core.evidence import Evidence, EvidenceItem, Receipt
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.plugin import Contributions, MemoryPlugin
from dsh_mnemon_core.scope import ViewRequest
from dsh_mnemon_core.source import (
    AvailableSource,
    FactsRequest,
    MutateRequest,
    ProjectRequest,
    QueryRequest,
    SourceContext,
    SourceDefinition,
    SourceFacts,
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
from dsh_mnemon_core.view import (
    Contribution,
    Fragment,
    Guidance,
    Presentation,
    PresentationItem,
    ReadGrant,
    Reminders,
)
from dsh_mnemon_core.wire import from_wire, to_wire, wire_name

from dsh_mnemon_testing.clock import FROZEN

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

Trace: TypeAlias = list[str]
"""Lines a fake leaves behind, such as ``facts source:alpha``."""

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


def raw(cls: type[Any], values: Mapping[str, Any]) -> Any:
    """Build an attrs value from wire keys without judging it, for malformed answers.

    Unknown keys go to ``extra`` where the class has one and are dropped elsewhere.
    """
    names = {wire_name(field.name): field.name for field in attrs.fields(cls)}
    known = {names[key]: item for key, item in values.items() if key in names}
    if "extra" in names:
        known["extra"] = {key: item for key, item in values.items() if key not in names}
    return cls(**known)


def _json(value: Any) -> str:
    return json.dumps(to_wire(value), ensure_ascii=False, separators=(",", ":"))


class FakeSource:
    """A Source runtime that answers what its description says.

    Args:
        spec: ``{manifest, facts?, project?, query?, mutate?}``; see spec/core.md §20.1.
        context: What the factory received.
        trace: Where callbacks are recorded.
    """

    def __init__(self, spec: Mapping[str, Any], context: SourceContext, trace: Trace) -> None:
        self.spec = spec
        self.context = context
        self.key = context.source_instance_key
        self._trace = trace
        self._manifest = from_wire(SourceManifest, spec["manifest"])

    async def facts(self, request: FactsRequest) -> SourceFacts:
        """Answer every capability, route and action, overridden by ``facts``."""
        del request
        self._trace.append(f"facts {self.key}")
        overrides = dict(self.spec.get("facts") or {})
        await _behave(overrides.pop("behaviour", None))
        defaults: dict[str, Any] = {
            "sourceInstanceKey": self.key,
            "sourceTypeId": self._manifest.type_id,
            "role": self._manifest.role,
            "availability": "ready",
            "revision": "r1",
            "capabilities": list(self._manifest.capabilities),
            "routeIds": [route.id for route in self._manifest.routes],
            "actionIds": [action.id for action in self._manifest.actions],
        }
        return cast("SourceFacts", raw(SourceFacts, {**defaults, **overrides}))

    async def project(self, request: ProjectRequest) -> Contribution:
        """Answer the fragment ``cover``, a grant and a presentation as described."""
        asked = {
            "expectedRevision": request.expected_revision,
            "includeProjection": request.include_projection,
            "mode": request.mode,
            "maxCharacters": request.max_characters,
        }
        self._trace.append(f"project {self.key} {_json(asked)}")
        spec: Mapping[str, Any] = self.spec.get("project") or {}
        await _behave(spec.get("behaviour"))
        fragments: tuple[Fragment, ...] = ()
        if request.include_projection or spec.get("force"):
            defaults = {
                "id": "cover",
                "sourceInstanceKey": self.key,
                "mode": request.mode,
                "text": spec.get("text", ""),
                "revision": request.expected_revision,
            }
            fragments = (raw(Fragment, {**defaults, **(spec.get("fragment") or {})}),)
        return Contribution(
            fragments=fragments,
            read_grant=self._grant(spec) if spec.get("grant") else None,
            presentation=_presentation(spec.get("presentation")),
        )

    def _grant(self, spec: Mapping[str, Any]) -> ReadGrant:
        defaults = {
            "id": f"{self.key}/grant",
            "sourceInstanceKey": self.key,
            "schema": "fake/v1",
            "value": {"namespace": self._manifest.type_id},
            "revision": "g1",
            "consistency": self._manifest.consistency,
        }
        return cast("ReadGrant", raw(ReadGrant, {**defaults, **(spec.get("grantFields") or {})}))


class _Querying:
    """The ``query`` half of a fake; mixed in unless the description says ``absent``."""

    spec: Mapping[str, Any]
    _trace: Trace

    async def query(self, request: QueryRequest) -> Evidence:
        """Answer ``items`` and ``fields`` as described; one item ``one`` by default."""
        route = request.route
        seen = {
            "maxResults": route.max_results,
            "maxCharacters": route.max_characters,
            "input": request.input,
        }
        self._trace.append(f"query {route.id} {_json(seen)}")
        spec: Mapping[str, Any] = self.spec.get("query") or {}
        await _behave(spec.get("behaviour"))
        items = spec.get("items", [{"id": "one", "text": "one", "provenance": None}])
        defaults = {
            "id": "evidence-1",
            "viewId": request.view.id,
            "routeId": route.id,
            "sourceInstanceKey": route.source_instance_key,
            "items": tuple(_item(item) for item in items),
            "truncated": False,
        }
        return cast("Evidence", raw(Evidence, {**defaults, **(spec.get("fields") or {})}))


class _Mutating:
    """The ``mutate`` half of a fake; mixed in unless the description says ``absent``."""

    spec: Mapping[str, Any]
    _trace: Trace

    async def mutate(self, request: MutateRequest) -> Receipt:
        """Answer a committed Receipt with the described overrides; null omits a key."""
        offer = request.offer
        seen = {"input": request.input, "grant": request.grant.id if request.grant else None}
        self._trace.append(f"mutate {offer.id} {_json(seen)}")
        overrides = dict(self.spec.get("mutate") or {})
        await _behave(overrides.pop("behaviour", None))
        defaults = {
            "id": "receipt-1",
            "viewId": request.view.id,
            "offerId": offer.id,
            "sourceInstanceKey": offer.source_instance_key,
            "status": "succeeded",
            "completion": "committed",
            "committedAt": iso_utc(FROZEN),
            "revision": "r2",
        }
        return cast("Receipt", raw(Receipt, {**defaults, **overrides}))


class _Disposing:
    """The ``dispose`` of a fake."""

    key: str
    _trace: Trace

    async def dispose(self) -> None:
        """Leave a trace."""
        self._trace.append(f"dispose {self.key}")


class _Reading(FakeSource, _Disposing):
    pass


class _ReadingQuerying(FakeSource, _Querying, _Disposing):
    pass


class _ReadingMutating(FakeSource, _Mutating, _Disposing):
    pass


class _Complete(FakeSource, _Querying, _Mutating, _Disposing):
    pass


_FAKES: dict[tuple[bool, bool], type[FakeSource]] = {
    (False, False): _Reading,
    (True, False): _ReadingQuerying,
    (False, True): _ReadingMutating,
    (True, True): _Complete,
}


async def _behave(behaviour: object) -> None:
    if behaviour == "raise":
        raise RuntimeError("a secret of the fake")
    if behaviour == "hang":
        await anyio.sleep_forever()


def _item(value: Mapping[str, Any]) -> EvidenceItem:
    # In JSON a number that is not finite can only be written as null.
    score = {"score": float("nan")} if "score" in value and value["score"] is None else {}
    return cast("EvidenceItem", raw(EvidenceItem, {**value, **score}))


def _presentation(value: Mapping[str, Any] | None) -> Presentation | None:
    if value is None:
        return None
    items = value.get("items")
    made = None if items is None else tuple(raw(PresentationItem, item) for item in items)
    return cast("Presentation", raw(Presentation, {**value, "items": made}))


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
        kind = _FAKES[spec.get("query") != "absent", spec.get("mutate") != "absent"]
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

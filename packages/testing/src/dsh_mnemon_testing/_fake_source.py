"""The runtime of a fake Source (spec/core.md §20.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeAlias, cast

import anyio
import attrs
from dsh_mnemon_core.evidence import Evidence, EvidenceItem, Receipt
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_core.source import (
    FactsRequest,
    MutateRequest,
    ProjectRequest,
    QueryRequest,
    SourceContext,
    SourceFacts,
    SourceManifest,
)
from dsh_mnemon_core.view import (
    Contribution,
    Fragment,
    Presentation,
    PresentationItem,
    ReadGrant,
)
from dsh_mnemon_core.wire import from_wire, to_wire, wire_name

from dsh_mnemon_testing.clock import FROZEN

Trace: TypeAlias = list[str]
"""Lines a fake leaves behind, such as ``facts source:alpha``."""


def raw(cls: type[Any], values: Mapping[str, Any]) -> Any:
    """Build an attrs value from wire keys without judging it, for malformed answers.

    Unknown keys go to ``extra`` where the class has one and are dropped elsewhere; a required key
    that is missing is ``None``.
    """
    fields = attrs.fields(cls)
    names = {wire_name(field.name): field.name for field in fields}
    known: dict[str, Any] = {f.name: None for f in fields if f.default is attrs.NOTHING}
    known |= {names[key]: item for key, item in values.items() if key in names}
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


FAKES: dict[tuple[bool, bool], type[FakeSource]] = {
    (False, False): _Reading,
    (True, False): _ReadingQuerying,
    (False, True): _ReadingMutating,
    (True, True): _Complete,
}
"""Fakes by whether they have ``query`` and ``mutate``."""


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

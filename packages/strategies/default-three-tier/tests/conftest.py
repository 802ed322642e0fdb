"""What the tests of this package share: Sources described by a few words, and a turn to drive."""

from collections.abc import Mapping, Sequence
from typing import Any

import anyio
import attrs
import pytest
from dsh_mnemon_core.errors import SourceFault
from dsh_mnemon_core.evidence import Evidence, EvidenceItem
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ActionManifest, AvailableSource, RouteManifest
from dsh_mnemon_core.values import thaw
from dsh_mnemon_core.view import ReadGrant, View, ViewConsistency, ViewRoute
from dsh_mnemon_strategy_default_three_tier import layered_strategy

ROLES = {
    "runtime": "working-context",
    "documents": "narrative",
    "memory-spaces": "durable-evidence",
}
SCHEMAS = {"documents": "dsh-mnemon.documents/v1", "spaces": "dsh-mnemon.memory-spaces/v1"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def make_source():
    """Return a factory of available Sources; the type gives the role unless one is named."""

    def make(
        type_id: str,
        key: str | None = None,
        *,
        role: str | None = None,
        routes: Sequence[str] = (),
        actions: Sequence[str] = (),
        project: bool = True,
        availability: str = "ready",
    ) -> AvailableSource:
        schema = {"type": "object"}
        return AvailableSource(
            source_instance_key=key or f"source:{type_id}",
            source_type_id=type_id,
            role=role or ROLES[type_id],
            availability=availability,
            revision="r1",
            capabilities=("project", "search", "write") if project else ("search", "write"),
            routes=tuple(
                RouteManifest(
                    id=id_, description=id_, capability="search", input_schema=schema, max_calls=4
                )
                for id_ in routes
            ),
            actions=tuple(
                ActionManifest(id=id_, description=id_, capability="write", input_schema=schema)
                for id_ in actions
            ),
        )

    return make


@attrs.define
class Turn:
    """Drives the policy of one executing turn with answers given as data.

    An answer item is ``{id, text, ...provenance}``; ``score`` and ``revision`` go to the item.
    """

    grants: Sequence[Mapping[str, Any]]
    results: Sequence[Mapping[str, Any]] = ()
    reads: list[dict[str, Any]] = attrs.field(factory=list)
    gates: dict[str, anyio.Event] = attrs.field(factory=dict)
    policy: Any = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        view = View(
            id="view:1",
            digest="1",
            runtime_generation="generation:1",
            strategy_instance_key="strategy:layered",
            strategy_type_id="default-three-tier",
            created_at="2026-01-02T03:04:05.678Z",
            scope=OperationScope(storage="custom"),
            projection=(),
            routes=(),
            read_grants=tuple(self.grant(item["sourceInstanceKey"]) for item in self.grants),
            action_offers=(),
            consistency=ViewConsistency(mode="mixed", source_revisions={}),
            explanation="test",
        )
        self.policy = layered_strategy().create_turn(view)

    def grant(self, source: str) -> ReadGrant:
        """Return the grant of a Source."""
        given = next(item for item in self.grants if item["sourceInstanceKey"] == source)
        return ReadGrant(
            id=given["id"],
            source_instance_key=source,
            schema=given["schema"],
            value=given["value"],
            revision="g1",
            consistency="namespace-pinned-live-read",
        )

    def route(self, source: str, route: str) -> ViewRoute:
        """Return an offered route of a Source."""
        return ViewRoute(
            id=f"{source}/{route}",
            source_instance_key=source,
            source_route_id=route,
            description=route,
            capability="search",
            input_schema={"type": "object"},
            read_grant_id=self.grant(source).id,
            max_calls=4,
            max_results=20,
            max_characters=16_000,
        )

    async def call(
        self,
        source: str,
        route: str,
        input: Mapping[str, Any],
        *,
        results: Sequence[Mapping[str, Any]] | None = None,
        fail: bool = False,
        seen: list[dict[str, Any]] | None = None,
        **fields: Any,
    ) -> Evidence:
        """Call one route; ``seen`` collects what reached the Source, ``fields`` go to Evidence.

        A read whose query or id names an entry of ``gates`` waits for it.
        """
        offered = self.route(source, route)

        async def read(input: Any, limits: Any = None) -> Evidence:
            record = {"input": thaw(input)}
            if limits is not None:
                record["limits"] = {
                    "maxResults": limits.max_results,
                    "maxCharacters": limits.max_characters,
                }
            self.reads.append(record)
            if seen is not None:
                seen.append(record)
            await anyio.lowlevel.checkpoint()
            gate = self.gates.get(input.get("query", input.get("id")))
            if gate is not None:
                await gate.wait()
            if fail:
                raise SourceFault("provider-error", "the store is down")
            answer = {
                "id": f"evidence-{len(self.reads)}",
                "view_id": "view:1",
                "route_id": offered.id,
                "source_instance_key": source,
                "observed_at": "2026-01-02T03:04:05.678Z",
                "items": tuple(map(_item, self.results if results is None else results)),
            }
            return Evidence(**{**answer, **fields})

        return await self.policy.query(offered, self.grant(source), input, read)


def _item(value: Mapping[str, Any]) -> EvidenceItem:
    given = dict(value)
    own = {key: given.pop(key) for key in ("id", "text", "score", "revision") if key in given}
    return EvidenceItem(**own, provenance=given)


@pytest.fixture
def make_turn():
    """Return a factory of turns; the default grants are one of each kind, two Spaces a and b."""

    def make(results: Sequence[Mapping[str, Any]] = (), grants: Any = None, **more: Any) -> Turn:
        default = [
            {
                "id": "g",
                "sourceInstanceKey": "source:memory-spaces",
                "schema": SCHEMAS["spaces"],
                "value": {"memoryBodyIds": ["a", "b"]},
            },
            {
                "id": "d",
                "sourceInstanceKey": "source:documents",
                "schema": SCHEMAS["documents"],
                "value": {},
            },
        ]
        return Turn(grants=grants or default, results=results, **more)

    return make

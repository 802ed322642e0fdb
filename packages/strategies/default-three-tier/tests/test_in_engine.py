"""The Strategy inside the real engine: composed, pinned, executed."""

import attrs
import pytest
from dsh_mnemon_core.errors import BudgetExhausted, MnemonError, ViewRejected
from dsh_mnemon_core.evidence import Evidence, EvidenceItem
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.runtime import open_runtime
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import RouteManifest, SourceDefinition, SourceFacts, SourceManifest
from dsh_mnemon_core.view import Contribution, Fragment, ReadGrant
from dsh_mnemon_strategy_default_three_tier import layered_strategy, plugin

SCOPE = OperationScope(storage="custom")
SCHEMA = {
    "type": "object",
    "properties": {
        "query": {"type": "string"},
        "mode": {"type": "string"},
        "limit": {"type": "integer"},
        "category": {"type": "string"},
        "memoryBodyIds": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["query"],
    "additionalProperties": False,
}


MANIFEST = SourceManifest(
    type_id="memory-spaces",
    package_name="fake-spaces",
    role="durable-evidence",
    capabilities=("project", "recall"),
    consistency="namespace-pinned-live-read",
    routes=(
        RouteManifest(
            id="recall", description="recall", capability="recall", input_schema=SCHEMA, max_calls=3
        ),
    ),
)


@attrs.define
class Spaces:
    """A Source that finds what its query says, until it is told to fail."""

    key: str
    failing: bool = False
    queries: list = attrs.field(factory=list)

    async def facts(self, _request):
        return SourceFacts(
            source_instance_key=self.key,
            source_type_id="memory-spaces",
            role="durable-evidence",
            availability="ready",
            revision="r1",
            capabilities=("project", "recall"),
            route_ids=("recall",),
        )

    async def project(self, request):
        text = "cover"[: request.max_characters]
        fragment = Fragment(
            id="cover", source_instance_key=self.key, mode=request.mode, text=text, revision="r1"
        )
        grant = ReadGrant(
            id=f"{self.key}/grant",
            source_instance_key=self.key,
            schema="dsh-mnemon.memory-spaces/v1",
            value={"memoryBodyIds": ["a"]},
            revision="r1",
            consistency="namespace-pinned-live-read",
        )
        return Contribution(fragments=(fragment,), read_grant=grant)

    async def query(self, request):
        self.queries.append(request.input["query"])
        if self.failing:
            raise OSError("offline")
        provenance = {"memoryBodyId": "a", "relevanceTier": "high"}
        found = f"about {request.input['query']}"
        return Evidence(
            id=f"evidence:{len(self.queries)}",
            view_id=request.view.id,
            route_id=request.route.id,
            source_instance_key=self.key,
            items=(EvidenceItem(id=found, text=found, provenance=provenance),),
        )


def install(runtime, entry_id="mnemon-source-memory-spaces"):
    source = Spaces(f"source:{entry_id}")
    definition = SourceDefinition(manifest=MANIFEST, create=lambda _context: source)
    runtime.service.install_contributions(entry_id, Contributions(sources=(definition,)))
    return source


def install_layered(runtime):
    batch = Contributions(plugin=plugin.memory_plugin, strategies=(layered_strategy(),))
    runtime.service.install_contributions("mnemon-strategy-default-three-tier", batch)


@pytest.mark.requirement("layered:turn:isolated")
async def test_turns_of_one_view_have_budgets_of_their_own():
    async with open_runtime() as runtime:
        source = install(runtime)
        install_layered(runtime)
        turns = runtime.attach_generation().turns
        route = f"{source.key}/recall"
        views = [(await turns.begin_turn(name, SCOPE)).view for name in ("root", "child")]
        assert views[0].id == views[1].id
        for name in ("root", "child"):
            for query in ("one", "One!", "two", "three"):
                evidence = await turns.execute_route(name, route, {"query": query})
                assert evidence.observed_at
                assert evidence.consistency == "namespace-pinned-live-read"
                assert evidence.output["results"][0]["content"].startswith("about ")
        assert source.queries == ["one", "two"] * 2


@pytest.mark.requirement("layered:recall:failure")
async def test_failed_recalls_may_be_repeated_until_the_calls_run_out():
    async with open_runtime() as runtime:
        source = install(runtime)
        install_layered(runtime)
        turns = runtime.attach_generation().turns
        await turns.begin_turn("root", SCOPE)
        source.failing = True
        codes = []
        for _ in range(4):
            with pytest.raises(MnemonError) as caught:
                await turns.execute_route("root", f"{source.key}/recall", {"query": "one"})
            codes.append(caught.value.code)
        assert codes == ["source-query-raised"] * 3 + ["route-calls-exhausted"]
        assert isinstance(caught.value, BudgetExhausted)
        assert source.queries == ["one"] * 3


@pytest.mark.requirement("layered:roles:ambiguous")
async def test_an_ambiguous_role_fails_the_turn_and_not_the_generation():
    async with open_runtime() as runtime:
        install(runtime, "one")
        install(runtime, "two")
        install_layered(runtime)
        attachment = runtime.attach_generation()
        with pytest.raises(ViewRejected) as caught:
            await attachment.turns.begin_turn("root", SCOPE)
        assert caught.value.code == "layered-ambiguous-role"


@pytest.mark.requirement("layered:plugin")
async def test_without_a_source_the_strategy_waits():
    async with open_runtime() as runtime:
        install_layered(runtime)
        attachment = runtime.attach_generation()
        with pytest.raises(MnemonError) as caught:
            await attachment.turns.begin_turn("root", SCOPE)
        assert caught.value.code == "memory-composition-unavailable"

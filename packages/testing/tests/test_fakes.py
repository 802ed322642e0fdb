"""Fakes answer what their description says."""

import math

import anyio
import attrs
import pytest
from dsh_mnemon_core.errors import DefinitionError
from dsh_mnemon_core.scope import OperationScope, ViewRequest
from dsh_mnemon_core.source import Mutates, Queries, SourceRuntime
from dsh_mnemon_core.view import Fragment, Guidance
from dsh_mnemon_testing import fake_contributions, fake_extension, fake_source, fake_strategy
from dsh_mnemon_testing.fakes import SOURCE_MANIFEST, STRATEGY_MANIFEST, raw
from dsh_mnemon_testing.running import start_source

pytestmark = pytest.mark.requirement("testing:fakes")

SCOPE = OperationScope(storage="custom")
REQUEST = ViewRequest(scope=SCOPE)
ROUTE = {
    "id": "search",
    "description": "Finds.",
    "capability": "search",
    "inputSchema": {},
    "maxCalls": 1,
}
ACTION = {"id": "add", "description": "Adds.", "capability": "write", "inputSchema": {}}
MANIFEST = {
    **SOURCE_MANIFEST,
    "capabilities": ["project", "search", "write"],
    "routes": [ROUTE],
    "actions": [ACTION],
}
EXTENSION = {
    "typeId": "fake",
    "packageName": "fake-extension",
    "strategyTypeId": "*",
    "slot": "projection",
    "deterministic": True,
}
PLUGIN = {
    "packageName": "fake-source",
    "label": {"en": "Fake", "zh-CN": "假"},
    "description": {"en": "Fake.", "zh-CN": "假。"},
    "roles": ["source"],
    "provides": [{"id": "source.fake"}],
}


def start(tmp_path, **spec):
    return start_source(
        fake_source({"manifest": MANIFEST, **spec}),
        key="source:fake",
        folder=tmp_path,
        scope=SCOPE,
        configuration={},
        secrets={},
    )


async def test_facts_are_the_manifest_unless_overridden(tmp_path):
    facts = await start(tmp_path).facts()
    assert (facts.capabilities, facts.route_ids) == (["project", "search", "write"], ["search"])
    assert (facts.availability, facts.revision) == ("ready", "r1")
    facts = await start(tmp_path, facts={"availability": "degraded", "routeIds": []}).facts()
    assert (facts.availability, facts.route_ids) == ("degraded", [])


async def test_projection_is_described(tmp_path):
    presentation = {"visibleItems": 1, "items": [{"id": "a", "title": "A"}]}
    described = {
        "text": "cover",
        "fragment": {"revision": "r9"},
        "grant": True,
        "grantFields": {"schema": "mine/v1"},
        "presentation": presentation,
    }
    source = start(tmp_path, project=described)
    made = await source.project()
    assert [(item.text, item.revision) for item in made.fragments] == [("cover", "r9")]
    assert made.read_grant.schema == "mine/v1"
    assert made.presentation.items[0].title == "A"
    assert (await source.project(include=False)).fragments == ()
    forced = start(tmp_path, project={"force": True, "presentation": {"visibleItems": 0}})
    made = await forced.project(include=False)
    assert len(made.fragments) == 1
    assert made.presentation.items is None


async def test_evidence_is_described(tmp_path):
    items = [{"id": "a", "text": "A", "score": None, "kind": "note"}]
    query = {"items": items, "fields": {"truncated": True}}
    found = await start(tmp_path, project={"grant": True}, query=query).query("search", {})
    assert found.truncated
    assert math.isnan(found.items[0].score)
    assert found.items[0].extra == {"kind": "note"}


async def test_receipt_is_described(tmp_path):
    source = start(
        tmp_path, mutate={"completion": "unknown", "status": "partial", "committedAt": None}
    )
    receipt = await source.mutate("add", {})
    assert (receipt.completion, receipt.committed_at) == ("unknown", None)


@pytest.mark.parametrize(
    ("query", "mutate"),
    [(True, True), (True, False), (False, True), (False, False)],
    ids=["both", "query", "mutate", "neither"],
)
def test_callbacks_may_be_absent(tmp_path, query, mutate):
    absent = {} if query else {"query": "absent"}
    absent |= {} if mutate else {"mutate": "absent"}
    runtime = start(tmp_path, **absent).live.runtime
    assert isinstance(runtime, Queries) is query
    assert isinstance(runtime, Mutates) is mutate


async def test_behaviour_may_be_bad(tmp_path):
    with pytest.raises(RuntimeError, match="secret"):
        await start(tmp_path, facts={"behaviour": "raise"}).facts()
    with anyio.move_on_after(0.01) as scope:
        await start(tmp_path, facts={"behaviour": "hang"}).facts()
    assert scope.cancelled_caught
    with pytest.raises(RuntimeError, match="secret"):
        start(tmp_path, create="raise")
    assert not isinstance(start(tmp_path, create="invalid").live.runtime, SourceRuntime)


def test_malformed_manifest_is_refused():
    with pytest.raises(DefinitionError):
        fake_source({"manifest": {**MANIFEST, "role": "Not An Id"}})


async def test_strategy_selects_as_described(tmp_path, memory_runner):
    contributions = {
        "sources": [{"entryId": "fake", "manifest": MANIFEST, "project": {"grant": True}}],
        "strategies": [
            {
                "entryId": "all",
                "manifest": STRATEGY_MANIFEST,
                "compose": {"routeIds": "offered", "actionIds": ["add"], "required": False},
            }
        ],
    }
    for entry_id, batch in fake_contributions(contributions):
        memory_runner.install(entry_id, batch)
    turn = await memory_runner.begin_turn()
    assert [route.source_route_id for route in turn.view.routes] == ["search"]
    assert [offer.source_action_id for offer in turn.view.action_offers] == ["add"]


def test_strategy_may_be_unstable():
    how = {"projection": {"mode": "eager", "maxCharacters": 3}, "unstable": True}
    strategy = fake_strategy({"manifest": STRATEGY_MANIFEST, "compose": how})
    first, second = (strategy.compose(REQUEST, (), ()) for _ in range(2))
    assert first.explanation != second.explanation


def test_strategy_may_propose_literally():
    spec = {
        "sources": [
            {"sourceInstanceKey": "source:a", "projection": {"mode": "eager", "maxCharacters": 1}},
            {"sourceInstanceKey": "source:b"},
        ],
        "guidance": {"system": "Text.", "reminders": {"read": "Look."}},
    }
    strategy = fake_strategy({"manifest": STRATEGY_MANIFEST, "compose": {"spec": spec}})
    proposal = strategy.compose(REQUEST, (), ())
    assert (proposal.strategy_type_id, proposal.explanation) == ("fake", "Fixed.")
    assert proposal.sources[0].projection.max_characters == 1
    assert proposal.guidance.reminders.read == "Look."
    for odd in ("text", {"system": "Text.", "reminders": "odd"}):
        compose = {"spec": {**spec, "guidance": odd}}
        made = fake_strategy({"manifest": STRATEGY_MANIFEST, "compose": compose})
        guidance = made.compose(REQUEST, (), ()).guidance
        assert guidance == odd or (isinstance(guidance, Guidance) and guidance.reminders == "odd")


def test_extension_contributes_as_described():
    def contribute(value):
        extension = fake_extension({"manifest": EXTENSION, "contribute": value})
        return extension.contribute(REQUEST, ()), extension.contribute(REQUEST, ())

    assert contribute({"a": 1}) == ({"a": 1}, {"a": 1})
    assert contribute("counter") == (0, 1)
    assert len(contribute("large")[0]) == 64_001


def test_batches_are_made_of_each_kind():
    described = {
        "sources": [{"entryId": "s", "manifest": MANIFEST, "plugin": PLUGIN}],
        "strategies": [{"entryId": "t", "manifest": STRATEGY_MANIFEST, "compose": {}}],
        "extensions": [{"entryId": "e", "manifest": EXTENSION, "contribute": 1}],
    }
    batches = dict(fake_contributions(described))
    assert batches["s"].plugin.package_name == "fake-source"
    assert [len(batches["s"].sources), len(batches["t"].strategies)] == [1, 1]
    assert len(batches["e"].strategy_extensions) == 1


def test_raw_values_are_not_judged():
    fragment = raw(
        Fragment,
        {"id": 1, "mode": "odd", "text": None, "nobody": "knows"}
        | {"sourceInstanceKey": "", "revision": ""},
    )
    assert attrs.asdict(fragment)["id"] == 1

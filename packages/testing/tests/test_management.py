"""The management plane, as people use it."""

import attrs
import pytest
from dsh_mnemon_core.errors import ManagementError
from dsh_mnemon_core.plugin import Contributions
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_core.source import ManagementRequest, ManagementResult, SourceDefinition

pytestmark = pytest.mark.requirement("testing:runner:management")

SCOPE = OperationScope(storage="custom")


class Counter:
    """A Source whose revision is a number that management raises."""

    def __init__(self, fake):
        self.fake = fake
        self.number = 1
        self.requests = []

    async def facts(self, request):
        return attrs.evolve(await self.fake.facts(request), revision=f"r{self.number}")

    async def project(self, request):
        return await self.fake.project(request)

    async def manage(self, request):
        self.requests.append(request)
        self.number += request.mode == "mutate"
        return ManagementResult(revision=f"r{self.number}", value={"number": self.number})


@pytest.fixture
def counter(memory_runner, fake_source, fake_strategy):
    definition = fake_source(manifest={"management": {"label": "Counter"}})
    made = []

    def create(context):
        made.append(Counter(definition.create(context)))
        return made[-1]

    managed = SourceDefinition(manifest=definition.manifest, create=create)
    memory_runner.install("counter", Contributions(sources=(managed,)))
    memory_runner.install("strategy", Contributions(strategies=(fake_strategy(),)))
    return made[-1]


async def test_catalog_lists_what_can_be_managed(memory_runner, counter):
    catalog = await memory_runner.management_catalog()
    assert [row["sourceInstanceKey"] for row in catalog["sources"]] == ["source:counter"]
    assert catalog["sources"][0]["management"] == {"label": "Counter"}
    assert await memory_runner.management_catalog(SCOPE) == catalog


async def test_request_is_performed(memory_runner, counter):
    request = ManagementRequest(
        source_instance_key="source:counter", scope=SCOPE, mode="read", operation="look"
    )
    result = await memory_runner.execute_management(request)
    assert (result.revision, result.value) == ("r1", {"number": 1})


async def test_client_remembers_the_last_revision(memory_runner, counter):
    client = memory_runner.management_client("source:counter")
    assert client.revision is None
    assert await client.read("look", {"deep": True}) == {"number": 1}
    assert client.revision == "r1"
    assert await client.mutate("raise") == {"number": 2}
    assert client.revision == "r2"
    assert [item.expected_revision for item in counter.requests] == [None, "r1"]
    assert counter.requests[1].confirmed


async def test_client_asks_for_the_revision_when_it_knows_none(memory_runner, counter):
    client = memory_runner.management_client("source:counter", SCOPE)
    assert await client.mutate("raise", {"by": 1}) == {"number": 2}
    assert counter.requests[0].expected_revision == "r1"


async def test_change_behind_the_clients_back_is_a_conflict(memory_runner, counter):
    client = memory_runner.management_client("source:counter")
    await client.refresh()
    counter.number = 7
    with pytest.raises(ManagementError) as caught:
        await client.mutate("raise")
    assert caught.value.code == "management-revision-conflict"
    assert await client.refresh() == "r7"
    assert await client.mutate("raise") == {"number": 8}

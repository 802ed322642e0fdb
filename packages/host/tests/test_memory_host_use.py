"""What an open Host gives to harnesses and to people."""

import anyio
import pytest
from dsh_mnemon_core.errors import AuthorityError, CapacityError, TurnError
from dsh_mnemon_core.profile import Row
from dsh_mnemon_host.agent_host import HostCapabilities

ROWS = tuple(
    Row(id=f"mnemon-{name.replace('_', '-')}", module=f"dsh_mnemon_{name}")
    for name in ("source_runtime", "source_documents", "strategy_default_three_tier")
)

ADD = {"action": "add", "target": "memory", "content": "Build with nox"}


def put(key, value):
    return [{"op": "set", "path": key.split("."), "value": value}]


# -- tools and harnesses --------------------------------------------------------------------------


@pytest.mark.requirement("host:writes:live")
async def test_write_enabled_flips_live(home):
    async with home.open() as host:
        agent = host.agent("a")
        async with agent.turn() as turn:
            names = [tool.name for tool in turn.tools]
            reads = [tool.name for tool in turn.tools if not tool.writes]
            await host.settings.mutate("mnemon", put("writeEnabled", False))
            assert [tool.name for tool in host.tools()] == reads
            for name, arguments in (
                ("mnemon_runtime_memory", ADD),
                ("mnemon_view_action", {"offerId": "source:mnemon-source-runtime/mutate",
                                        "input": ADD}),
            ):  # fmt: skip
                with pytest.raises(AuthorityError) as caught:
                    await turn.call(name, arguments)
                assert caught.value.code == "writes-disabled"
        stale = turn
        async with agent.turn() as turn:
            assert [tool.name for tool in turn.tools] == reads
            assert host.lifecycle.memory("a").view.action_offers == ()
            assert "mnemon_runtime_memory" not in turn.messages[-1].text
            with pytest.raises(AuthorityError) as caught:
                await stale.call("mnemon_runtime_memory", ADD)
            assert caught.value.code == "writes-disabled"
            await host.settings.mutate("mnemon", put("writeEnabled", True))
            with pytest.raises(AuthorityError) as caught:
                await stale.call("mnemon_runtime_memory", ADD)
            assert caught.value.code == "writes-disabled", "the pinned configuration counts too"
        assert home.stored() == []
        async with agent.turn() as turn:
            assert [tool.name for tool in turn.tools] == names
            await turn.call("mnemon_runtime_memory", ADD)
    assert len(home.stored()) == 1


class Harness:
    """An adapter that notes what it is given."""

    name = "noting"
    capabilities = HostCapabilities()

    def __init__(self, agents=()):
        self.agents = {agent.id: agent for agent in agents}
        self.sink = None
        self.lists = []

    def agent(self, agent_id):
        return self.agents.get(agent_id)

    def roots(self):
        return [agent for agent in self.agents.values() if agent.origin == "root"]

    def subscribe(self, sink):
        self.sink = sink
        return lambda: setattr(self, "sink", None)

    def register_tools(self, tools):
        self.lists.append([tool.name for tool in tools])
        return lambda: self.lists.append(None)


class Ref:
    parent_id, origin = None, "root"

    def __init__(self, id, cwd):
        self.id, self.cwd = id, cwd

    def visible(self):
        return None


@pytest.mark.requirement("host:tools:republished")
async def test_tools_are_published_anew_only_when_they_change(home, told_rows):
    async with home.open(*told_rows()) as host:
        harness = Harness()
        detach = host.attach(harness)
        await host.settings.mutate("mnemon", put("timeoutMs", 999))
        assert len(harness.lists) == 1
        await host.settings.mutate("mnemon", put("writeEnabled", False))
        assert "mnemon_view_route" in harness.lists[1]
        assert "mnemon_view_action" not in harness.lists[1]
        await host.settings.mutate("mnemon", put("writeEnabled", True))
        assert harness.lists[2] == harness.lists[0]
        detach()
        assert harness.lists[3:] == [None]
        await host.settings.mutate("mnemon", put("writeEnabled", False))
        assert len(harness.lists) == 4


@pytest.mark.requirement("host:tools:mounted")
async def test_tools_of_a_source_that_is_not_there_are_not_published(home):
    async with home.open(*ROWS) as host:
        harness = Harness()
        host.attach(harness)
        first = harness.lists[0]
        assert {"mnemon_runtime_memory", "mnemon_document_search", "mnemon_status"} < set(first)
        assert not {"mnemon_recall", "mnemon_remember", "mnemon_memory_bodies"} & set(first)
        off = {"mnemon-source-documents": {"enabled": False}}
        await host.settings.mutate("mnemon", put("memoryView.entries", off))
        assert [name for name in first if "document" not in name] == list(harness.lists[1])
        await host.settings.mutate("mnemon", [{"op": "unset", "path": ["memoryView"]}])
        assert harness.lists[2] == first


@pytest.mark.requirement("host:tools:mounted")
async def test_tools_of_a_source_that_failed_say_that_it_offers_nothing(home):
    failing = Row(id="mnemon-source-memory-spaces", module="dsh_mnemon_source_memory_spaces")
    async with home.open(*ROWS, failing) as host, host.agent().turn() as turn:
        with pytest.raises(AuthorityError) as caught:
            await turn.call("mnemon_recall", {"query": "x"})
        assert caught.value.code == "route-unavailable"


async def test_attaching_adopts_live_agents_and_detaching_lets_them_go(home, told_rows):
    async with home.open(*told_rows()) as host:
        mine = host.agent("mine")
        await mine.announce()
        live, harness = Ref("live", str(home.workspace)), None
        harness = Harness([live])
        detach = host.attach(harness)
        assert host.lifecycle.memory("live").agent is live
        assert [item.name for item in host.harnesses] == ["python", "noting"]
        sections = await harness.sink.assemble_prompt(live, 1, ())
        assert len(sections) == 3
        detach()
        detach()
        assert harness.sink is None
        assert host.lifecycle.memory("live") is None
        assert host.lifecycle.memory("mine") is not None
        assert host.executions.active("live") is None
        again = host.attach(harness)
        detach()
        assert harness.sink is host.lifecycle
        again()


async def test_a_tool_needs_the_turn_of_its_own_agent(home, told_rows):
    async with home.open(*told_rows()) as host:
        agent = host.agent("a")
        async with agent.turn() as turn:
            pass
        with pytest.raises(TurnError) as caught:
            await turn.call("mnemon_status", {})
        assert caught.value.code == "turn-not-pinned"
        async with host.executions.workflow(agent, "review"):
            with pytest.raises(TurnError):
                await turn.call("mnemon_status", {})


# -- the management plane -------------------------------------------------------------------------


@pytest.mark.requirement("host:layer:off")
@pytest.mark.parametrize(
    "layer",
    [{"enabled": False}, {"participation": {"write": "off"}}],
    ids=["layer off", "channel off"],
)
async def test_a_person_cannot_write_what_the_settings_switch_off(home, layer):
    topology = {"layers": {"runtime": layer}}
    async with home.open(overrides={"memoryTopology": topology}) as host:
        with pytest.raises(AuthorityError) as caught:
            await host.people.write_runtime(ADD)
        assert caught.value.code == "layer-off"
        assert (await (await host.people.source("runtime")).read("snapshot"))["entries"] == ()
    assert home.stored() == []


async def test_a_person_writes_where_tools_may_not(home):
    topology = {"layers": {"runtime": {"participation": {"write": "manual"}}}}
    async with home.open(overrides={"memoryTopology": topology}) as host:
        async with host.agent().turn() as turn:
            with pytest.raises(AuthorityError) as caught:
                await turn.call("mnemon_runtime_memory", ADD)
            assert caught.value.code == "action-unavailable"
        await host.people.write_runtime(ADD)
    assert len(home.stored()) == 1


@pytest.mark.requirement("host:swap:drain")
async def test_a_write_of_several_steps_ends_on_the_graph_it_began_on(home, told, told_rows):
    told.failures["manage mutate"] = CapacityError("runtime-capacity", "full")
    plan = {"revision": "s1", "viewRevision": "r1", "target": "memory", "limit": 100,
            "entries": ({"content": "a"},), "requiresMaintenance": True}  # fmt: skip
    told.answer = {"maintenance-plan": plan, "archive-and-mutate": {"done": True}}
    release = told.hold("manage maintenance-plan")
    results = []

    async def write(host):
        results.append((await host.people.write_runtime(ADD)).value)

    async with home.open(*told_rows(strategy={"workflow": "runtime-capacity"})) as host:
        with anyio.fail_after(5):
            async with anyio.create_task_group() as group:
                group.start_soon(write, host)
                await told.reached("manage maintenance-plan")
                await host.settings.mutate("mnemon", put("timeoutMs", 999))
                await anyio.wait_all_tasks_blocked()
                assert told.disposed == 0
                release()
        assert results == [{"done": True}]
        await anyio.wait_all_tasks_blocked()
        assert told.disposed == 1


async def test_read_only_beats_a_person_too(home):
    async with home.open(settings="writeEnabled: false\n") as host:
        with pytest.raises(AuthorityError) as caught:
            await host.people.write_runtime(ADD)
        assert caught.value.code == "writes-disabled"


async def test_sources_and_writes_go_to_the_workspace_asked_for(home, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    async with home.open(settings="storageScope: workspace\n") as host:
        await host.people.write_runtime(ADD, workspace=str(other))
        assert len(home.stored(other / ".mnemon")) == 1
        assert home.stored(home.workspace / ".mnemon") == []
        source = await host.people.source("runtime", workspace=str(other), capability="read")
        assert len((await source.read("snapshot"))["entries"]) == 1


@pytest.mark.requirement("host:settings:session-scope")
async def test_agents_of_two_workspaces_do_not_mix(home, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    async with home.open(settings="storageScope: workspaces\n") as host:
        here, there = host.agent("a"), host.agent("b", workspace=str(other))
        async with here.turn() as turn:
            await turn.call("mnemon_runtime_memory", ADD)
        async with there.turn() as turn:
            assert "Build with nox" not in turn.messages[-1].text
        async with here.turn() as turn:
            assert "Build with nox" in turn.messages[-1].text

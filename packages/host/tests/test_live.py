"""Which graph serves whom, and how one is replaced by another."""

import anyio
import pytest
from dsh_mnemon_core.errors import CompositionRejected, ConflictError, LifecycleError
from dsh_mnemon_host.agent_host import AgentRef
from dsh_mnemon_host.live import LiveRuntime


def put(key, value):
    return [{"op": "set", "path": key.split("."), "value": value}]


@pytest.fixture
async def bench(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        yield host


@pytest.mark.requirement("host:swap:drain")
async def test_open_turn_keeps_its_view_and_the_former_graph_drains_after_it(bench, told):
    agent = bench.agent("a")
    former = bench.live.current
    async with agent.turn() as turn:
        view = bench.lifecycle.memory("a").view
        await bench.settings.mutate("mnemon", put("timeoutMs", 999))
        assert bench.live.current is not former
        told.text = "NEWER"
        look = {"routeId": f"{told.key}/look", "input": {"query": "q"}}
        evidence = await turn.call("mnemon_view_route", look)
        assert evidence["viewId"] == view.id
        assert bench.lifecycle.memory("a").view is view
        await anyio.wait_all_tasks_blocked()
        assert told.disposed == 0
    await anyio.wait_all_tasks_blocked()
    assert told.disposed == 1
    async with agent.turn():
        assert bench.lifecycle.memory("a").execution.graph is bench.live.current
        assert bench.lifecycle.memory("a").view.projection[0].text == "NEWER"
    assert told.disposed == 1


async def test_unbound_former_graph_drains_at_once(bench, told):
    await bench.settings.mutate("mnemon", put("timeoutMs", 999))
    await anyio.wait_all_tasks_blocked()
    assert told.disposed == 1


@pytest.mark.requirement("host:swap:rejected")
async def test_rejected_candidate_keeps_graph_and_stored_value(home, told_rows, strategy_row):
    # With two Strategies an unknown name has no fallback.
    rows = (*told_rows(), strategy_row("other", type_id="other"))
    settings = "timeoutMs: 5000\nmemoryView: {strategyTypeId: plain}\n"
    async with home.open(*rows, settings=settings) as host:
        former = host.live.current
        with pytest.raises(CompositionRejected):
            await host.settings.mutate("mnemon", put("memoryView.strategyTypeId", "nonesuch"))
        assert host.live.current is former
        assert home.settings.read_text(encoding="utf-8") == settings
        async with host.agent("a").turn() as turn:
            assert turn.problem is None


async def test_edited_file_applies_to_the_next_turn(home, bench):
    agent = bench.agent("a")
    async with agent.turn() as turn:
        home.settings.write_text("writeEnabled: false\n", encoding="utf-8")
        assert {tool.writes for tool in turn.tools} == {False, True}
    async with agent.turn() as turn:
        assert turn.tools
        assert not any(tool.writes for tool in turn.tools)


async def test_edited_file_that_is_refused_leaves_the_values_in_force(home, bench):
    former = bench.live.current
    home.settings.write_text("timeoutMs: soon\n", encoding="utf-8")
    async with bench.agent("a").turn() as turn:
        assert turn.problem is None
    assert bench.live.current is former
    assert "timeoutMs" in str(bench.settings.problem)


async def test_operation_in_flight_stays_on_its_graph(bench, told):
    graph = bench.live.current
    with bench.live.held(graph):
        await bench.settings.mutate("mnemon", put("timeoutMs", 999))
        await anyio.wait_all_tasks_blocked()
        assert told.disposed == 0
        source = await bench.people.source("runtime")
        assert source.graph is bench.live.current
        with graph.attachment.host.acquire():
            pass
    await anyio.wait_all_tasks_blocked()
    assert told.disposed == 1


async def test_an_agent_is_bound_once(bench):
    release = bench.live.bind_agent("a", bench.live.current)
    with pytest.raises(ConflictError) as caught:
        bench.live.bind_agent("a", bench.live.current)
    assert caught.value.code == "agent-already-bound"
    release()
    again = bench.live.bind_agent("a", bench.live.current)
    release()
    assert bench.live.bound("a") is bench.live.current
    again()
    assert bench.live.bound("a") is None


async def test_workspaces_have_graphs_of_their_own(home, told, told_rows, tmp_path):
    other, link = tmp_path / "other", tmp_path / "link"
    other.mkdir()
    link.symlink_to(other)
    async with home.open(*told_rows(), settings="storageScope: workspaces\n") as host:
        live = host.live
        first = await live.for_workspace(str(home.workspace))
        assert first is live.current
        second = await live.for_workspace(str(other))
        assert second is not first
        assert await live.for_workspace(str(link)) is second
        assert set(live.graphs) == {first, second}
        assert second.layout.root.parent == first.layout.root.parent == home.data / "workspaces"
        with pytest.raises(LifecycleError) as caught:
            await live.for_workspace(None)
        assert caught.value.code == "workspace-required"
        await host.settings.mutate("mnemon", put("storageScope", "workspace"))
        assert await live.for_workspace(str(link)) is not await live.for_workspace(str(other))
        await anyio.wait_all_tasks_blocked()
        assert told.disposed == 2
    assert told.disposed == 5


async def test_other_scopes_have_one_graph(bench):
    assert await bench.live.for_workspace(None) is bench.live.current
    assert await bench.live.for_workspace("/elsewhere") is bench.live.current
    assert bench.live.graphs == (bench.live.current,)


class Ref(AgentRef):
    def __init__(self, id, parent_id=None, cwd=None):
        self.__dict__.update(id=id, parent_id=parent_id, cwd=cwd)

    id = parent_id = cwd = None


async def test_an_agent_goes_to_its_binding_then_its_parents_then_its_workspace(bench):
    former = bench.live.current
    release = bench.live.bind_agent("parent", former)
    await bench.settings.mutate("mnemon", put("timeoutMs", 999))
    current = bench.live.current
    assert await bench.live.for_agent(Ref("parent")) is former
    assert await bench.live.for_agent(Ref("child", "parent")) is former
    assert await bench.live.for_agent(Ref("stranger", "nobody")) is current
    bench.live.bind_agent("child", current)
    assert await bench.live.for_agent(Ref("child", "parent")) is current
    release()


@pytest.fixture
async def slow(home, told_rows):
    """A live runtime whose graphs take their time to build."""
    async with home.open(*told_rows(), settings="storageScope: workspaces\n") as host:
        gate, asked = anyio.Event(), []

        async def build(config, workspace):
            asked.append(config)
            await gate.wait()
            from dsh_mnemon_core.instant import utc_now
            from dsh_mnemon_host.graph import build_graph

            return await build_graph(host.runtime, config, workspace, utc_now)

        async with anyio.create_task_group() as tasks:
            yield LiveRuntime(host.live.current, build, tasks), host, gate, asked


async def test_a_graph_that_was_overtaken_by_a_swap_is_built_again(slow, tmp_path):
    live, host, gate, asked = slow
    found = []

    async def ask():
        found.append(await live.for_workspace(str(tmp_path)))

    await host.settings.mutate("mnemon", put("timeoutMs", 999))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            live.swap(host.live.current)
            gate.set()
    assert len(asked) == 2
    assert found[0] is found[1]
    assert found[0].config is asked[1] is live.config
    await live.dispose()


async def test_dispose_goes_on_when_a_graph_cannot_be_disposed(home, told_rows, make_told, caplog):
    class Stubborn:
        def __init__(self):
            self.layout = type("Layout", (), {"workspace": None})()
            self.config = None
            self.tries = 0

        async def dispose(self):
            self.tries += 1
            raise ExceptionGroup("no", [ValueError("stuck")])

    one, two = Stubborn(), Stubborn()
    async with anyio.create_task_group() as tasks:
        live = LiveRuntime(one, None, tasks)
        live.bind_agent("a", one)
        live.swap(two)
        with pytest.raises(ExceptionGroup) as caught:
            await live.dispose()
    assert len(caught.value.exceptions) == 2
    assert one.tries == two.tries == 1


async def test_a_retired_graph_that_cannot_be_disposed_is_logged(caplog):
    class Stubborn:
        layout = type("Layout", (), {"workspace": None})()

        async def dispose(self):
            raise ExceptionGroup("no", [ValueError("stuck")])

    async with anyio.create_task_group() as tasks:
        live = LiveRuntime(Stubborn(), None, tasks)
        live.swap(Stubborn())
    assert "could not be disposed" in caplog.text

"""One slot per Agent: who waits for whom, who shares, and what ends with a turn."""

import anyio
import pytest
from dsh_mnemon_core.errors import ConflictError, LifecycleError, TurnError
from dsh_mnemon_host.executions import Delegation

ADD = {"action": "add", "target": "user", "content": "x"}


async def idle(times=3):
    for _ in range(times):
        await anyio.wait_all_tasks_blocked()


def leases(graph):
    """Return how many leases every generation of a graph has."""
    return [record.leases for record in graph.attachment.host._generations.values()]


@pytest.fixture
async def bench(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        yield host


async def test_turn_pins_a_view_and_binds_its_graph(bench):
    agent = bench.agent("a")
    execution = await bench.executions.turn(agent, 1)
    assert execution.kind == "turn"
    assert execution.context.turn_id == "a:1"
    assert execution.context.scope.agent_id == execution.context.scope.session_id == "a"
    assert execution.context.scope.workspace_id == agent.cwd
    assert bench.executions.active("a") is execution
    assert bench.live.bound("a") is execution.graph is bench.live.current
    bench.executions.close(execution)
    assert bench.executions.active("a") is None
    assert bench.live.bound("a") is None
    assert leases(execution.graph) == [0]
    assert execution.graph.turns.turn("a:1") is None


async def test_close_is_idempotent(bench):
    agent = bench.agent("a")
    first = await bench.executions.turn(agent, 1)
    bench.executions.close(first)
    second = await bench.executions.turn(agent, 2)
    bench.executions.close(first)
    assert bench.executions.active("a") is second
    assert bench.live.bound("a") is second.graph
    bench.executions.close(second)


async def test_close_after_the_core_let_go_of_the_turn(bench):
    execution = await bench.executions.turn(bench.agent("a"), 1)
    execution.graph.turns.end_turn("a:1")
    bench.executions.close(execution)
    assert bench.executions.active("a") is None
    assert leases(execution.graph) == [0]


async def test_next_slot_waits_until_the_former_is_closed(bench):
    agent = bench.agent("a")
    first = await bench.executions.turn(agent, 1)
    opened = []

    async def following():
        opened.append(await bench.executions.turn(agent, 2))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(following)
        await idle()
        assert opened == []
        assert bench.executions.active("a") is first
        bench.executions.close(first)
    assert bench.executions.active("a") is opened[0]
    bench.executions.close(opened[0])


async def test_next_slot_waits_for_the_cleanup_of_cancelled_work(bench, told):
    agent = bench.agent("a")
    first = await bench.executions.turn(agent, 1)
    release = told.hold("cleanup")
    steps = []

    async def work():
        async with first.work():
            try:
                await anyio.sleep_forever()
            finally:
                with anyio.CancelScope(shield=True):
                    await told.pass_through("cleanup")
                steps.append("cleaned")

    async def cancelled():
        with pytest.raises(TurnError) as caught:
            await work()
        assert caught.value.code == "turn-ended"

    async def following():
        execution = await bench.executions.turn(agent, 2)
        steps.append("opened")
        bench.executions.close(execution)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(cancelled)
            await idle()
            bench.executions.close(first)
            tasks.start_soon(following)
            await told.reached("cleanup")
            await idle()
            assert steps == []
            assert bench.live.bound("a") is first.graph
            release()
    assert steps == ["cleaned", "opened"]
    assert leases(first.graph) == [0]


async def test_slot_resolves_the_graph_after_waiting(bench):
    agent = bench.agent("a")
    first = await bench.executions.turn(agent, 1)
    opened = []

    async def following():
        opened.append(await bench.executions.turn(agent, 2))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(following)
        await idle()
        await bench.settings.mutate("mnemon", [{"op": "set", "path": ["timeoutMs"], "value": 999}])
        bench.executions.close(first)
    assert opened[0].graph is bench.live.current
    assert opened[0].graph is not first.graph
    bench.executions.close(opened[0])


async def test_a_cancelled_waiter_ends_only_its_own_wait(bench):
    agent = bench.agent("a")
    first = await bench.executions.turn(agent, 1)
    opened = []

    async def following(number):
        opened.append(await bench.executions.turn(agent, number))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()

            async def cancelled():
                with scope:
                    await following(2)

            tasks.start_soon(cancelled)
            await idle()
            tasks.start_soon(following, 3)
            await idle()
            scope.cancel()
            await idle()
            assert opened == []
            assert bench.executions.active("a") is first
            bench.executions.close(first)
    assert [execution.context.turn_id for execution in opened] == ["a:3"]
    bench.executions.close(opened[0])
    assert leases(first.graph) == [0]


async def test_a_cancelled_preparation_leaves_nothing(bench, told):
    agent = bench.agent("a")
    told.hold("facts")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(bench.executions.turn, agent, 1)
            await told.reached("facts")
            tasks.cancel_scope.cancel()
    await idle()
    assert leases(bench.live.current) == [0]
    assert bench.live.bound("a") is None
    told.holds.clear()
    execution = await bench.executions.turn(agent, 1)
    bench.executions.close(execution)


async def test_a_failed_preparation_lets_the_next_one_in(bench, told):
    agent = bench.agent("a")
    await bench.settings.mutate(
        "mnemon", [{"op": "set", "path": ["storageScope"], "value": "workspace"}]
    )
    agent.cwd = None
    with pytest.raises(LifecycleError) as caught:
        await bench.executions.turn(agent, 1)
    assert caught.value.code == "workspace-required"
    assert bench.live.bound("a") is None
    agent.cwd = bench.workspace
    with anyio.fail_after(5):
        execution = await bench.executions.turn(agent, 1)
    bench.executions.close(execution)


async def test_end_of_a_turn_cancels_its_work(bench, told):
    agent = bench.agent("a")
    told.hold("query")
    failures = []

    async def read(turn):
        route = {"routeId": f"{told.key}/look", "input": {"query": "q"}}
        try:
            await turn.call("mnemon_view_route", route)
        except TurnError as error:
            failures.append(error.code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks, agent.turn() as turn:
            tasks.start_soon(read, turn)
            await told.reached("query")
            assert leases(bench.live.current) == [2]
    await idle()
    assert failures == ["turn-ended"]
    assert leases(bench.live.current) == [0]


async def test_work_after_the_end_is_refused(bench):
    execution = await bench.executions.turn(bench.agent("a"), 1)
    bench.executions.close(execution)
    with pytest.raises(TurnError) as caught:
        async with execution.work():
            pytest.fail("it must not begin")
    assert caught.value.code == "turn-ended"


async def test_work_that_is_done_when_the_turn_ends_keeps_its_result(bench):
    execution = await bench.executions.turn(bench.agent("a"), 1)
    async with execution.work():
        bench.executions.close(execution)
        done = True
    assert done
    assert bench.executions.active("a") is None


async def test_dispose_closes_what_is_open_and_refuses_the_rest(bench):
    agents = [bench.agent(name) for name in ("a", "b")]
    execution = await bench.executions.turn(agents[0], 1)
    failures = []

    async def waiter():
        try:
            await bench.executions.turn(agents[0], 2)
        except LifecycleError as error:
            failures.append(error.code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(waiter)
            await idle()
            bench.executions.dispose()
    assert failures == ["host-disposed"]
    assert execution.closed
    with pytest.raises(LifecycleError):
        await bench.executions.turn(agents[1], 1)
    assert leases(bench.live.current) == [0]


async def test_dispose_ends_a_slot_that_is_being_prepared(bench, told):
    release = told.hold("facts")
    failures = []

    async def opening():
        try:
            await bench.executions.turn(bench.agent("a"), 1)
        except LifecycleError as error:
            failures.append(error.code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(opening)
            await told.reached("facts")
            bench.executions.dispose()
            release()
    assert failures == ["host-disposed"]
    assert leases(bench.live.current) == [0]
    assert bench.live.bound("a") is None


async def test_retain_binds_and_keeps_the_view_until_it_is_released(bench):
    parent, child = bench.agent("a"), bench.agent("b")
    execution = await bench.executions.turn(parent, 1)
    view = execution.context.view
    delegation = Delegation(graph=execution.graph, scope=execution.context.scope, view_id=view.id)
    release = bench.executions.retain(child, delegation)
    assert bench.live.bound("b") is execution.graph
    with pytest.raises(ConflictError) as caught:
        bench.executions.retain(child, delegation)
    assert caught.value.code == "agent-already-bound"
    bench.executions.close(execution)
    assert leases(execution.graph) == [1]
    turn = await bench.executions.turn(child, 1, delegation)
    assert turn.context.view is view
    assert turn.context.scope.agent_id == "b"
    bench.executions.close(turn)
    assert bench.live.bound("b") is execution.graph
    release()
    release()
    assert bench.live.bound("b") is None
    assert leases(execution.graph) == [0]


async def test_retain_of_an_unknown_view_binds_nothing(bench):
    graph = bench.live.current
    delegation = Delegation(graph=graph, scope=graph.scope(None, "a"), view_id="view:none")
    with pytest.raises(TurnError) as caught:
        bench.executions.retain(bench.agent("b"), delegation)
    assert caught.value.code == "view-not-pinned"
    assert bench.live.bound("b") is None

"""Background work shares the slot of its Agent, or has one of its own."""

import anyio
import pytest
from dsh_mnemon_core.errors import TurnError


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


async def test_workflow_shares_an_open_turn_and_leaves_it_open(bench):
    agent = bench.agent("a")
    turn = await bench.executions.turn(agent, 1)
    async with bench.executions.workflow(agent, "archive") as execution:
        assert execution is turn
    assert bench.executions.active("a") is turn
    bench.executions.close(turn)


async def test_end_of_a_turn_ends_the_workflows_in_it(bench):
    agent = bench.agent("a")
    turn = await bench.executions.turn(agent, 1)
    ended = []

    async def workflow():
        with pytest.raises(TurnError) as caught:
            async with bench.executions.workflow(agent, "archive"):
                await anyio.sleep_forever()
        ended.append(caught.value.code)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workflow)
            await idle()
            bench.executions.close(turn)
    assert ended == ["turn-ended"]


async def test_workflows_share_one_slot_that_closes_with_the_last(bench, told):
    agent = bench.agent("a")
    release = told.hold("facts")
    gates = {name: anyio.Event() for name in ("one", "two", "three")}
    seen = {}

    async def workflow(name):
        async with bench.executions.workflow(agent, "archive") as execution:
            seen[name] = execution
            await gates[name].wait()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workflow, "one")
            await told.reached("facts")
            tasks.start_soon(workflow, "two")
            await idle()
            release()
            await idle()
            tasks.start_soon(workflow, "three")
            await idle()
            assert len({id(execution) for execution in seen.values()}) == 1
            execution = seen["one"]
            assert execution.kind == "workflow"
            assert execution.context.turn_id.startswith("workflow:")
            assert sum(phase == "facts" for phase, _ in told.calls) == 1
            gates["one"].set()
            gates["three"].set()
            await idle()
            assert bench.executions.active("a") is execution
            gates["two"].set()
    assert bench.executions.active("a") is None
    assert leases(bench.live.current) == [0]


async def test_foreground_turn_waits_for_a_workflow(bench):
    agent = bench.agent("a")
    gate = anyio.Event()
    order = []

    async def workflow():
        async with bench.executions.workflow(agent, "review"):
            await gate.wait()
            order.append("workflow")

    async def turn():
        execution = await bench.executions.turn(agent, 1)
        order.append("turn")
        bench.executions.close(execution)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(workflow)
            await idle()
            tasks.start_soon(turn)
            await idle()
            assert order == []
            gate.set()
    assert order == ["workflow", "turn"]


async def test_workflow_joins_the_open_turn_although_another_waits(bench, told):
    agent = bench.agent("a")
    release = told.hold("facts")
    opened, joined = [], []

    async def turn(number):
        opened.append(await bench.executions.turn(agent, number))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn, 1)
            await told.reached("facts")
            tasks.start_soon(turn, 2)
            await idle()
            release()
            await idle()
            async with bench.executions.workflow(agent, "archive") as execution:
                joined.append(execution)
            assert joined == opened
            bench.executions.close(opened[0])
    assert [execution.context.turn_id for execution in opened] == ["a:1", "a:2"]
    bench.executions.close(opened[1])


async def test_workflow_joins_a_turn_that_is_being_prepared(bench, told):
    agent = bench.agent("a")
    release = told.hold("facts")
    opened, joined = [], []

    async def turn():
        opened.append(await bench.executions.turn(agent, 1))

    async def workflow():
        async with bench.executions.workflow(agent, "archive") as execution:
            joined.append(execution)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn)
            await told.reached("facts")
            tasks.start_soon(workflow)
            await idle()
            assert joined == []
            release()
    assert joined == opened
    bench.executions.close(opened[0])


async def test_workflow_opens_its_own_slot_when_the_turn_before_it_fails(bench, told):
    agent = bench.agent("a")
    told.hold("facts")
    joined = []

    async def workflow():
        async with bench.executions.workflow(agent, "archive") as execution:
            joined.append(execution.kind)

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()

            async def turn():
                with scope:
                    await bench.executions.turn(agent, 1)

            tasks.start_soon(turn)
            await told.reached("facts")
            tasks.start_soon(workflow)
            await idle()
            told.holds.clear()
            scope.cancel()
    assert joined == ["workflow"]


async def test_workflow_propagates_what_its_body_raises(bench):
    agent = bench.agent("a")
    with pytest.raises(KeyError):
        async with bench.executions.workflow(agent, "archive"):
            raise KeyError("mine")
    assert bench.executions.active("a") is None

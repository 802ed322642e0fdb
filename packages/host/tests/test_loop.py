"""The Python API: Agents whose loop belongs to somebody else."""

import anyio
import pytest
from dsh_mnemon_core.errors import InputError, LifecycleError


@pytest.fixture
async def bench(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        yield host


async def test_an_agent_is_made_once_per_id(bench, tmp_path):
    agent = bench.agent("a")
    assert bench.agent("a") is agent
    assert (agent.id, agent.parent_id, agent.origin) == ("a", None, "root")
    assert agent.cwd == bench.workspace
    assert agent.visible() is None
    assert bench.agent("a", workspace=bench.workspace) is agent
    elsewhere = bench.agent("b", workspace=str(tmp_path / "x" / ".."))
    assert elsewhere.cwd == str(tmp_path)
    [harness] = bench.harnesses
    assert harness.roots() == (agent, elsewhere)
    assert harness.agent("c") is None


async def test_an_agent_lives_in_one_workspace(bench, tmp_path):
    bench.agent("a")
    with pytest.raises(InputError) as caught:
        bench.agent("a", workspace=str(tmp_path))
    assert caught.value.code == "agent-exists"
    with pytest.raises(InputError) as caught:
        bench.agent("c", workspace="not/absolute")
    assert caught.value.code == "workspace-not-absolute"


async def test_ids_of_children_are_not_taken_twice(bench):
    agent = bench.agent("a")
    await agent.child("b")
    with pytest.raises(InputError):
        await agent.child("b")
    with pytest.raises(InputError) as caught:
        bench.agent("b")
    assert caught.value.code == "agent-exists"
    assert [root.id for root in bench.harnesses[0].roots()] == ["a"]


async def test_a_closed_agent_can_come_back_unless_its_id_is_taken(bench):
    agent = bench.agent("a")
    async with agent.turn():
        pass
    await agent.close()
    await agent.close()
    assert bench.harnesses[0].agent("a") is None
    async with agent.turn() as turn:
        assert len(turn.messages) == 2
    await agent.close()
    other = bench.agent("a")
    assert other is not agent
    with pytest.raises(InputError):
        await agent.announce()


async def test_restart_begins_a_new_session(bench):
    agent = bench.agent("a")
    counts = []
    for turn_number in range(3):
        if turn_number == 2:
            await agent.restart()
        async with agent.turn() as turn:
            counts.append(len(turn.messages))
    assert counts == [2, 0, 2]


async def test_turns_count_from_one(bench):
    agent = bench.agent("a")
    for number in (1, 2):
        async with agent.turn():
            assert bench.executions.active("a").context.turn_id == f"a:{number}"


async def test_call_reaches_the_tools_of_the_turn(bench):
    async with bench.agent("a").turn() as turn:
        assert {"mnemon_status", "mnemon_view_route"} < {tool.name for tool in turn.tools}
        assert (await turn.call("mnemon_status", {}))["healthy"] is True
        with pytest.raises(InputError) as caught:
            await turn.call("mnemon_statsu", {})
        assert caught.value.code == "tool-unknown"
        assert "mnemon_status" in caught.value.message


async def test_an_exception_in_the_block_ends_the_turn_and_stays_as_it_is(bench):
    with pytest.raises(KeyError, match="mine"):
        async with bench.agent("a").turn():
            raise KeyError("mine")
    assert bench.executions.active("a") is None


async def test_cancellation_while_a_turn_opens_leaves_nothing(bench, told):
    told.hold("facts")
    agent = bench.agent("a")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:

            async def open_turn():
                async with agent.turn():
                    pytest.fail("it must not open")

            tasks.start_soon(open_turn)
            await told.reached("facts")
            tasks.cancel_scope.cancel()
    assert bench.executions.active("a") is None
    told.holds.clear()
    async with agent.turn() as turn:
        assert turn.problem is None


async def test_after_the_host_nothing_opens_but_everything_closes(home, told_rows):
    async with home.open(*told_rows()) as host:
        agent = host.agent("a")
        async with agent.turn() as turn:
            pass
    assert host.harnesses == ()
    with pytest.raises(LifecycleError) as caught:
        async with agent.turn():
            pytest.fail("it must not open")
    assert caught.value.code == "host-disposed"
    with pytest.raises(LifecycleError):
        await turn.call("mnemon_status", {})
    await agent.close()

"""Whatever order agents, turns, children and swaps come in, nothing is held in the end."""

import anyio
import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

IDS = ("a", "b", "c")

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["create", "begin", "end", "reject"]), st.sampled_from(IDS)),
        st.tuples(st.sampled_from(["late", "restart", "dispose"]), st.sampled_from(IDS)),
        st.tuples(st.sampled_from(["child", "abort", "workflow"]), st.sampled_from(IDS)),
        st.tuples(st.just("swap"), st.just("")),
    ),
    max_size=25,
)


@attrs.define(eq=False)
class Agent:
    """An Agent and the number of its latest turn."""

    id: str
    cwd: str
    parent_id: str | None = None
    origin: str = "root"
    turn: int = 0
    made: int = 0

    def visible(self):
        return None


@attrs.define
class World:
    """Plays events, and says after each what must hold."""

    host: object
    told: object
    agents: dict = attrs.field(factory=dict)
    swaps: int = 0

    async def play(self, event, name):
        if event == "swap":
            self.swaps += 1
            value = 500 + self.swaps
            await self.host.settings.mutate(
                "mnemon", [{"op": "set", "path": ["timeoutMs"], "value": value}]
            )
        elif event == "create":
            agent = self.agents.setdefault(name, Agent(name, self.host.workspace))
            await self.host.lifecycle.agent_created(agent, "startup")
        elif name in self.agents:
            await getattr(self, event)(self.agents[name])
        self.check()

    async def begin(self, agent):
        agent.turn += 1
        await self.host.lifecycle.assemble_prompt(agent, agent.turn, ())
        await self.host.lifecycle.before_step(agent, agent.turn, 1, ("x",))

    async def end(self, agent):
        await self.host.lifecycle.turn_ended(agent, agent.turn)

    async def late(self, agent):
        before = self.host.executions.active(agent.id)
        await self.host.lifecycle.turn_ended(agent, agent.turn - 1)
        assert self.host.executions.active(agent.id) is before

    async def reject(self, agent):
        await self.host.lifecycle.step_rejected(agent, agent.turn)

    async def restart(self, agent):
        await self.host.lifecycle.session_started(agent, "clear")

    async def dispose(self, agent):
        del self.agents[agent.id]
        await self.host.lifecycle.agent_disposed(agent)

    async def child(self, agent):
        agent.made += 1
        name = f"{agent.id}.{agent.made}"
        child = self.agents[name] = Agent(name, agent.cwd, agent.id, "child")
        await self.host.lifecycle.agent_created(child, "startup")
        await self.begin(child)

    async def abort(self, agent):
        """Begin a turn and give up while its View is composed."""
        if self.host.lifecycle.memory(agent.id).delegation is None:
            self.told.hold("facts")
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.begin, agent)
                await self.told.reached("facts")
                tasks.cancel_scope.cancel()
            self.told.holds.clear()

    async def workflow(self, agent):
        async with self.host.executions.workflow(agent, "archive") as execution:
            assert not execution.closed
            assert self.host.executions.active(agent.id) is execution

    def check(self):
        for agent in self.agents.values():
            memory = self.host.lifecycle.memory(agent.id)
            execution = self.host.executions.active(agent.id)
            assert (memory.execution if memory else None) is execution
            if execution is not None:
                assert self.host.live.bound(agent.id) is execution.graph
            if memory and memory.delegation:
                assert self.host.live.bound(agent.id) is memory.delegation.graph
                if execution and memory.delegation.view_id:
                    assert execution.context.view.id == memory.delegation.view_id


@pytest.mark.requirement("host:turn:released")
@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(events=EVENTS)
async def test_nothing_is_held_when_everybody_is_gone(home, told, told_rows, events):
    before = told.disposed
    with anyio.fail_after(20):
        async with home.open(*told_rows(), settings="") as host:
            world = World(host, told)
            for event, name in events:
                await world.play(event, name)
            for agent in list(world.agents.values()):
                await host.lifecycle.agent_disposed(agent)
            await anyio.wait_all_tasks_blocked()
            assert host.live._bound == {}
            assert host.executions._seats == {}
            assert host.live._retired == set()
            assert told.disposed - before == world.swaps
            records = host.live.current.attachment.host._generations.values()
            assert [record.leases for record in records] == [0]
    assert told.disposed - before == world.swaps + 1

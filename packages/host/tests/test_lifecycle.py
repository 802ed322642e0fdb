"""Agents coming and going, their delegations, and what happens when memory fails."""

import anyio
import attrs
import pytest
from dsh_mnemon_core.errors import BudgetExhausted, StorageError
from dsh_mnemon_host.agent_host import Section

NOTES = {"type_id": "notes"}


@attrs.define
class Agent:
    """An Agent as a harness shows it."""

    id: str
    cwd: str | None
    parent_id: str | None = None
    origin: str = "root"

    def visible(self):
        return None


@pytest.fixture
async def bench(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        yield host


def put(key, value):
    return [{"op": "set", "path": key.split("."), "value": value}]


def idle_leases(host):
    graphs = {*host.live.graphs, *host.live._retired}
    return {
        record.leases for graph in graphs for record in graph.attachment.host._generations.values()
    }


def look(told):
    return {"routeId": f"{told.key}/look", "input": {"query": "q"}}


async def test_a_root_is_taken_over_once(bench, home):
    events, agent = bench.lifecycle, Agent("a", str(home.workspace))
    await events.agent_created(agent, "startup")
    memory = events.memory("a")
    await events.agent_created(agent, "resume")
    assert events.memory("a") is memory
    assert events.agents == (agent,)
    await events.agent_disposed(agent)
    await events.agent_disposed(agent)
    assert events.agents == ()


async def test_task_agents_and_strangers_have_no_memory(bench, home):
    events = bench.lifecycle
    task = Agent("t", str(home.workspace), origin="task")
    orphan = Agent("o", str(home.workspace), parent_id="nobody", origin="child")
    for agent in (task, orphan):
        await events.agent_created(agent, "startup")
        mine = Section(name="theirs", text="Theirs.", order=1)
        assert await events.assemble_prompt(agent, 1, [mine]) == [mine]
        assert await events.before_step(agent, 1, 1, ("x",)) == []
        await events.step_rejected(agent, 1)
        await events.turn_ended(agent, 1)
        await events.session_started(agent, "clear")
        assert events.problem(agent.id) is None
    assert events.agents == ()


@pytest.mark.requirement("host:turn:before-prompt")
async def test_the_view_is_pinned_when_the_prompt_is_assembled(bench, home):
    events, agent = bench.lifecycle, Agent("a", str(home.workspace))
    await events.agent_created(agent, "startup")
    theirs = Section(name="theirs", text="Theirs.", order=1)
    stale = Section(name="mnemon:routing", text="Old.", order=1)
    sections = await events.assemble_prompt(agent, 1, [stale, theirs])
    view = events.memory("a").view
    assert sections[0] is theirs
    assert [s.text for s in sections[1:]] == [
        view.guidance.protocol,
        view.guidance.system,
        view.guidance.routing,
    ]
    assert await events.assemble_prompt(agent, 1, [theirs]) == sections
    assert events.memory("a").view is view
    assert len(await events.before_step(agent, 1, 1, ("x",))) == 2
    assert await events.before_step(agent, 1, 2, ("x",)) == []
    await events.turn_ended(agent, 1)
    assert events.memory("a").view is None
    assert idle_leases(bench) == {0}


@pytest.mark.requirement("host:turn:released")
@pytest.mark.parametrize("how", ["turn_ended", "step_rejected", "session_started", "disposed"])
async def test_every_end_releases_the_pin(bench, home, how):
    events, agent = bench.lifecycle, Agent("a", str(home.workspace))
    await events.agent_created(agent, "startup")
    await events.assemble_prompt(agent, 1, ())
    ends = {
        "turn_ended": lambda: events.turn_ended(agent, 1),
        "step_rejected": lambda: events.step_rejected(agent, 1),
        "session_started": lambda: events.session_started(agent, "compact"),
        "disposed": lambda: events.agent_disposed(agent),
    }
    await ends[how]()
    assert bench.executions.active("a") is None
    assert idle_leases(bench) == {0}


async def test_a_late_end_does_not_end_the_next_turn(bench, home):
    events, agent = bench.lifecycle, Agent("a", str(home.workspace))
    await events.agent_created(agent, "startup")
    await events.assemble_prompt(agent, 1, ())
    await events.assemble_prompt(agent, 2, ())
    await events.turn_ended(agent, 1)
    assert events.memory("a").execution.context.turn_id == "a:2"
    await events.turn_ended(agent, 2)


@pytest.mark.requirement("host:session:forgets")
@pytest.mark.parametrize("start", ["startup", "resume", "clear", "compact"])
async def test_a_new_session_hears_everything_again(bench, home, start):
    events, agent = bench.lifecycle, Agent("a", str(home.workspace))
    await events.agent_created(agent, "startup")
    said = []
    for turn in (1, 2, 3):
        if turn == 3:
            await events.session_started(agent, start)
        await events.assemble_prompt(agent, turn, ())
        said.append(await events.before_step(agent, turn, 1, ("x",)))
        await events.turn_ended(agent, turn)
    assert [len(messages) for messages in said] == [2, 0, 2]


# -- children -------------------------------------------------------------------------------------


@pytest.mark.requirement("host:child:outlives")
async def test_a_child_keeps_its_view_past_turn_swap_and_parent(bench, told):
    parent = bench.agent("a")
    former = bench.live.current
    async with parent.turn():
        view = bench.lifecycle.memory("a").view
        child = await parent.child("b")
    told.text, told.revision = "NEWER", "r2"
    await bench.settings.mutate("mnemon", put("timeoutMs", 999))
    await parent.close()
    async with child.turn() as turn:
        memory = bench.lifecycle.memory("b")
        assert memory.view is view
        assert memory.execution.graph is former
        assert turn.messages[-1].text.startswith("TOLD\n")
        assert (await turn.call("mnemon_view_route", look(told)))["viewId"] == view.id
    await anyio.wait_all_tasks_blocked()
    assert told.disposed == 0
    await child.close()
    await anyio.wait_all_tasks_blocked()
    assert told.disposed == 1
    assert idle_leases(bench) <= {0}


@pytest.mark.requirement("host:child:budget")
async def test_siblings_and_parent_have_budgets_of_their_own(bench, told):
    parent = bench.agent("a")
    async with parent.turn() as turn:
        children = [await parent.child(name) for name in ("b", "c")]
        for _ in range(3):
            await turn.call("mnemon_view_route", look(told))
        with pytest.raises(BudgetExhausted):
            await turn.call("mnemon_view_route", look(told))
        for child in children:
            async with child.turn() as own:
                for _ in range(3):
                    await own.call("mnemon_view_route", look(told))
                with pytest.raises(BudgetExhausted):
                    await own.call("mnemon_view_route", look(told))
            async with child.turn() as own:
                await own.call("mnemon_view_route", look(told))


@pytest.mark.requirement("host:child:grandchild")
async def test_a_grandchild_goes_by_the_delegation_of_its_parent(bench, told):
    parent = bench.agent("a")
    async with parent.turn():
        view = bench.lifecycle.memory("a").view
        child = await parent.child("b")
    told.revision = "r2"
    grandchild = await child.child("c")
    await child.close()
    await parent.close()
    async with grandchild.turn():
        assert bench.lifecycle.memory("c").view is view
        assert bench.lifecycle.memory("c").execution.context.scope.agent_id == "c"
    await grandchild.close()
    assert idle_leases(bench) == {0}


@pytest.mark.requirement("host:child:cold-resume")
async def test_a_cold_resumed_child_captures_anew(bench, told):
    parent = bench.agent("a")
    async with parent.turn():
        child = await parent.child("b")
        former = bench.lifecycle.memory("b").delegation
    await child.close()
    told.revision = "r2"
    async with parent.turn():
        view = bench.lifecycle.memory("a").view
        async with child.turn() as turn:
            assert bench.lifecycle.memory("b").view is view
            assert bench.lifecycle.memory("b").delegation is not former
            assert turn.messages
    await child.close()
    assert idle_leases(bench) == {0}


@pytest.mark.requirement("host:child:fresh-scope")
async def test_a_child_without_an_open_turn_composes_in_its_parents_scope(bench, told, tmp_path):
    parent = bench.agent("a")
    await parent.announce()
    child = await parent.child("b")
    child.cwd = str(tmp_path)
    views = []
    for revision in ("r2", "r3"):
        told.revision = revision
        async with child.turn():
            views.append(bench.lifecycle.memory("b").view)
    assert [view.scope.workspace_id for view in views] == [parent.cwd] * 2
    assert views[0].digest != views[1].digest


@pytest.mark.requirement("host:child:wake")
async def test_a_child_gets_the_wake_at_its_first_step_and_never_a_cue(bench):
    parent = bench.agent("a")
    async with parent.turn() as turn:
        child = await parent.child("b")
        async with child.turn() as own:
            assert [message.text for message in own.messages] == [turn.messages[-1].text]
            assert own.sections == turn.sections
        async with child.turn() as own:
            assert own.messages == ()
            assert own.sections == turn.sections


async def test_a_child_whose_graph_cannot_be_had_goes_without_memory(home, told, told_rows, caplog):
    settings = "storageScope: workspace\n"
    async with home.open(*told_rows(), settings=settings) as host:
        events = host.lifecycle
        await events.agent_created(Agent("a", None), "startup")
        child = Agent("b", None, parent_id="a", origin="child")
        await events.agent_created(child, "startup")
        assert events.memory("b") is None
        assert events.problem("b").code == "workspace-required"
        assert "without memory" in caplog.text
        await events.agent_disposed(child)
        assert events.problem("b") is None


# -- failures -------------------------------------------------------------------------------------


@pytest.mark.requirement("host:turn:survives")
async def test_a_turn_goes_on_when_memory_fails(bench, told, caplog):
    agent = bench.agent("a")
    told.revision = ""
    async with agent.turn() as turn:
        assert turn.problem.code == "text-required"
        assert [section.name for section in turn.sections] == ["mnemon:routing"]
        assert turn.messages == ()
    assert "goes on without memory" in caplog.text
    told.revision = "r1"
    async with agent.turn() as turn:
        assert turn.problem is None
        assert len(turn.sections) == 3
        assert len(turn.messages) == 2
    assert idle_leases(bench) == {0}


async def test_without_routing_guidance_a_failed_turn_has_no_section(home, told, told_rows):
    told.revision = ""
    opened = home.open(*told_rows(), settings="routingGuidance: false\n")
    async with opened as host, host.agent().turn() as turn:
        assert turn.problem is not None
        assert turn.sections == ()


async def test_an_unexpected_failure_is_told_without_its_text(bench, home, monkeypatch, caplog):
    async def refresh():
        raise ValueError("a secret path")

    monkeypatch.setattr(bench.settings, "refresh", refresh)
    async with bench.agent("a").turn() as turn:
        assert turn.problem.code == "memory-failed"
        assert "secret" not in turn.problem.message
    assert "a secret path" in caplog.text


async def test_a_surface_that_fails_costs_the_messages_only(bench, home):
    class Blind(Agent):
        def visible(self):
            raise StorageError("surface-lost", "the log cannot be read")

    events, agent = bench.lifecycle, Blind("a", str(home.workspace))
    await events.agent_created(agent, "startup")
    assert len(await events.assemble_prompt(agent, 1, ())) == 3
    assert await events.before_step(agent, 1, 1, ("x",)) == []
    assert events.problem("a").code == "surface-lost"
    assert events.memory("a").view is not None
    await events.turn_ended(agent, 1)


async def test_an_unavailable_source_leaves_the_others(home, told_rows, source_row, make_told):
    notes = make_told(text="NOTES")
    row = source_row("notes", notes, type_id="notes")
    rows = told_rows()
    async with home.open(*rows, row) as host:
        broken = host.agent("a")
        async with broken.turn() as turn:
            assert "TOLD" in turn.messages[-1].text
            assert "NOTES" in turn.messages[-1].text
        notes.failures["facts"] = OSError("/secret/path")
        async with broken.turn() as turn:
            assert turn.problem is None
            wake = turn.messages[-1].text
            assert "TOLD" in wake
            assert "NOTES" not in wake
            assert "MNEMON VIEW AVAILABILITY" in wake
            assert "secret" not in wake


async def test_dispose_lets_everybody_go_children_first(bench):
    parent = bench.agent("a")
    async with parent.turn():
        await parent.child("b")
        bench.lifecycle.dispose()
        assert bench.lifecycle.agents == ()
        assert idle_leases(bench) == {0}

"""What is said to an Agent, when, and what happens to its pin."""

import anyio
import attrs
import pytest
from dsh_mnemon_core.errors import TurnError
from dsh_mnemon_host.agent_host import Message, MessageSource
from dsh_mnemon_host.turn.agent_memory import AgentMemory, wake_text

BATCH = ("a user message",)


@attrs.define
class Agent:
    """An Agent whose surface a test writes."""

    cwd: str
    id: str = "a"
    parent_id: str | None = None
    origin: str = "root"
    surface: list | None = None

    def visible(self):
        return self.surface


@pytest.fixture
async def bench(home, told, told_rows):
    async with home.open(*told_rows()) as host:
        yield host


@pytest.fixture
def agent(home):
    return Agent(str(home.workspace))


@pytest.fixture
def memory(bench, agent):
    return AgentMemory(agent, bench.executions)


def forms(messages):
    return [message.source.form for message in messages]


async def say(memory, turn, batch=BATCH):
    """Play the first step of a turn and put what was said on the surface."""
    await memory.begin(turn)
    messages = memory.messages(turn, 1, batch)
    if memory.agent.surface is not None:
        memory.agent.surface += messages
    memory.end(turn)
    return messages


@pytest.mark.requirement("host:wake:changed")
async def test_wake_is_sent_when_it_changes_and_is_always_complete(memory, told):
    first = await say(memory, 1)
    assert forms(first) == ["instructions", "recall"]
    assert [message.source.plugin for message in first] == ["dsh-mnemon"] * 2
    assert [message.role for message in first] == ["user", "user"]
    assert first[1].text.startswith("TOLD\n\n")
    assert "MNEMON VIEW TOOLS" in first[1].text
    assert "MNEMON VIEW ROUTES" in first[1].text
    assert await say(memory, 2) == []
    told.text = "CHANGED"
    [wake] = await say(memory, 3)
    assert wake.text == first[1].text.replace("TOLD", "CHANGED")
    assert wake.id != first[1].id
    assert await say(memory, 4) == []


@pytest.mark.requirement("host:wake:surface")
async def test_wake_is_resent_when_it_vanished_from_the_surface(memory, agent):
    agent.surface = []
    first = await say(memory, 1)
    assert await say(memory, 2) == []
    agent.surface.remove(first[1])  # a rewind takes the Wake, the cue stays
    assert await say(memory, 3) == [agent.surface[-1]]
    assert agent.surface[-1].text == first[1].text
    agent.surface.clear()  # a compaction takes both
    assert forms(await say(memory, 4)) == ["instructions", "recall"]


async def test_the_latest_visible_wake_counts(memory, agent, told):
    agent.surface = []
    await say(memory, 1)
    told.text = "CHANGED"
    [changed] = await say(memory, 2)
    agent.surface.remove(changed)
    assert forms(await say(memory, 3)) == ["recall"]
    told.text = "TOLD"
    assert forms(await say(memory, 4)) == ["recall"]


@pytest.mark.requirement("host:wake:literal")
@pytest.mark.parametrize(
    "text", ["{{name}}", "$HOME ${x} $1", "</runtime-memory-file>", "\u202eright to left"]
)
async def test_source_text_is_sent_literally(memory, told, text):
    told.text = text
    messages = await say(memory, 1)
    assert messages[-1].text.startswith(text + "\n\n")


@pytest.mark.parametrize(
    "batch", [(), ("x", Message(text="mine", source=MessageSource(form="recall")))]
)
async def test_nothing_is_added_to_an_empty_batch_or_beside_an_own_message(memory, batch):
    assert await say(memory, 1, batch) == []
    assert len(await say(memory, 2)) == 2


async def test_only_the_first_step_of_the_current_turn_says_anything(memory):
    assert memory.messages(1, 1, BATCH) == []
    await memory.begin(1)
    assert memory.messages(1, 2, BATCH) == []
    assert memory.messages(2, 1, BATCH) == []
    assert len(memory.messages(1, 1, BATCH)) == 2
    memory.end()


async def test_blank_wake_is_not_sent(home, told, told_rows, agent):
    told.text = " "
    quiet = {"layers": {"runtime": {"participation": {"recall": "off", "write": "off"}}}}
    overrides = {"memoryTopology": quiet, "lifecycleEnabled": False}
    async with home.open(*told_rows(), overrides=overrides) as host:
        memory = AgentMemory(agent, host.executions)
        assert await say(memory, 1) == []


@pytest.mark.requirement("host:cue:once")
async def test_cue_is_said_once_a_session(memory, told):
    await say(memory, 1)
    told.text = "CHANGED"
    assert forms(await say(memory, 2)) == ["recall"]
    memory.restart()
    assert forms(await say(memory, 3)) == ["instructions", "recall"]


@pytest.mark.requirement("host:wake:lifecycle-off")
async def test_lifecycle_off_still_sends_the_wake(home, told_rows, agent):
    async with home.open(*told_rows(), settings="lifecycleEnabled: false\n") as host:
        memory = AgentMemory(agent, host.executions)
        assert forms(await say(memory, 1)) == ["recall"]


@pytest.mark.requirement("host:turn:rejected")
async def test_what_a_rejected_step_was_given_has_not_been_said(memory, bench):
    await memory.begin(1)
    given = memory.messages(1, 1, BATCH)
    memory.reject(1)
    assert bench.executions.active("a") is None
    assert [message.text for message in await say(memory, 2)] == [item.text for item in given]
    await memory.begin(3)
    memory.messages(3, 1, BATCH)
    memory.messages(3, 2, BATCH)
    memory.reject(3)
    assert await say(memory, 4) == []


async def test_rejecting_a_turn_that_said_nothing_forgets_nothing(memory, told):
    await say(memory, 1)
    await memory.begin(2)
    memory.reject(2)
    memory.reject(2)
    assert await say(memory, 3) == []


@pytest.mark.requirement("host:turn:one-view")
async def test_begin_is_idempotent_per_turn_and_ends_the_former(memory, bench):
    first = await memory.begin(1)
    assert await memory.begin(1) is first
    assert memory.view is first.context.view
    second = await memory.begin(2)
    assert second is not first
    assert first.closed
    memory.end(1)
    assert memory.execution is second
    assert not second.closed
    memory.end(2)
    assert memory.execution is memory.view is None
    memory.end()


async def test_a_turn_whose_slot_was_closed_is_pinned_again(memory, bench):
    first = await memory.begin(1)
    bench.executions.close(first)
    assert memory.messages(1, 1, BATCH) == []
    second = await memory.begin(1)
    assert second is not first
    memory.end()


async def test_two_calls_for_one_turn_share_its_preparation(memory, told):
    release = told.hold("facts")
    found = []

    async def begin():
        found.append(await memory.begin(1))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin)
            tasks.start_soon(begin)
            await told.reached("facts")
            release()
    assert found[0] is found[1]
    assert sum(phase == "facts" for phase, _ in told.calls) == 1
    memory.end()


@pytest.mark.requirement("host:turn:released")
@pytest.mark.parametrize("how", ["end", "reject", "restart", "dispose"])
async def test_end_during_preparation_aborts_it_and_leaves_nothing(memory, bench, told, how):
    release = told.hold("facts")
    failures = []

    async def begin():
        try:
            await memory.begin(1)
        except TurnError as error:
            failures.append(error.code)

    ends = {
        "end": lambda: memory.end(1),
        "reject": lambda: memory.reject(1),
        "restart": memory.restart,
        "dispose": memory.dispose,
    }
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin)
            await told.reached("facts")
            ends[how]()
            await anyio.wait_all_tasks_blocked()
            release()
    assert failures == ["turn-ended"]
    assert memory.execution is None
    assert bench.live.bound("a") is None
    assert bench.executions.active("a") is None


async def test_the_next_turn_overtakes_one_in_preparation(memory, bench, told):
    told.hold("facts")
    failures = []

    async def begin(turn):
        try:
            await memory.begin(turn)
        except TurnError as error:
            failures.append((turn, error.code))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(begin, 1)
            await told.reached("facts")
            told.holds.pop("facts")
            tasks.start_soon(begin, 2)
            tasks.start_soon(begin, 3)
    assert memory.execution.context.turn_id == "a:3"
    assert sorted(failures) == [(1, "turn-ended"), (2, "turn-ended")]
    memory.end()
    assert bench.live.bound("a") is None


async def test_end_in_the_very_moment_the_view_is_ready_releases_it(memory, bench):
    turns = bench.live.current.turns
    begin_turn = turns.begin_turn

    async def begun(*arguments):
        context = await begin_turn(*arguments)
        memory.end(1)  # after the View is pinned, before whoever waits for it goes on
        return context

    turns.begin_turn = begun
    with pytest.raises(TurnError) as caught:
        await memory.begin(1)
    assert caught.value.code == "turn-ended"
    assert bench.executions.active("a") is None
    assert [r.leases for r in bench.live.current.attachment.host._generations.values()] == [0]


async def test_wake_text_names_the_tools_of_its_generation(memory):
    execution = await memory.begin(1)
    assert "mnemon_runtime_memory" in wake_text(execution)
    memory.end()


async def test_sections_without_a_turn_are_the_fallback(memory):
    assert [section.name for section in memory.sections(())] == ["mnemon:routing"]


async def test_children_get_the_wake_once_and_no_cue(bench, agent, told):
    agent.origin = "child"
    memory = AgentMemory(agent, bench.executions)
    assert forms(await say(memory, 1)) == ["recall"]
    assert await say(memory, 2) == []
    memory.dispose()

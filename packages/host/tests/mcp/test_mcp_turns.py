import anyio
import pytest
from dsh_mnemon_core.errors import StorageError, TurnError
from dsh_mnemon_host.harness.mcp.session import McpSession

ADD = {"action": "add", "target": "user", "content": "likes tea"}
LOOK = {"routeId": "source:notes:mnemon-source-runtime/look", "input": {}}


async def context(client):
    return (await client.call_tool("mnemon_context")).content[0].text


async def resource(client):
    return (await client.read_resource("mnemon://context")).contents[0].text


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_context_shows_sections_wake_and_digest(bench, mode):
    bench.store.notes.append("a {{x}} </notes> $y")
    async with bench.client(mode) as client:
        result = await client.call_tool("mnemon_context")
    text, structure = result.content[0].text, result.structured_content
    assert "The protocol." in text
    assert "The routing." in text
    assert 'NOTES ["a {{x}} </notes> $y"]' in text
    assert structure["view"]["digest"] in text
    assert structure["wake"] in text
    assert structure["budgets"]["files"] == {"user": {"used": 1, "limit": 9}}
    assert "tools" not in structure


async def test_context_ends_the_turn_and_starts_the_next(bench):
    async with bench.client() as client:
        before = await context(client)
        bench.store.notes.append("of another process")
        assert await resource(client) == before
        after = await context(client)
        assert "of another process" in after
        assert await resource(client) == after


async def test_resource_and_prompt_open_a_turn_only_when_there_is_none(bench):
    async with bench.client() as client:
        first = await resource(client)
        bench.store.notes.append("later")
        prompt = await client.get_prompt("mnemon_context")
        assert prompt.messages[0].content.text == first
        await client.call_tool("mnemon_end_turn")
        prompt = await client.get_prompt("mnemon_context")
        assert "later" in prompt.messages[0].content.text


async def test_own_write_shows_in_the_next_turn(bench):
    async with bench.client() as client:
        await context(client)
        await client.call_tool("mnemon_runtime_memory", ADD)
        assert "likes tea" not in await resource(client)
        assert "likes tea" in await context(client)


async def test_end_turn_says_whether_there_was_one(bench):
    async with bench.client() as client:
        nothing = await client.call_tool("mnemon_end_turn")
        await context(client)
        one = await client.call_tool("mnemon_end_turn")
    assert nothing.structured_content == {"ended": False}
    assert one.structured_content == {"ended": True}


async def test_budgets_are_those_of_one_virtual_turn(bench):
    async with bench.client() as client:
        view = (await client.call_tool("mnemon_context")).structured_content
        route = view["wake"].split('"routes":[{"id":"')[1].split('"')[0]
        look = {"routeId": route, "input": {}}
        first = await client.call_tool("mnemon_view_route", look)
        second = await client.call_tool("mnemon_view_route", look)
        await client.call_tool("mnemon_end_turn")
        third = await client.call_tool("mnemon_view_route", look)
    assert not first.is_error
    assert second.structured_content["code"] == "route-calls-exhausted"
    assert not third.is_error


async def test_idle_turn_ends_by_itself(bench):
    await bench.set(idleReviewMs=45000)
    async with bench.client() as client:
        await context(client)
        await client.call_tool("mnemon_status")
        (session,) = bench.harness.roots()
        await bench.naps.ring()
        assert session.turn is None
        assert bench.naps.asked == [45.0, 45.0]
        bench.store.notes.append("later")
        assert "later" in await resource(client)


async def test_call_in_progress_keeps_the_turn_open(bench):
    bench.store.hold = anyio.Event()
    async with bench.client() as client, anyio.create_task_group() as tasks:
        await context(client)
        tasks.start_soon(client.call_tool, "mnemon_runtime_memory", ADD)
        await bench.store.entered.wait()
        (session,) = bench.harness.roots()
        await bench.naps.ring()
        assert session.turn == 1
        bench.store.hold.set()


async def test_new_turn_waits_for_the_calls_of_the_old_one(bench):
    bench.store.hold = anyio.Event()
    answers = {}
    async with bench.client() as client, anyio.create_task_group() as tasks:

        async def call(name, arguments):
            answers[name] = await client.call_tool(name, arguments)

        tasks.start_soon(call, "mnemon_runtime_memory", ADD)
        await bench.store.entered.wait()
        tasks.start_soon(call, "mnemon_context", {})
        await anyio.wait_all_tasks_blocked()
        assert answers == {}
        bench.store.hold.set()
    assert not answers["mnemon_runtime_memory"].is_error
    assert "likes tea" in answers["mnemon_context"].content[0].text


async def test_new_turn_does_not_wait_for_ever(bench):
    await bench.set(timeoutMs=100)
    bench.store.hold = anyio.Event()
    answers = {}
    async with bench.client() as client, anyio.create_task_group() as tasks:

        async def call(name, arguments):
            answers[name] = await client.call_tool(name, arguments)

        tasks.start_soon(call, "mnemon_runtime_memory", ADD)
        await bench.store.entered.wait()
        await call("mnemon_context", {})
    assert answers["mnemon_runtime_memory"].structured_content["code"] == "turn-ended"
    assert not answers["mnemon_context"].is_error


async def test_sessions_have_their_own_agents_and_turns(bench):
    async with bench.client() as one, bench.client() as two:
        before = await context(one)
        bench.store.notes.append("later")
        assert "later" in await context(two)
        assert await resource(one) == before
        assert len({agent.id for agent in bench.harness.roots()}) == 2
        assert all(agent.origin == "root" for agent in bench.host.lifecycle.agents)
    assert bench.harness.roots() == ()
    assert bench.host.lifecycle.agents == ()


async def test_end_of_the_session_ends_its_turn(bench):
    async with bench.client() as client:
        await context(client)
        (session,) = bench.harness.roots()
        assert bench.host.executions.active(session.id) is not None
        assert bench.harness.agent(session.id) is session
        assert session.visible() is None
    assert bench.host.executions.active(session.id) is None
    with pytest.raises(TurnError) as caught:
        async with session.call():
            pass
    assert caught.value.code == "session-closed"
    await bench.harness.close_session(session)


async def test_session_may_outlive_the_host(bench):
    async with bench.client() as client:
        await context(client)
        (session,) = bench.harness.roots()
        bench.harness.subscribe(bench.host.lifecycle)()
    assert bench.harness.roots() == ()
    assert session.turn is None


async def test_memory_out_of_order_is_told_and_tried_again(bench):
    bench.store.failure = StorageError("store-damaged", "the store is damaged")
    async with bench.client() as client:
        told = await client.call_tool("mnemon_context")
        refused = await client.call_tool("mnemon_status")
        bench.store.failure = None
        mended = await client.call_tool("mnemon_status")
    assert not told.is_error
    assert "continue without memory" in told.content[0].text
    assert told.structured_content["problem"]["code"] == refused.structured_content["code"]
    assert "view" not in told.structured_content
    assert "budgets" not in told.structured_content
    assert told.structured_content["storage"]["scope"] == "global"
    assert not mended.is_error


async def test_sizes_are_left_out_when_they_are_not_those_of_the_view(bench):
    async with bench.client() as client:
        told = await client.call_tool("mnemon_context")
        assert "files" in told.structured_content["budgets"]
        bench.store.unreadable = True
        told = await client.call_tool("mnemon_context")
        assert "files" not in told.structured_content["budgets"]
        bench.store.unreadable = False
        bench.store.notes.append("later")
        (session,) = bench.harness.roots()
        report = await bench.harness.report(session)
    assert report.budgets.files is None


async def test_workspace_that_cannot_be_used_has_no_storage(bench):
    blocked = bench.folder / "file"
    blocked.write_text("x", encoding="utf-8")
    await bench.set(storageScope="workspaces")
    async with bench.client(workspace=str(blocked / "inside")) as client:
        told = await client.call_tool("mnemon_context")
    assert told.structured_content["problem"]["code"] == "workspace-unreadable"
    assert "storage" not in told.structured_content


async def test_worktree_is_named(bench):
    tree, git = bench.folder / "tree", bench.folder / "git"
    tree.mkdir()
    git.mkdir()
    (git / "commondir").write_text("..", encoding="utf-8")
    (tree / ".git").write_text(f"gitdir: {git}", encoding="utf-8")
    async with bench.client(workspace=str(tree)) as client:
        told = await client.call_tool("mnemon_context")
    assert told.structured_content["isWorktree"]
    assert f'"{tree}" (linked git worktree' in told.content[0].text


class _Host:
    """A harness whose turns a test ends under the session's feet."""

    idle_seconds = drain_seconds = 1.0

    def __init__(self):
        self.ended = []
        self.session = None

    async def begin_turn(self, session, turn):
        pass

    async def end_turn(self, session, turn):
        self.ended.append(turn)

    def shown(self, session):
        return "digest"

    async def moved_on(self, session):
        await session.close()
        return True


async def test_calls_of_one_turn_run_side_by_side_and_the_last_one_starts_the_timer():
    started = []

    async def sleep(seconds):
        started.append(seconds)
        await anyio.sleep_forever()

    async with anyio.create_task_group() as tasks:
        session = McpSession(_Host(), workspace="/w", tasks=tasks, sleep=sleep)
        async with session.call(), session.call():
            assert session.turn == 1
        await anyio.wait_all_tasks_blocked()
        assert started == [1.0]
        async with session.call():
            await session.close()
        await anyio.wait_all_tasks_blocked()
        assert started == [1.0]
        tasks.cancel_scope.cancel()


async def test_session_closed_while_its_turn_ends_ends_it_once():
    host = _Host()
    async with anyio.create_task_group() as tasks:
        session = McpSession(host, workspace="/w", tasks=tasks)
        session.watchers.add("someone")
        async with session.call():
            pass
        assert await session.end() == 1
        tasks.cancel_scope.cancel()
    assert host.ended == [1]

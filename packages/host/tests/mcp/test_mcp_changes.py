import anyio
import pytest
from dsh_mnemon_host.harness.mcp import serving as serving_module
from mcp.client.subscriptions import ResourceUpdated, ToolsListChanged
from mcp.shared.exceptions import MCPError

# The client warns that newer protocols know no handshake; here both kinds are under test.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

ADD = {"action": "add", "target": "user", "content": "likes tea"}
URI = "mnemon://context"


class Ear:
    """Hears the notifications of a connection."""

    def __init__(self):
        self.heard = []

    async def __call__(self, message):
        params = message.params
        self.heard.append(getattr(params, "uri", message.method))


async def settle(client):
    """Wait until what was sent before has arrived: messages of one stream keep their order."""
    await client.list_resources()


async def test_subscriber_hears_of_own_writes_at_the_change_of_turns(bench):
    ear = Ear()
    async with bench.client(message_handler=ear) as client:
        await client.subscribe_resource(URI)
        await client.call_tool("mnemon_context")
        await client.call_tool("mnemon_runtime_memory", ADD)
        await settle(client)
        assert ear.heard == []
        await client.call_tool("mnemon_context")
        await settle(client)
        assert ear.heard == [URI]
        await client.call_tool("mnemon_context")
        await settle(client)
        assert ear.heard == [URI]


async def test_subscriber_hears_of_another_process_at_the_next_turn(bench):
    ear = Ear()
    async with bench.client(message_handler=ear) as client:
        await client.subscribe_resource(URI)
        await client.read_resource(URI)
        bench.store.notes.append("of another process")
        await client.read_resource(URI)
        await settle(client)
        assert ear.heard == []
        await client.call_tool("mnemon_end_turn")
        await settle(client)
        assert ear.heard == [URI]
        await client.read_resource(URI)
        await settle(client)
        assert ear.heard == [URI]


async def test_subscriber_hears_when_an_idle_turn_ends_behind_the_store(bench):
    ear = Ear()
    async with bench.client(message_handler=ear) as client:
        await client.subscribe_resource(URI)
        await client.call_tool("mnemon_runtime_memory", ADD)
        await bench.naps.ring()
        await settle(client)
        assert ear.heard == [URI]


async def test_change_while_no_turn_is_open_is_told_at_the_next_call(bench):
    ear = Ear()
    async with bench.client(message_handler=ear) as client:
        await client.subscribe_resource(URI)
        await client.call_tool("mnemon_context")
        await client.call_tool("mnemon_end_turn")
        bench.store.notes.append("of another process")
        await client.call_tool("mnemon_status")
        await settle(client)
        assert ear.heard == [URI]


async def test_store_that_cannot_be_asked_counts_as_changed(bench):
    ear = Ear()
    async with bench.client(message_handler=ear) as client:
        await client.subscribe_resource(URI)
        await client.call_tool("mnemon_context")
        bench.store.role = "another"
        await client.call_tool("mnemon_end_turn")
        await settle(client)
        assert ear.heard == [URI]
        await client.call_tool("mnemon_context")
        await client.call_tool("mnemon_end_turn")
        await settle(client)
        assert ear.heard == [URI, URI]


async def test_nobody_is_told_and_the_store_is_not_asked_without_a_subscription(bench):
    ear = Ear()
    async with bench.client(message_handler=ear) as client:
        await client.unsubscribe_resource(URI)
        await client.subscribe_resource(URI)
        await client.unsubscribe_resource(URI)
        await client.call_tool("mnemon_context")
        bench.store.notes.append("later")
        asked = bench.store.asked
        await client.call_tool("mnemon_end_turn")
        assert bench.store.asked == asked
        await client.call_tool("mnemon_context")
        await settle(client)
    assert ear.heard == []


async def test_listener_without_a_connection_hears_of_both_kinds(bench):
    async with bench.client("auto") as client:
        await client.call_tool("mnemon_context")
        async with client.listen(
            resource_subscriptions=[URI], tools_list_changed=True
        ) as subscription:
            await client.call_tool("mnemon_runtime_memory", ADD)
            await client.call_tool("mnemon_context")
            assert await anext(subscription) == ResourceUpdated(URI)
            await bench.set(writeEnabled=False)
            await client.list_tools()
            assert await anext(subscription) == ToolsListChanged()
        (session,) = bench.harness.roots()
        await anyio.wait_all_tasks_blocked()
        assert session.watchers == set()


async def test_listener_for_tools_alone_opens_no_session(bench):
    async with bench.client("auto") as client, client.listen(tools_list_changed=True):
        assert bench.harness.roots() == ()


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_what_is_not_there_is_refused_with_what_is(bench, mode):
    async with bench.client(mode) as client:
        with pytest.raises(MCPError, match="mnemon://context"):
            await client.read_resource("mnemon://other")
        with pytest.raises(MCPError, match="mnemon_context"):
            await client.get_prompt("other")


async def test_what_is_there_is_listed(bench):
    async with bench.client() as client:
        (resource,) = (await client.list_resources()).resources
        (prompt,) = (await client.list_prompts()).prompts
        templates = (await client.list_resource_templates()).resource_templates
        with pytest.raises(MCPError, match="mnemon://context"):
            await client.subscribe_resource("mnemon://other")
    assert (resource.uri, resource.mime_type) == (URI, "text/markdown")
    assert prompt.name == "mnemon_context"
    assert templates == []


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_context_that_fails_says_so_in_one_sentence(bench, mode, monkeypatch, caplog):
    async def explode(_session):
        raise RuntimeError("a secret")

    monkeypatch.setattr(bench.harness, "report", explode)
    async with bench.client(mode) as client:
        with pytest.raises(MCPError, match="its log says more") as caught:
            await client.read_resource(URI)
    assert "secret" not in str(caught.value)
    assert "a secret" in caplog.text


async def test_host_that_has_closed_is_named(bench):
    async with bench.client() as client:
        await client.list_tools()
        unsubscribe = bench.harness.subscribe(bench.host.lifecycle)
        unsubscribe()
        called = await client.call_tool("mnemon_status")
        with pytest.raises(MCPError, match="host-disposed") as caught:
            await client.read_resource(URI)
    assert called.structured_content["code"] == "host-disposed"
    assert caught.value.data["code"] == "host-disposed"


async def test_clients_without_a_connection_are_kept_in_a_bounded_number(bench, monkeypatch):
    monkeypatch.setattr(serving_module, "_SHARED_LIMIT", 2)
    async with serving_module.serving(bench.harness, None) as run:
        first = await run._of_client("a")
        assert await run._of_client("a") is first
        await run._of_client("b")
        await run._of_client("c")
        assert len(bench.harness.roots()) == 2
        assert await run._of_client("a") is not first
    assert bench.harness.roots() == ()

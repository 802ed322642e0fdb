import pytest
from dsh_mnemon_host.harness.mcp.roots import first_root
from mcp import types

# The client warns that newer protocols know no handshake; here both kinds are under test.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")

both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


def answering(*uris):
    async def answer(_context):
        answer.asked += 1
        return types.ListRootsResult(roots=[types.Root(uri=uri) for uri in answer.uris])

    answer.asked = 0
    answer.uris = uris
    return answer


async def workspace(client):
    return (await client.call_tool("mnemon_context")).structured_content["workspace"]


@both_eras
async def test_first_root_of_the_client_is_the_workspace(bench, mode):
    answer = answering("file:///somewhere/a%20b", "file:///elsewhere")
    async with bench.client(mode, list_roots_callback=answer) as client:
        assert await workspace(client) == "/somewhere/a b"
        assert await workspace(client) == "/somewhere/a b"
    assert answer.asked == 1


@both_eras
async def test_start_option_wins_and_nobody_is_asked(bench, mode):
    answer = answering("file:///somewhere")
    async with bench.client(mode, workspace="/chosen", list_roots_callback=answer) as client:
        assert await workspace(client) == "/chosen"
    assert answer.asked == 0


@both_eras
async def test_client_without_roots_gets_the_hosts_workspace(bench, mode):
    async with bench.client(mode) as client:
        assert await workspace(client) == str(bench.folder)


@both_eras
async def test_a_root_that_cannot_be_used_costs_no_memory(bench, mode):
    roots = answering(f"file:///{'x' * 5000}")
    async with bench.client(mode, list_roots_callback=roots) as client:
        shown = (await client.call_tool("mnemon_context")).structured_content
    assert shown["workspace"] == str(bench.folder)
    assert "view" in shown
    assert "problem" not in shown


@both_eras
async def test_client_with_no_root_gets_the_hosts_workspace(bench, mode):
    async with bench.client(mode, list_roots_callback=answering()) as client:
        assert await workspace(client) == str(bench.folder)


async def test_client_that_fails_to_name_its_roots_is_asked_once(bench):
    asked = []

    async def fail(_context):
        asked.append(1)
        return types.ErrorData(code=-1, message="no")

    async with bench.client(list_roots_callback=fail) as client:
        assert await workspace(client) == str(bench.folder)
        assert await workspace(client) == str(bench.folder)
    assert asked == [1]


@pytest.mark.parametrize("operation", ["resource", "prompt"])
async def test_roots_are_asked_for_before_any_turn_opens(bench, operation):
    async with bench.client("auto", list_roots_callback=answering("file:///here")) as client:
        if operation == "resource":
            text = (await client.read_resource("mnemon://context")).contents[0].text
        else:
            text = (await client.get_prompt("mnemon_context")).messages[0].content.text
    assert 'Workspace: "/here"' in text


async def test_other_roots_count_from_the_next_turn_on(bench):
    answer = answering("file:///before")
    async with bench.client(list_roots_callback=answer) as client:
        await client.session.send_roots_list_changed()
        assert await workspace(client) == "/before"
        answer.uris = ("file:///after",)
        await client.session.send_roots_list_changed()
        shown = (await client.read_resource("mnemon://context")).contents[0].text
        assert '"/before"' in shown
        assert await workspace(client) == "/after"


async def test_other_roots_do_not_move_a_chosen_workspace(bench):
    answer = answering("file:///after")
    async with bench.client(workspace="/chosen", list_roots_callback=answer) as client:
        await workspace(client)
        await client.session.send_roots_list_changed()
        assert await workspace(client) == "/chosen"
    assert answer.asked == 0


async def test_answer_of_another_kind_counts_as_no_root(bench):
    arguments = {"roots": types.ElicitResult(action="decline")}
    async with bench.client("auto", list_roots_callback=answering("file:///here")) as client:
        result = await client.session.call_tool(
            "mnemon_context", {}, input_responses=arguments, allow_input_required=True
        )
    assert result.structured_content["workspace"] == str(bench.folder)


@pytest.mark.parametrize(
    ("uris", "path"),
    [
        (["file:///a"], "/a"),
        (["file://localhost/a"], "/a"),
        (["file://far.example/a", "file:///b"], "/b"),
        (["file:///%00", "file:///b/../c"], "/c"),
        (["file:///%FF"], "/\ufffd"),
        ([f"file:///{'x' * 5000}", "file:///b"], "/b"),
        ([f"file://{'/x' * 2010}", "file:///b"], "/b"),
        (["file:///dev/null/x", "file:///b"], "/b"),
        ([f"file:///{'x' * 5000}"], None),
        ([], None),
    ],
)
def test_first_root_is_the_first_usable_local_folder(uris, path):
    assert first_root([types.Root(uri=uri) for uri in uris]) == path

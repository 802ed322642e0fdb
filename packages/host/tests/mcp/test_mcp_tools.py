import json
import logging

import pytest

ADD = {"action": "add", "target": "user", "content": "likes tea"}

both_eras = pytest.mark.parametrize("mode", ["legacy", "auto"])


def structure(result):
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


@both_eras
async def test_list_names_every_tool_with_hints_and_its_own_schema(bench, mode):
    async with bench.client(mode) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    published = {tool.name: tool for tool in bench.host.tools()}
    assert list(listed)[:2] == ["mnemon_context", "mnemon_end_turn"]
    assert list(listed)[2:] == list(published)
    for name, tool in published.items():
        assert listed[name].input_schema == tool.input_schema
        hints = listed[name].annotations
        assert hints.read_only_hint == tool.hints.read_only
        assert hints.destructive_hint == tool.hints.destructive
        assert hints.idempotent_hint == tool.hints.idempotent
    assert not any(tool.annotations.open_world_hint for tool in listed.values())
    assert listed["mnemon_context"].annotations.read_only_hint
    assert listed["mnemon_runtime_memory"].annotations.title == "Runtime memory"


@both_eras
async def test_call_answers_indented_json_and_the_same_as_structure(bench, mode):
    async with bench.client(mode) as client:
        result = await client.call_tool("mnemon_runtime_memory", ADD)
    assert not result.is_error
    assert structure(result)["added"] == "likes tea"
    assert result.content[0].text.startswith('{\n  "success": true')
    assert bench.store.notes == ["likes tea"]


@pytest.mark.parametrize(
    ("name", "arguments", "code"),
    [
        ("mnemon_contxt", {}, "tool-unknown"),
        ("mnemon_context", {"a": 1}, "input-invalid"),
        ("mnemon_end_turn", {"a": 1}, "input-invalid"),
        ("mnemon_runtime_memory", {"action": "add"}, "input-invalid"),
        ("mnemon_runtime_memory", {**ADD, "content": "bad"}, "note-bad"),
        ("mnemon_view_route", {"routeId": "x", "input": {}}, "route-unavailable"),
    ],
)
async def test_refusal_is_one_sentence_with_its_code(bench, name, arguments, code):
    async with bench.client() as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert list(result.structured_content)[:3] == ["code", "message", "details"]
    assert result.structured_content["code"] == code
    assert result.content[0].text == f"{result.structured_content['message']} ({code})"
    assert "\n" not in result.content[0].text


async def test_unknown_tool_names_the_nearest_one(bench):
    async with bench.client() as client:
        result = await client.call_tool("mnemon_contxt", {})
    assert "'mnemon_context'" in result.content[0].text


async def test_details_are_plain_json(bench):
    async with bench.client() as client:
        result = await client.call_tool("mnemon_runtime_memory", {**ADD, "content": "bad"})
    assert result.structured_content["details"] == {"path": ["a", 1]}


@both_eras
async def test_foreign_exception_is_logged_and_never_shown(bench, mode, monkeypatch, caplog):
    async def explode(*_args):
        raise RuntimeError("a secret")

    monkeypatch.setattr(bench.harness, "call_tool", explode)
    with caplog.at_level(logging.ERROR):
        async with bench.client(mode) as client:
            result = await client.call_tool("mnemon_status", {})
    assert result.is_error
    assert result.structured_content["code"] == "internal-error"
    assert "secret" not in result.content[0].text
    assert "a secret" in caplog.text


async def test_clients_odd_spellings_are_read_tolerantly(bench):
    odd = {**ADD, "importance": "", "branches": "[]", "old_text": None}
    async with bench.client() as client:
        result = await client.call_tool("mnemon_runtime_memory", odd)
    assert not result.is_error


async def test_lone_surrogate_is_refused_by_name(bench):
    # The in-process client hands arguments over as they are; a wire cannot carry this at all.
    async with bench.client("auto") as client:
        result = await client.call_tool("mnemon_runtime_memory", {**ADD, "content": "\ud800"})
    assert result.structured_content["code"] == "text-not-unicode"
    assert bench.store.notes == []


async def test_write_tools_leave_the_list_while_writes_are_off(bench):
    async with bench.client() as client:
        await client.call_tool("mnemon_context")
        await bench.set(writeEnabled=False)
        names = [tool.name for tool in (await client.list_tools()).tools]
        late = await client.call_tool("mnemon_runtime_memory", ADD)
        await client.call_tool("mnemon_context")
        later = await client.call_tool("mnemon_runtime_memory", ADD)
    assert "mnemon_runtime_memory" not in names
    assert "mnemon_view_action" not in names
    assert "mnemon_status" in names
    assert late.structured_content["code"] == "writes-disabled"
    assert later.structured_content["code"] == "writes-disabled"
    assert bench.store.notes == []


async def test_read_only_from_the_start_knows_no_write_tool(bench):
    await bench.set(writeEnabled=False)
    await bench.host.settings.refresh()
    async with bench.client() as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
    assert "mnemon_runtime_memory" not in names


@pytest.mark.parametrize(("mode", "listed"), [("legacy", True), ("legacy", False)])
async def test_other_tools_are_announced_to_every_client(bench, mode, listed):
    heard = []

    async def hear(message):
        heard.append(message.method)

    async with bench.client(mode, message_handler=hear) as client:
        if listed:
            await client.list_tools()
        else:
            await client.call_tool("mnemon_status", {})
        await bench.set(routingGuidance=False)
        await client.call_tool("mnemon_status", {})
        assert heard == []
        await bench.set(writeEnabled=False)
        await client.call_tool("mnemon_status", {})
        await client.list_tools()
        assert heard == ["notifications/tools/list_changed"]


async def test_same_tools_published_again_are_no_news(bench):
    heard = []
    forget = bench.harness.on_tools_changed(lambda: heard.append(1))
    bench.harness.register_tools(bench.host.tools())
    assert heard == []
    bench.harness.register_tools(())
    assert heard == [1]
    forget()
    bench.harness.register_tools(bench.host.tools())
    assert heard == [1]

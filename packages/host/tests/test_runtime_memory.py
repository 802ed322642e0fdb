"""``mnemon_runtime_memory``: what is sent, what is answered, what is refused."""

import attrs
import pytest
from dsh_mnemon_core.errors import AuthorityError, ConflictError, InputError
from dsh_mnemon_core.evidence import Receipt
from dsh_mnemon_host.tools.operation import receipt_result
from dsh_mnemon_host.tools.reading import read_arguments
from dsh_mnemon_host.tools.runtime_memory import RuntimeMemoryInput

ADD = {"action": "add", "target": "user", "content": "Prefers short answers"}


def mutation(**arguments):
    return read_arguments(RuntimeMemoryInput, arguments, "mnemon_runtime_memory").mutation()


@pytest.mark.requirement("host:tools:tolerant")
@pytest.mark.parametrize(
    ("action", "target", "branches", "expected"),
    [
        ("replace", "memory", [], []),
        ("replace", "memory", "[]", []),
        ("replace", "memory", None, None),
        ("replace", "user", [], None),
        ("add", "memory", [], None),
        ("remove", "memory", [], None),
        ("add", "memory", ["main"], ["main"]),
        ("add", "memory", '["main", "next"]', ["main", "next"]),
        ("add", "user", ["main"], ["main"]),
    ],
)
def test_an_empty_list_of_branches_clears_on_replace_only(action, target, branches, expected):
    sent = mutation(action=action, target=target, branches=branches)
    assert sent.get("branches") == expected


def test_unset_fields_are_absent_and_both_spellings_are_read():
    assert mutation(action="add", target="user", content="x", old_text="", importance=None) == {
        "action": "add",
        "target": "user",
        "content": "x",
    }
    for spelling in ("old_text", "oldText"):
        sent = mutation(action="remove", target="user", importance="low", **{spelling: "x"})
        assert sent == {"action": "remove", "target": "user", "oldText": "x", "importance": "low"}


@pytest.fixture
async def turn(home):
    async with home.open() as host, host.agent().turn() as turn:
        yield turn


async def call(turn, **arguments):
    return await turn.call("mnemon_runtime_memory", arguments)


@pytest.mark.requirement("host:tools:receipt")
async def test_a_write_answers_with_the_details_and_the_proof(turn, home):
    answer = await call(turn, **ADD)
    assert list(answer) == [
        "success", "message", "target", "entryCount", "usage", "added", "revision", "memoryReceipt",
    ]  # fmt: skip
    assert answer["usage"] == {"used": 21, "limit": 4096}
    assert answer["memoryReceipt"].keys() == {"status", "completion", "committedAt"}
    assert answer["memoryReceipt"]["completion"] == "committed"
    again = await call(turn, **ADD)
    assert again["entryCount"] == 1
    replaced = await call(
        turn, action="replace", target="user", old_text="short", content="Prefers long answers"
    )
    assert replaced["replaced"] == {
        "from": "Prefers short answers",
        "to": "Prefers long answers",
    }
    removed = await call(turn, action="remove", target="user", old_text="long")
    assert removed["removed"] == "Prefers long answers"
    assert home.stored() == []


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"action": "add"}, "content"),
        ({"action": "add", "content": ""}, "content"),
        ({"action": "replace", "content": "x"}, "old_text"),
        ({"action": "replace", "old_text": "x"}, "content"),
        ({"action": "remove", "content": "x"}, "old_text"),
        ({"action": "remove", "old_text": ""}, "old_text"),
    ],
)
async def test_what_an_action_needs_is_named(turn, arguments, field):
    with pytest.raises(InputError) as caught:
        await call(turn, target="user", **arguments)
    assert caught.value.code == "input-invalid"
    assert caught.value.details == {"field": field}


async def test_refusals_of_the_source_reach_the_model(turn):
    for content in ("Prefers tea", "Prefers coffee"):
        await call(turn, **{**ADD, "content": content})
    with pytest.raises(ConflictError):
        await call(turn, action="remove", target="user", old_text="Prefers")
    with pytest.raises(InputError):
        await call(turn, **{**ADD, "content": "a\n§\nb"})
    with pytest.raises(InputError):
        await call(turn, **{**ADD, "content": "x" * 8193})


@pytest.mark.requirement("host:tools:literal")
@pytest.mark.parametrize(
    "text", ["{{name}} $HOME", "</runtime-memory-file>", "[1, 2]", "null", "\u202ertl\u202c", "😀"]
)
async def test_text_passes_literally(home, text):
    async with home.open() as host:
        agent = host.agent()
        async with agent.turn() as turn:
            await call(turn, **{**ADD, "content": text})
        async with agent.turn() as turn:
            assert text in turn.messages[-1].text
    assert home.stored()[0]["content"] == text


async def test_without_an_offer_it_says_so(home, told_rows):
    rows = told_rows(source={"type_id": "notes"})
    async with home.open(*rows) as host, host.agent().turn() as turn:
        # It is not published here, but may have been before its Source was switched off.
        turn = attrs.evolve(turn, tools=host._every_tool)
        with pytest.raises(AuthorityError) as caught:
            await call(turn, **ADD)
        assert caught.value.code == "action-unavailable"


async def test_read_only_is_said_before_anything_else(home):
    async with home.open() as host:
        agent = host.agent()
        async with agent.turn() as turn:
            pass
        await host.settings.mutate(
            "mnemon", [{"op": "set", "path": ["writeEnabled"], "value": False}]
        )
        async with agent.turn():
            with pytest.raises(AuthorityError) as caught:
                await call(turn, **ADD)
            assert caught.value.code == "writes-disabled"


def receipt(details, **fields):
    given = {
        "id": "r",
        "view_id": "v",
        "offer_id": "o",
        "source_instance_key": "source:x",
        "status": "partial",
        "completion": "unknown",
        **fields,
    }
    return Receipt(details=details, **given)


@pytest.mark.requirement("host:tools:receipt")
@pytest.mark.parametrize(
    ("details", "spread"),
    [
        ({"success": True}, {"success": True}),
        ({"result": {"a": 1}, "other": 2}, {"a": 1}),
        ({"result": "text"}, {}),
        (["list"], {}),
        ("text", {}),
        (None, {}),
    ],
)
def test_whatever_the_details_are_the_proof_is_never_hidden(details, spread):
    proof = {"status": "partial", "completion": "unknown"}
    assert receipt_result(receipt(details)) == {**spread, "memoryReceipt": proof}


def test_revision_and_commit_time_stand_in_the_answer():
    answer = receipt_result(
        receipt({"revision": "old"}, revision="r9", committed_at="2026-01-02T03:04:05.678Z")
    )
    assert answer["revision"] == "r9"
    assert answer["memoryReceipt"]["committedAt"] == "2026-01-02T03:04:05.678Z"

"""Chat exports: one memory an exchange."""

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.transfer.chats import is_chat, read_chats
from dsh_mnemon_host.transfer.pieces import MAX_BYTES
from dsh_mnemon_host.transfer.reading import read_paths
from hypothesis import given
from hypothesis import strategies as st


def gpt(role, text, time=None):
    said = {
        "author": {"role": role},
        "content": {"parts": text if isinstance(text, list) else [text]},
    }
    return {"message": {**said, **({} if time is None else {"create_time": time})}}


GPT = [
    {
        "title": "Trip, Japan",
        "create_time": 1700000000,
        "mapping": {
            "b": gpt("assistant", ["Go in", "April"], 1700000002.5),
            "a": gpt("user", "When?", 1700000001),
            "d": gpt("assistant", "By train.", 1700000004),
            "c": gpt("user", "How?", 1700000003),
            "s": gpt("system", "hush"),
            "n": {"message": None},
        },
    }
]
CLAUDE = [
    {
        "name": "Plans",
        "created_at": "2026-01-01T00:00:00Z",
        "chat_messages": [
            {"sender": "assistant", "text": "Welcome"},
            {"sender": "human", "text": "Hi", "created_at": "2026-01-02T00:00:01+00:00"},
            {"sender": "human", "text": "Are you there?"},
            {"sender": "assistant", "content": [{"type": "text", "text": "Hello"}]},
            {"sender": "assistant", "text": "What can I do?"},
        ],
    }
]
PLAIN = [{"role": "user", "content": "A"}, {"role": "tool", "content": "B"}]


@pytest.mark.requirement("host:transfer:chats")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (GPT, [("Trip, Japan (2023-11-14)\n\nUser: When?\n\nAssistant: Go in\n\nApril",
                "2023-11-14T22:13:21.000Z"),
               ("Trip, Japan (2023-11-14)\n\nUser: How?\n\nAssistant: By train.",
                "2023-11-14T22:13:23.000Z")]),
        (CLAUDE, [("Plans (2026-01-02)\n\nAssistant: Welcome\n\nUser: Hi\n\nUser: Are you there?"
                   "\n\nAssistant: Hello\n\nAssistant: What can I do?",
                   "2026-01-02T00:00:01.000Z")]),
        (PLAIN, [("Chat\n\nUser: A", None)]),
        ({"title": "t", "messages": [{"role": "user", "content": "C", "timestamp": 1e20}]},
         [("t\n\nUser: C", None)]),
        ({"title": 7, "created_at": "0001-01-01T00:00:00+10:00",
          "messages": [{"role": "model", "content": "Alone"}]},
         [("Chat\n\nAssistant: Alone", None)]),
    ],
    ids=["gpt", "claude", "plain", "one", "odd"],
)  # fmt: skip
def test_chat_exports_become_exchanges(value, expected):
    read = read_chats(value, "chat.json")
    assert [(m.content, m.created_at) for m in read.draft.memories] == expected
    assert all("," not in tag for m in read.draft.memories for tag in m.tags)
    assert {m.tags[0] for m in read.draft.memories} == {"chat"}
    assert read.draft.edges == ()


@pytest.mark.requirement("host:transfer:chats")
def test_a_long_exchange_is_kept_whole_in_pieces_that_name_its_question():
    reply = "\n\n".join(f"paragraph {number} {'x' * 900}" for number in range(20))
    chat = {"title": "Long", "messages": [{"role": "user", "content": "Why? " * 100},
                                          {"role": "assistant", "content": reply}]}  # fmt: skip
    memories = read_chats(chat, "c").draft.memories
    assert len(memories) > 2
    head = f"Long\n\n(part of what began with: {('Why? ' * 60).strip()} …)\n\n"
    assert all(m.content.startswith(head) for m in memories)
    assert all(len(m.content.encode()) <= MAX_BYTES for m in memories)
    whole = "".join(m.content.removeprefix(head) for m in memories)
    assert all(f"paragraph {number} " in whole for number in range(20))
    lonely = {"messages": [{"role": "ai", "content": "y" * 9000}]}
    assert "began with: yyy" in read_chats(lonely, "c").draft.memories[1].content


def chat(*messages, **more):
    return {"messages": [*messages], **more}


def user(content, **more):
    return {"role": "user", "content": content, **more}


def nested(levels):
    content = "deep"
    for _ in range(levels):
        content = [content]
    return content


@pytest.mark.requirement("host:transfer:chats")
def test_conversations_without_words_are_named():
    chats = [{"title": "Quiet", "mapping": {}}, chat(user("words"), title="Good"),
             chat(user(None), user([{"type": "image"}]), {"role": "assistant", "tool_calls": []}),
             {"chat_messages": [], "messages": []}]  # fmt: skip
    read = read_chats(chats, "c.json")
    assert [m.content for m in read.draft.memories] == ["Good\n\nUser: words"]
    assert read.empty == ("c.json: Quiet", "c.json: conversation 3", "c.json: conversation 4")
    assert read.failed == ()
    only = read_chats([{"role": "system", "content": "x"}], "x.json")
    assert (only.draft.memories, only.empty) == ((), ("x.json: conversation 1",))


GOOD = chat(user("kept"))
KEPT = gpt("user", "kept")


@pytest.mark.requirement("host:transfer:chats")
@pytest.mark.parametrize(
    ("value", "place", "why"),
    [
        ([5, GOOD], "conversation 1", "no object"),
        ([GOOD, user("alone")], "conversation 2", "no messages"),
        ([{"messages": 5}, GOOD], "conversation 1", "messages are no list"),
        ([{"chat_messages": [], "messages": {"a": 1}}, GOOD], "conversation 1", "no list"),
        ([GOOD, {"title": "T", "mapping": [1, 2]}], "conversation 2 ('T')", "mapping is no object"),
        ([GOOD, chat(title="\ud800")], "conversation 2 ('\\ud800')", "half a character"),
        ({"mapping": {"a": KEPT, "b": "x"}}, "conversation 1, message 'b'", "no object"),
        ({"mapping": {"a": KEPT, "b": {"message": [1]}}}, "message 'b'", "no object"),
        ({"mapping": {"b": {"message": {"author": "user", "create_time": "x", "content": "t"}},
                      "a": gpt("user", "kept", 3.5)}}, "message 'b'", "who wrote it"),
        ([user("kept"), "noise"], "conversation 1, message 2", "no object"),
        ([user("kept"), {"role": 1, "content": "x"}], "message 2", "who wrote it"),
        ([user("kept"), {"role": "bot", "content": "x"}], "message 2", "'bot'"),
        ([user("kept"), user(5)], "message 2", "no text"),
        ([user("kept"), user([{"text": True}])], "message 2", "no text"),
        ([user("kept"), {"role": "user", "body": "x"}], "message 2", "no content"),
        ([user("kept"), user(nested(2000))], "message 2", "nested too deeply"),
        ([user("kept"), user("lone \ud800")], "message 2", "half a character"),
    ],
)  # fmt: skip
def test_what_is_of_another_shape_is_named_and_the_rest_goes_in(value, place, why):
    read = read_chats(value, "c.json")
    (kept,) = read.draft.memories
    assert kept.content.endswith("\n\nUser: kept")
    (failure,) = read.failed
    assert failure.code == ("text-not-unicode" if "half" in why else "draft-invalid")
    assert failure.file == "c.json"
    assert place in failure.message.split(": ")[0]
    assert why in failure.message
    assert read.empty == ()
    failure.message.encode()


NAMES = ("mapping", "messages", "chat_messages", "message", "author", "role", "sender", "content",
         "parts", "text", "title", "name", "create_time", "created_at", "timestamp")  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["user", "ai", "tool", "words", "2026-01-01", "\ud800", ""])
)


JSON = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
    ),
    max_leaves=20,
)


@pytest.mark.requirement("host:transfer:chats")
@given(st.sampled_from(NAMES[:3]), JSON, JSON)
def test_whatever_looks_like_a_chat_is_read_or_named(key, inner, beside):
    value = [{"title": beside, key: inner}, beside]
    read = read_chats(value, "c.json")
    assert read.draft.memories or read.failed or read.empty
    for memory in read.draft.memories:
        memory.content.encode()
    for failure in read.failed:
        failure.message.encode()


@pytest.mark.requirement("host:transfer:chats")
def test_a_file_of_odd_shapes_alone_is_an_error_that_names_the_first(tmp_path):
    path = tmp_path / "c.json"
    path.write_text('[{"messages": 5}, {"messages": [6]}]', encoding="utf-8")
    with pytest.raises(InputError, match=r"c\.json: conversation 1: its messages") as caught:
        read_paths([path])
    assert caught.value.code == "draft-invalid"


def test_what_is_no_chat_is_refused():
    assert not is_chat([])
    assert not is_chat("x")
    with pytest.raises(InputError, match="no chat export"):
        read_chats({"a": 1}, "x.json")

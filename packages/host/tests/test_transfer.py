"""Memories in files: drafts, JSON Lines, Markdown, chat exports."""

import json
import os

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.transfer.chats import is_chat, read_chats
from dsh_mnemon_host.transfer.draft import read_draft, read_lines
from dsh_mnemon_host.transfer.importing import import_draft
from dsh_mnemon_host.transfer.markdown import read_markdown, split_sections
from dsh_mnemon_host.transfer.pieces import MAX_BYTES, pieces
from dsh_mnemon_host.transfer.reading import read_path
from hypothesis import given
from hypothesis import strategies as st


def draft(*contents, edges=(), **top):
    insights = [{"content": content} for content in contents]
    return {"schema_version": "1", "insights": insights, "edges": list(edges), **top}


def edge(source, target, **more):
    return {"source_index": source, "target_index": target, "edge_type": "causal", **more}


# -- the draft ------------------------------------------------------------------------------------


@pytest.mark.requirement("host:transfer:draft")
def test_a_draft_is_read_with_its_defaults():
    value = draft("one", "two", edges=[edge(0, 1)], source="cli", unknown=True)
    value["insights"][1] |= {
        "source": "user",
        "importance": 0,
        "created_at": "2026-03-01T12:00:00Z",
    }
    read = read_draft(value, "d.json")
    assert [memory.to_json() for memory in read.memories] == [
        {"content": "one", "category": "general", "importance": 3, "tags": [], "entities": [],
         "source": "external"},
        {"content": "two", "category": "general", "importance": 3, "tags": [], "entities": [],
         "source": "user", "created_at": "2026-03-01T12:00:00Z"},
    ]  # fmt: skip
    assert [memory.source for memory in read.memories] == ["cli", "user"]
    assert read.edges[0].weight == 0.5


@pytest.mark.requirement("host:transfer:refused")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "no import draft"),
        ({"schema_version": "2", "insights": []}, 'only "1"'),
        ({"schema_version": "1", "insights": {}}, "no array"),
        (draft("  "), r"insights\[0\]: content: content is blank"),
        ({"schema_version": "1", "insights": ["x"]}, r"insights\[0\]"),
        ({"schema_version": "1", "insights": [{"content": "x", "importance": 6}]}, "importance"),
        ({"schema_version": "1", "insights": [{"content": "x", "tags": "t"}]}, "tags"),
        ({"schema_version": "1", "insights": [{"content": "x", "entities": [1]}]}, "entities"),
        ({"schema_version": "1", "insights": [{"content": "x", "created_at": "May"}]}, "RFC 3339"),
        (draft("x", "y", edges=[edge(0, 1, reason="x" * 1001)]), "reason"),
        (draft("x", edges=[edge(0, 1)]), "only 1 insights"),
        (draft("x", edges=[edge(0, 0)]), "itself"),
        (draft("x", "y", edges=[edge(0, 1, weight=2)]), r"edges\[0\]: weight"),
        (draft("x", "y", edges=[edge(0, 1, edge_type="likes")]), r"edges\[0\]: edge_type"),
    ],
)
def test_a_wrong_draft_names_the_place(value, words):
    with pytest.raises(InputError, match=words) as caught:
        read_draft(value, "d.json")
    assert caught.value.code == "draft-invalid"


def test_lines_are_read_and_a_wrong_one_is_named():
    read = read_lines(
        '{"content": "a", "createdAt": "2026-01-01T00:00:00Z"}\n\n{"content": "b"}\n', "l"
    )
    assert [m.content for m in read.memories] == ["a", "b"]
    assert read.memories[0].created_at == "2026-01-01T00:00:00Z"
    for text, words in (('{"content": "a"}\n{', "line 2 is no JSON"), ('{"content": 1}', "line 1")):
        with pytest.raises(InputError, match=words):
            read_lines(text, "l")


@given(
    st.integers(2, 40).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(
                st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(
                    lambda e: e[0] != e[1]
                ),
                max_size=40,
                unique=True,
            ),
        )
    ),
    st.integers(2, 12),
)
def test_batches_hold_every_memory_once_in_order_and_every_edge(sized, size):
    count, pairs = sized
    read = read_draft(
        draft(*(f"m{i}" for i in range(count)), edges=[edge(a, b) for a, b in pairs]), "d"
    )
    parts = list(read.parts(size))
    assert all(len(part.memories) <= size for part in parts)
    firsts = [part for part in parts if not part.again]
    assert [m.content for part in firsts for m in part.memories] == [f"m{i}" for i in range(count)]
    assert all(
        [m.content for m in part.memories] == [f"m{place}" for place in part.places]
        for part in parts
    )
    joined = sorted(
        (part.memories[e.source_index].content, part.memories[e.target_index].content)
        for part in parts
        for e in part.edges
    )
    assert joined == sorted((f"m{a}", f"m{b}") for a, b in pairs)


def test_more_edges_than_one_import_takes_are_dealt_over_several(monkeypatch):
    monkeypatch.setattr("dsh_mnemon_host.transfer.draft._MOST_EDGES", 2)
    pairs = [edge(0, 1), edge(1, 2), edge(2, 3), edge(3, 0)]
    read = read_draft(draft("a", "b", "c", "d", edges=pairs), "d")
    parts = [(len(part.memories), len(part.edges), part.again) for part in read.parts(4)]
    assert parts == [(4, 2, False), (3, 2, True)]


class Space:
    """A Space that takes words without ``bad`` in them, and refuses a part as a whole."""

    def __init__(self):
        self.kept, self.joined = [], []

    async def write(self, part):
        contents = [item["content"] for item in part["insights"]]
        for index, content in enumerate(contents):
            if "bad" in content:
                message = f"body-import: insights.{index}.content: it is bad"
                field = {"field": f"insights.{index}.content"}
                raise InputError("value-invalid", message, details=field)
        new = [content for content in contents if content not in self.kept]
        self.kept += new
        self.joined += [
            (contents[item["source_index"]], contents[item["target_index"]])
            for item in part["edges"]
        ]
        counts = {"imported": len(new), "skipped": len(contents) - len(new)}
        return {**counts, "edges_inserted": len(part["edges"]), "errors": []}


@pytest.mark.requirement("host:transfer:refused")
@given(
    st.lists(st.sampled_from(["good", "bad"]), min_size=2, max_size=12).flatmap(
        lambda words: st.tuples(
            st.just([f"{word} {place}" for place, word in enumerate(words)]),
            st.lists(
                st.tuples(*[st.integers(0, len(words) - 1)] * 2).filter(lambda e: e[0] != e[1]),
                max_size=8,
                unique=True,
            ),
        )
    ),
    st.integers(2, 5),
)
async def test_what_a_space_refuses_is_left_out_alone_and_named_by_its_place(sized, size):
    contents, pairs = sized
    read = read_draft(draft(*contents, edges=[edge(a, b) for a, b in pairs]), "d")
    space, done = Space(), []
    result = await import_draft(read, size, space.write, done.append)
    good = [content for content in contents if "good" in content]
    assert space.kept == good
    assert result.errors == [
        {"index": place, "code": "value-invalid", "message": "content: it is bad"}
        for place, content in enumerate(contents)
        if "bad" in content
    ]
    assert (result.counts["imported"], result.counts["skipped"]) == (len(good), 0)
    kept = [(contents[a], contents[b]) for a, b in pairs if contents[a] in good]
    assert sorted(space.joined) == sorted(pair for pair in kept if pair[1] in good)
    assert done[-1] == len(contents)


async def test_a_refusal_that_names_no_memory_ends_an_import():
    async def full(_part):
        raise InputError("edge-index", "no such edge", details={"field": "edges.0"})

    with pytest.raises(InputError, match="no such edge"):
        await import_draft(read_draft(draft("a"), "d"), 2, full, lambda _: None)


# -- pieces and Markdown --------------------------------------------------------------------------


@given(st.text(alphabet="ab字\n ", max_size=400), st.integers(20, 60))
def test_pieces_fit_and_lose_nothing_but_white_space(text, limit):
    parts = list(pieces(text, head="h: ", limit=limit))
    assert all(len(part.encode("utf-8")) <= limit and part.startswith("h: ") for part in parts)
    kept = "".join(part.removeprefix("h: ") for part in parts)
    assert "".join(kept.split()) == "".join(text.split())


def test_what_is_blank_in_a_long_paragraph_is_left_out():
    assert list(pieces("ab\n  \n" + "c" * 30, limit=16)) == ["ab", "c" * 16, "c" * 14]


def test_sections_stand_under_their_headings_and_code_has_none():
    text = "---\ntitle: x\n---\nfore\n# A\none\n```\n# no heading\n```\n## B #\ntwo\n# C\n"
    assert list(split_sections(text)) == [
        ((), "fore"),
        (("A",), "one\n```\n# no heading\n```"),
        (("A", "B"), "two"),
    ]
    assert list(split_sections("---\nno end")) == [((), "---\nno end")]


def test_a_folder_of_markdown_becomes_memories(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("hidden")
    (tmp_path / "sub" / "b.md").write_text("# Head\nbody", encoding="utf-8")
    (tmp_path / "a.markdown").write_text("x" * 9000, encoding="utf-8")
    read = read_path(tmp_path)
    assert [m.content.split("\n")[0] for m in read.memories] == [
        "a.markdown", "a.markdown", "sub/b.md › Head",
    ]  # fmt: skip
    assert all(len(m.content.encode()) <= MAX_BYTES for m in read.memories)
    assert read.memories[2].tags == ["b"]
    (tmp_path / "bad.md").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"bad\.md cannot be read"):
        read_markdown(tmp_path)


def test_one_markdown_file_and_a_byte_order_mark_are_read(tmp_path):
    file = tmp_path / "a.md"
    file.write_bytes("\ufeff# Head\nbody".encode())
    assert read_path(file).memories[0].content == "a.md › Head\n\nbody"
    lines = tmp_path / "x.jsonl"
    lines.write_bytes("\ufeff".encode() + b'{"content": "l"}')
    assert read_path(lines).memories[0].content == "l"


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        read_path(tmp_path / "pipe.json")


# -- chats ----------------------------------------------------------------------------------------

GPT = [
    {
        "title": "Trip, Japan",
        "create_time": 1700000000,
        "mapping": {
            "b": {"message": {"author": {"role": "assistant"}, "create_time": 1700000002.5,
                              "content": {"parts": ["Go in", "April"]}}},
            "a": {"message": {"author": {"role": "user"}, "create_time": 1700000001,
                              "content": {"parts": ["When?"]}}},
            "s": {"message": {"author": {"role": "system"}, "content": {"parts": ["hush"]}}},
            "n": {"message": None},
        },
    }
]  # fmt: skip
CLAUDE = [
    {
        "name": "Plans",
        "created_at": "2026-01-01T00:00:00Z",
        "chat_messages": [
            {"sender": "human", "text": "Hi", "created_at": "2026-01-01T00:00:01+00:00"},
            {"sender": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        ],
    }
]
PLAIN = [{"role": "user", "content": "A"}, {"role": "tool", "content": "B"}, "noise",
         {"role": "user", "content": 5}]  # fmt: skip


@pytest.mark.requirement("host:transfer:chats")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (GPT, [("User: When?", "2023-11-14T22:13:21.000Z"),
               ("Assistant: Go in\n\nApril", "2023-11-14T22:13:22.500Z")]),
        (CLAUDE, [("User: Hi", "2026-01-01T00:00:01.000Z"),
                  ("Assistant: Hello", "2026-01-01T00:00:00.000Z")]),
        (PLAIN, [("User: A", None)]),
        ({"title": "t", "messages": [{"role": "user", "content": "C", "timestamp": 1e20}]},
         [("User: C", None)]),
    ],
    ids=["gpt", "claude", "plain", "one"],
)  # fmt: skip
def test_chat_exports_are_known(value, expected):
    read = read_chats(value, "chat.json")
    assert [(m.content, m.created_at) for m in read.memories] == expected
    assert all("," not in tag for m in read.memories for tag in m.tags)


def test_what_is_no_chat_is_refused():
    assert not is_chat([])
    assert not is_chat("x")
    with pytest.raises(InputError, match="no chat export"):
        read_chats({"a": 1}, "x.json")
    with pytest.raises(InputError) as caught:
        read_chats([{"role": "system", "content": "x"}], "x.json")
    assert caught.value.code == "import-empty"


# -- what a path holds ----------------------------------------------------------------------------


def test_the_form_is_seen_or_said(tmp_path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(draft("d")), encoding="utf-8")
    assert read_path(file).memories[0].content == "d"
    file.write_text(json.dumps(PLAIN), encoding="utf-8")
    assert read_path(file).memories[0].content == "User: A"
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"content": "l"}', encoding="utf-8")
    assert read_path(lines).memories[0].content == "l"
    assert read_path(lines, "jsonl").memories[0].content == "l"


@pytest.mark.parametrize(
    ("name", "data", "format", "code"),
    [
        ("x.json", b"{", "auto", "draft-invalid"),
        ("x.json", b"\xff", "auto", "import-unreadable"),
        ("x.json", b"[" * 200_000, "auto", "draft-invalid"),
        ("x.jsonl", b"[" * 200_000, "auto", "draft-invalid"),
        ("x.md", b"\xff", "auto", "import-unreadable"),
        ("x.json", b'{"schema_version": "1", "insights": []}', "auto", "import-empty"),
        ("x.jsonl", b"\n", "auto", "import-empty"),
        ("missing", None, "auto", "import-unreadable"),
        ("", None, "draft", "format-mismatch"),
        ("", None, "auto", "import-empty"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, name, data, format, code):
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_path(path, format)
    assert caught.value.code == code

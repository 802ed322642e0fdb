"""Memories in files: drafts, JSON Lines, Markdown, and what a path holds."""

import json
import os

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_host.transfer.comparison import compare
from dsh_mnemon_host.transfer.draft import Draft, read_draft
from dsh_mnemon_host.transfer.importing import import_draft
from dsh_mnemon_host.transfer.lines import read_lines
from dsh_mnemon_host.transfer.markdown import split_sections
from dsh_mnemon_host.transfer.pieces import MAX_BYTES, pieces
from dsh_mnemon_host.transfer.reading import read_paths
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
    read = read_draft(value)
    assert [memory.to_json() for memory in read.memories] == [
        {"content": "one", "category": "general", "importance": 3, "tags": [], "entities": [],
         "source": "cli"},
        {"content": "two", "category": "general", "importance": 3, "tags": [], "entities": [],
         "source": "user", "created_at": "2026-03-01T12:00:00Z"},
    ]  # fmt: skip
    assert [memory.source for memory in read.memories] == ["cli", "user"]
    assert read.edges[0].weight == 0.5


@pytest.mark.requirement("host:transfer:refused")
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "nothing that can be imported. What can: a draft"),
        ({"schema_version": "2", "insights": []}, '"2", only "1"'),
        ({"schema_version": ["1"], "insights": []}, "no text"),
        ({"schema_version": "1", "insights": {}}, "no array"),
        (draft("  "), r"insights\[0\]: content: it is blank"),
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
        read_draft(value)
    assert caught.value.code == "draft-invalid"


@pytest.mark.requirement("host:transfer:refused")
def test_lines_are_read_and_wrong_ones_are_named_and_left_out():
    text = """{"content": "a", "createdAt": "2026-01-01T00:00:00Z"}

{
{"content": 1}
"text"
{"content": " "}
{}
{"content": "b"}
"""
    read = read_lines(text, "l")
    assert [(m.content, m.created_at) for m in read.draft.memories] == [
        ("a", "2026-01-01T00:00:00Z"), ("b", None),
    ]  # fmt: skip
    assert read.files == ("l", "l")
    assert [(item.file, item.line, item.code) for item in read.failed] == [
        ("l", line, "draft-invalid") for line in (3, 4, 5, 6, 7)
    ]
    assert read.failed[0].message == (
        "it is no JSON: Expecting property name enclosed in double quotes (column 2)"
    )
    assert read.failed[3].message == "content: it is blank"
    assert str(read.failed[0].error()).startswith("l: line 3: it is no JSON")
    assert read_lines("[" * 200_000, "l").failed[0].line == 1


def test_drafts_are_joined_with_their_edges():
    parts = [read_draft(draft("a", "b", edges=[edge(0, 1)])) for _ in range(2)]
    joined = Draft.joined(parts)
    assert [memory.content for memory in joined.memories] == ["a", "b", "a", "b"]
    assert [(e.source_index, e.target_index) for e in joined.edges] == [(0, 1), (2, 3)]


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
    read = read_draft(draft(*(f"m{i}" for i in range(count)), edges=[edge(a, b) for a, b in pairs]))
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
    read = read_draft(draft("a", "b", "c", "d", edges=pairs))
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
    read = read_draft(draft(*contents, edges=[edge(a, b) for a, b in pairs]))
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
        await import_draft(read_draft(draft("a")), 2, full, lambda _: None)


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
    text = "fore\n# A\none\n```\n# no heading\n```\n## B #\ntwo\n# C\n"
    assert list(split_sections(text)) == [
        ((), "fore"),
        (("A",), "one\n```\n# no heading\n```"),
        (("A", "B"), "two"),
    ]


def test_a_folder_of_markdown_becomes_memories(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.md").write_text("hidden")
    (tmp_path / "sub" / "b.md").write_text("# Head\nbody", encoding="utf-8")
    (tmp_path / "a.markdown").write_text("x" * 9000, encoding="utf-8")
    (tmp_path / "blank.md").write_text("# Only a heading\n", encoding="utf-8")
    read = read_paths([tmp_path])
    memories = read.draft.memories
    assert [m.content.split("\n")[0] for m in memories] == [
        "a.markdown", "a.markdown", "sub/b.md › Head",
    ]  # fmt: skip
    assert all(len(m.content.encode()) <= MAX_BYTES for m in memories)
    assert memories[2].tags == ["b"]
    assert read.files == ("a.markdown", "a.markdown", "sub/b.md")
    assert (read.empty, read.failed) == (("blank.md",), ())


@pytest.fixture
def unnameable(tmp_path):
    """A folder with two files whose names are not UTF-8."""
    folder = tmp_path / "n"
    folder.mkdir()
    for name in (b"\xfe.md", b"\xff.md"):
        try:
            (folder / os.fsdecode(name)).write_bytes(name[:1].hex().encode())
        except OSError:
            pytest.skip("names of files are Unicode here")
    return folder


@pytest.mark.requirement("host:transfer:refused")
def test_a_name_that_is_no_utf_8_is_shown_and_no_obstacle(unnameable, tmp_path):
    read = read_paths([unnameable])
    assert [(memory.content, memory.tags) for memory in read.draft.memories] == [
        ("\\xfe.md\n\nfe", ["\\xfe"]), ("\\xff.md\n\nff", ["\\xff"]),
    ]  # fmt: skip
    assert read.files == ("\\xfe.md", "\\xff.md")
    bad = tmp_path / os.fsdecode(b"\xfd.json")
    bad.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"\\xfd\.json: it is no JSON"):
        read_paths([bad])
    bad.write_text('{"messages": []}', encoding="utf-8")
    with pytest.raises(InputError, match=r"nothing to import in .*\\xfd\.json"):
        read_paths([bad])


@pytest.mark.requirement("host:transfer:refused")
def test_what_cannot_be_read_of_a_folder_is_named_and_left_out(tmp_path):
    (tmp_path / "bad.md").write_bytes(b"ok\xff")
    (tmp_path / "good.md").write_text("words", encoding="utf-8")
    read = read_paths([tmp_path])
    assert [m.content for m in read.draft.memories] == ["good.md\n\nwords"]
    (failure,) = read.failed
    assert failure.to_json() == {
        "file": "bad.md", "code": "import-unreadable",
        "message": "it is not UTF-8 (byte 0xff at 2); save it as UTF-8 and import it again",
    }  # fmt: skip
    (tmp_path / "good.md").unlink()
    assert read_paths([tmp_path]).failed == (failure,)


@pytest.mark.requirement("host:transfer:refused")
def test_several_files_are_read_like_a_folder(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "n.md").write_text("note", encoding="utf-8")
    (tmp_path / "none").mkdir()
    lines, blank = tmp_path / "l.jsonl", tmp_path / "blank.jsonl"
    lines.write_text('{"content": "line"}\n{"content"', encoding="utf-8")
    blank.write_text("\n", encoding="utf-8")
    joined = tmp_path / "d.json"
    joined.write_text(json.dumps(draft("x", "y", edges=[edge(0, 1)])), encoding="utf-8")
    wrong = tmp_path / "w.json"
    wrong.write_text("{}", encoding="utf-8")
    deep = tmp_path / "deep.json"
    nested = "[" * 600 + '"x"' + "]" * 600
    deep.write_text(f'[{{"role": "user", "content": {nested}}}]', encoding="utf-8")
    paths = [tmp_path / "notes", lines, blank, joined, wrong, tmp_path / "none", tmp_path / "gone"]
    read = read_paths([*paths, deep])
    assert [m.content for m in read.draft.memories] == ["n.md\n\nnote", "line", "x", "y"]
    assert read.files[0] == str(tmp_path / "notes" / "n.md")
    assert [(e.source_index, e.target_index) for e in read.draft.edges] == [(2, 3)]
    assert read.empty == (str(blank),)
    assert [(item.file, item.line, item.code) for item in read.failed] == [
        (str(lines), 2, "draft-invalid"),
        (str(wrong), None, "draft-invalid"),
        (str(tmp_path / "none"), None, "import-empty"),
        (str(tmp_path / "gone"), None, "import-unreadable"),
        (str(deep), None, "draft-invalid"),
    ]
    with pytest.raises(InputError, match="nothing to import") as caught:
        read_paths([blank, blank])
    assert caught.value.code == "import-empty"


def test_one_markdown_file_and_a_byte_order_mark_are_read(tmp_path):
    file = tmp_path / "a.md"
    file.write_bytes("\ufeff# Head\nbody".encode())
    assert read_paths([file]).draft.memories[0].content == "a.md › Head\n\nbody"
    lines = tmp_path / "x.jsonl"
    lines.write_bytes("\ufeff".encode() + b'{"content": "l"}')
    assert read_paths([lines]).draft.memories[0].content == "l"


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(InputError, match="neither a file nor a folder"):
        read_paths([tmp_path / "pipe.json"])


# -- what a path holds ----------------------------------------------------------------------------


def test_the_form_is_seen_or_said(tmp_path):
    def first(path, *form):
        return read_paths([path], *form).draft.memories[0].content

    file = tmp_path / "x.json"
    file.write_text(json.dumps(draft("d")), encoding="utf-8")
    assert first(file) == "d"
    file.write_text(json.dumps([{"role": "user", "content": "A"}]), encoding="utf-8")
    assert first(file) == "Chat\n\nUser: A"
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"content": "l"}', encoding="utf-8")
    assert first(lines) == "l"
    assert first(lines, "jsonl") == "l"
    assert first(lines, "markdown") == 'x.jsonl\n\n{"content": "l"}'


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
        read_paths([path], format)
    assert caught.value.code == code
    assert str(path) in caught.value.message


@pytest.mark.requirement("host:transfer:refused")
def test_what_is_something_else_says_what_is_accepted(tmp_path):
    for name in ("weird.json", "notes.txt"):
        path = tmp_path / name
        path.write_text("{}" if name == "weird.json" else "some words", encoding="utf-8")
        with pytest.raises(InputError) as caught:
            read_paths([path])
        for word in (name, "insights", "chat export", "JSON Lines", "Markdown"):
            assert word in caught.value.message


# -- what is new ----------------------------------------------------------------------------------


class Pages:
    """A Space that is read in pages."""

    def __init__(self, *pages):
        self.listed = pages

    async def pages(self, operation, input):
        assert (operation, input["memoryBodyIds"]) == ("list", ["s"])
        for page in self.listed:
            yield page


@pytest.mark.requirement("host:transfer:dry-run")
async def test_what_is_there_already_is_told_from_what_is_new():
    pages = [{"items": [{"content": "a"}]}, {"items": [{"content": "b"}], "sources": [{}]}]
    texts = ["a", "new", " b\n", "new", "A"]
    compared = await compare(texts, Pages(*pages), "s")
    assert compared.new == (False, True, False, False, True)
    assert compared.unsure is None
    assert (await compare(["a", "a"], None)).new == (True, False)


@pytest.mark.requirement("host:transfer:dry-run")
@pytest.mark.parametrize(
    ("page", "words"),
    [
        ({"sources": [{"status": "unavailable", "hint": "locked"}]}, "locked"),
        ({"sources": [{"status": "unavailable"}]}, "no answer"),
        ({"truncated": True}, "the whole"),
    ],
)
async def test_a_comparison_that_is_not_certain_says_so(page, words):
    compared = await compare(["a"], Pages({"items": [], **page}), "s")
    assert compared.new == (True,)
    assert words in compared.unsure

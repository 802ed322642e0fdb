"""What stands before the text of a Markdown file."""

import pytest
from dsh_mnemon_host.transfer.front_matter import FrontMatter, read_front_matter
from dsh_mnemon_host.transfer.markdown import read_markdown
from hypothesis import example, given
from hypothesis import strategies as st


def about(block):
    return read_front_matter(f"---\n{block}\n---\nbody")[0]


@pytest.mark.requirement("host:transfer:front-matter")
@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ("title: People\ntags: [team, people]\ndate: 2026-03-01",
         FrontMatter(title="People", tags=("team", "people"), created="2026-03-01T00:00:00.000Z")),
        ("title: >\n  two\n  lines\ntags: one, '#two' , one",
         FrontMatter(title="two lines", tags=("one", "'#two'"))),
        ("tags:\n  - '#a'\n  - no\n  - 7", FrontMatter(tags=("a", "no", "7"))),
        ("date: 2026-01-01\ncreated: 2026-03-01T12:00:00+02:00",
         FrontMatter(created="2026-03-01T10:00:00.000Z")),
        ("title: 2026\nauthor: me\naliases: [x]\ntags:",
         FrontMatter(title="2026", ignored=("author", "aliases"))),
        ("", FrontMatter()),
        ("# a comment\ntitle: x", FrontMatter(title="x")),
    ],
)  # fmt: skip
def test_title_tags_and_date_are_kept(block, expected):
    assert read_front_matter(f"---\n{block}\n---\nbody") == (expected, "body")
    assert read_front_matter(f"--- \n{block}\n...\nbody") == (expected, "body")
    assert read_front_matter(f"---\n{block}\n---") == (expected, "")


@pytest.mark.requirement("host:transfer:front-matter")
def test_what_cannot_be_taken_as_it_stands_is_noted():
    long = "x" * 30
    odd = about(f"title: [a]\ntags: [[a], '{long}', b]\ncreated: soon\ndate: 2026-03-01")
    assert (odd.title, odd.tags, odd.created) == ("", (long[:25], "b"), "2026-03-01T00:00:00.000Z")
    assert [note.split()[1] for note in odd.notes] == ["title", "of", "tag", "created"]
    many = about("tags: [" + ", ".join(f"t{n}" for n in range(22)) + "]")
    assert (len(many.tags), len(many.notes)) == (20, 1)
    assert about("tags: {a: b}").notes == ("one of its tags is no text, and was ignored",)


@pytest.mark.requirement("host:transfer:front-matter")
@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("---\ntitle: a: b\n---\nbody", True),
        ("---\na: 1\na: 2\n---\nbody", True),
        ("---\na: \x07\n---\nbody", True),
        ("---\n" + "[" * 1200 + "\n---\nbody", True),
        ("---\nprose between lines\n---\nbody", False),
        ("---\na: " + "x" * 20_001 + "\n---\nbody", False),
        ("---\n# a heading between lines\n---\nbody", False),
        ("---\nno end", False),
        ("body\n---\na: 1\n---\n", False),
    ],
    ids=["colon", "twice", "control", "deep", "prose", "heading", "long", "open", "later"],
)
def test_what_is_no_front_matter_stays_text(text, noted):
    read, rest = read_front_matter(text)
    assert rest == text
    assert bool(read.notes) == noted
    assert (read.title, read.tags, read.created) == ("", (), None)


@given(st.text(alphabet="-\n:[]{}&*!|>'\"#, ab7", max_size=60))
@example("title: &a x\ntags: [&a y]")
def test_a_body_is_never_lost(block):
    _, rest = read_front_matter(f"---\n{block}\n---\nthe body")
    assert rest.endswith("the body")


@pytest.mark.requirement("host:transfer:front-matter")
def test_a_memory_carries_what_its_file_says(tmp_path):
    file = tmp_path / "people.md"
    file.write_text(
        "---\ntitle: People\ntags: team\ndate: 2026-03-01\nauthor: me\n---\n# People\nAnna\n",
        encoding="utf-8",
    )
    read = read_markdown(file, "people.md", "p")
    (memory,) = read.draft.memories
    assert memory.content == "people.md › People\n\nAnna"
    assert (memory.tags, memory.created_at) == (["team"], "2026-03-01T00:00:00.000Z")
    assert (read.ignored, read.notes) == ({"p": ("author",)}, ())
    file.write_text("---\ntitle: Staff\n---\n# People\nAnna", encoding="utf-8")
    (memory,) = read_markdown(file, "people.md", "p").draft.memories
    assert memory.content == "people.md › Staff › People\n\nAnna"
    assert memory.tags == []
    file.write_text("---\ntags: [team]\n---\nAnna", encoding="utf-8")
    assert read_markdown(file, "people.md", "p").draft.memories[0].tags == ["team", "people"]
    file.write_text("---\ntitle: a: b\n---\nAnna", encoding="utf-8")
    broken = read_markdown(file, "people.md", "p")
    assert broken.draft.memories[0].content.endswith("---\ntitle: a: b\n---\nAnna")
    assert broken.notes[0][0] == "p"
    file.write_text("---\ntitle: Only\n---\n", encoding="utf-8")
    assert read_markdown(file, "people.md", "p").empty == ("p",)

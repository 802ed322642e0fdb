"""``dsh-mnemon import`` and ``dsh-mnemon export``."""

import io
import json
import os
import sys

import pytest
from dsh_mnemon_host.cli import transfer
from dsh_mnemon_host.cli.main import main
from dsh_mnemon_host.people import People
from dsh_mnemon_host.transfer.export import Exported


def draft(*contents, edges=(), **more):
    insights = [{"content": content, **more} for content in contents]
    return {"schema_version": "1", "insights": insights, "edges": list(edges)}


def edge(source, target, **more):
    return {"source_index": source, "target_index": target, "edge_type": "causal", **more}


def contents(shell, space="Project"):
    out = shell("export", "--space", space)[1]
    return [item["content"] for item in json.loads(out)["insights"]]


@pytest.mark.requirement("host:cli:import")
def test_a_draft_is_checked_imported_and_imported_again(space, file):
    path = file(
        draft("one", "two", "three", edges=[edge(0, 1, weight=0.7, reason="so")], source="claude")
    )
    assert space("import", path, "--dry-run")[:2] == (
        0,
        "Dry run: 3 would be imported into Project, 0 there already, 0 empty, 0 failed, 1 link. "
        f"Nothing was imported.\n- [general] {path}: one\n- [general] {path}: two\n"
        f"- [general] {path}: three\n",
    )  # fmt: skip
    assert contents(space) == []
    code, out, _ = space("import", path)
    told = "3 imported into Project, 0 there already, 0 empty, 0 failed, 1 link\n"
    assert (code, out) == (0, told)
    again = space.json("import", path)
    assert (again["imported"], again["skipped"], again["errors"]) == (0, 3, [])
    assert sorted(contents(space)) == ["one", "three", "two"]
    (row,) = space.json("recall", "three")["results"]
    assert row["source"] == "claude"


@pytest.mark.requirement("host:cli:import")
def test_an_export_is_a_draft_that_imports_the_same(space, file):
    memory = {"category": "decision", "importance": 5, "tags": ["db"], "entities": ["Anna"]}
    value = draft("one", "two", edges=[edge(0, 1)], source="user",
                  created_at="2026-01-02T03:04:05Z", **memory)  # fmt: skip
    space("import", file(value))
    written = file("", "out.json")
    assert space.json("export", written, code=1)["error"]["code"] == "file-exists"
    told = space.json("export", written, "--force")
    assert told == {
        "file": str(written), "memoryBodyId": "default", "insights": 2, "edges": 1,
        "complete": True,
    }  # fmt: skip
    exported = json.loads(written.read_text(encoding="utf-8"))
    assert exported["insights"][0] == {
        "content": exported["insights"][0]["content"], **memory, "source": "user",
        "created_at": "2026-01-02T03:04:05Z",
    }  # fmt: skip
    space("spaces", "create", "Copy")
    copied = space.json("import", written, "--space", "Copy")
    assert (copied["imported"], copied["edges_inserted"]) == (2, 1)
    _, out, _ = space("export", written.with_name("b.json"), "--space", "Copy")
    assert out.startswith("2 memories and 1 link written to ")
    again = json.loads(written.with_name("b.json").read_text(encoding="utf-8"))
    assert again == exported


@pytest.mark.requirement("host:cli:import")
@pytest.mark.parametrize("kind", ["causal", "semantic", "supersedes"])
def test_links_that_somebody_drew_go_out_and_come_in_again(space, file, kind):
    drawn = {**edge(1, 0), "edge_type": kind, "weight": 0.7}
    space("import", file(draft("a first rule", "another thing", edges=[drawn])))
    exported = json.loads(space("export")[1])
    ends = {
        (exported["insights"][item["source_index"]]["content"],
         exported["insights"][item["target_index"]]["content"], item["edge_type"], item["weight"])
        for item in exported["edges"]
    }  # fmt: skip
    assert ends == {("another thing", "a first rule", kind, 0.7)}
    space("spaces", "create", "Copy")
    copied = space.json("import", file(exported, "again.json"), "--space", "Copy")
    assert (copied["edges_inserted"], copied["errors"]) == (1, [])


@pytest.mark.requirement("host:cli:import")
def test_lines_chats_and_folders_are_imported(space, file, tmp_path):
    lines = file('{"content": "a line"}\n{"content": "another"}\n', "x.jsonl")
    assert space.json("import", lines)["imported"] == 2
    chat = file([{"role": "user", "content": "Hello"}], "chat.json")
    assert space.json("import", chat, "--format", "chat")["imported"] == 1
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\nsome words, and more", encoding="utf-8")
    assert space.json("import", notes)["imported"] == 1
    out = space("export", "--format", "jsonl")[1]
    rows = [json.loads(line) for line in out.splitlines()]
    assert {row["content"] for row in rows} == {
        "a line", "another", "Chat\n\nUser: Hello", "a.md › A\n\nsome words, and more",
    }  # fmt: skip
    again = file(out, "again.jsonl")
    assert space.json("import", again)["skipped"] == 4


@pytest.mark.requirement("host:cli:import")
@pytest.mark.requirement("host:transfer:front-matter")
def test_a_folder_is_imported_but_for_what_cannot_be_read(space, notes):
    code, out, _ = space("import", notes)
    lines = out.splitlines()
    assert code == 1
    assert lines[:2] == [
        "3 imported into Project, 0 there already, 1 empty, 1 failed, 0 links", "empty: empty.md",
    ]  # fmt: skip
    assert lines[2].startswith("note: odd.md: its front matter is no YAML, so it was kept as text")
    assert lines[3] == (
        "! bad.md: it is not UTF-8 (byte 0xff at 0); save it as UTF-8 and import it again"
        " [import-unreadable]"
    )
    result = space.json("import", notes, code=1)
    assert (result["imported"], result["skipped"], result["empty"]) == (0, 3, ["empty.md"])
    assert [(item["file"], item["code"]) for item in result["failed"]] == [
        ("bad.md", "import-unreadable")
    ]
    assert result["ignored"] == {"people.md": ["author"]}
    assert [note["file"] for note in result["notes"]] == ["odd.md"]
    (people,) = [
        item
        for item in json.loads(space("export")[1])["insights"]
        if item["content"].startswith("people.md")
    ]
    assert people["content"] == "people.md › People\n\nAnna"
    assert (people["tags"], people["created_at"]) == (["team", "people"], "2026-03-01T00:00:00Z")
    error = space.json("import", notes / "bad.md", code=1)["error"]
    assert error["code"] == "import-unreadable"
    assert space.json("import", code=2)["error"]["code"] == "usage"


@pytest.mark.requirement("host:transfer:chats")
def test_conversations_become_exchanges(space, file):
    chats = [
        {"title": title, "created_at": "2026-01-01T00:00:00Z", "messages": [
            {"role": "user", "content": asked}, {"role": "assistant", "content": told}]}
        for title, asked, told in (
            ("Meeting", "When do we meet to look at the figures of the shop?", "Every Tuesday."),
            ("Dog", "What do you think of Rex as a name for the puppy of my sister?", "Nice name"),
        )
    ]  # fmt: skip
    assert space.json("import", file(chats))["imported"] == 2
    exported = json.loads(space("export")[1])
    assert {item["content"] for item in exported["insights"]} == {
        f"{chat['title']} (2026-01-01)\n\nUser: {chat['messages'][0]['content']}\n\n"
        f"Assistant: {chat['messages'][1]['content']}"
        for chat in chats
    }
    assert exported["edges"] == []


@pytest.mark.requirement("host:cli:import")
def test_what_is_no_draft_is_refused_before_anything_is_imported(space, file):
    many = [f"m{n}" for n in range(600)]
    for wrong in ({"content": ""}, {"content": "x", "importance": 6}, {"content": 7}):
        value = draft(*many)
        value["insights"].append(wrong)
        error = space.json("import", file(value), code=1)["error"]
        assert error["code"] == "draft-invalid"
        assert "insights[600]" in error["message"]
    assert contents(space) == []
    assert space.json("import", file("{}"), "--space", "x", code=1)["error"]["code"]
    assert space.json("import", "nowhere.json", code=1)["error"]["code"] == "import-unreadable"


@pytest.mark.requirement("host:cli:import")
def test_what_the_space_cannot_take_is_named_by_its_place_and_the_rest_goes_in(
    space, file, monkeypatch, tmp_path
):
    monkeypatch.setattr(transfer, "_BATCH", 3)
    value = draft(*(f"m{n}" for n in range(8)), edges=[edge(0, 1), edge(1, 2), edge(0, 6)])
    for place, wrong in (
        (1, {"content": "字" * 2731}),
        (2, {"tags": ["a,b"]}),
        (4, {"category": "chatter"}),
        (5, {"tags": ["t"] * 21}),
        (7, {"content": "x" * 8193}),
    ):
        value["insights"][place] |= wrong
    result = space.json("import", file(value), code=1)
    assert [(item["index"], item["code"]) for item in result["errors"]] == [
        (1, "invalid-input"), (2, "value-invalid"), (4, "category-unsupported"),
        (5, "array-too-long"), (7, "text-too-long"),
    ]  # fmt: skip
    assert result["errors"][0]["message"].startswith("content has 8193 bytes")
    assert {item["file"] for item in result["errors"]} == {str(tmp_path / "draft.json")}
    assert (result["imported"], result["edges_inserted"]) == (3, 1)
    assert sorted(contents(space)) == ["m0", "m3", "m6"]


@pytest.mark.requirement("host:cli:import")
def test_an_archived_original_of_8192_bytes_goes_out_and_comes_in_again(space, tmp_path):
    original = "字" * 2730 + "ab"
    assert len(original.encode("utf-8")) == 8192
    for text in (original, "x" * 3000):
        assert space("runtime", "add", "--target", "memory", text)[0] == 0
    assert original in contents(space)
    written = tmp_path / "all.json"
    space("export", written)
    space("spaces", "create", "Copy")
    copied = space.json("import", written, "--space", "Copy")
    assert (copied["imported"], copied["errors"]) == (len(contents(space)), [])
    assert sorted(contents(space, "Copy")) == sorted(contents(space))


@pytest.mark.requirement("host:cli:import")
@pytest.mark.parametrize("form", ["draft", "jsonl"])
def test_an_export_is_the_same_json_where_the_output_is_ascii(space, form, monkeypatch):
    texts = ["naïve 字 😀", "plain"]
    for text in texts:
        space("remember", text)
    raw = io.BytesIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
        assert main(["export", "--format", form], default_profile=space.profile) == 0
        written = raw.getvalue().decode("ascii")
    rows = [json.loads(line) for line in written.splitlines()] if form == "jsonl" else (
        json.loads(written)["insights"]
    )  # fmt: skip
    assert sorted(row["content"] for row in rows) == sorted(texts)


@pytest.mark.requirement("host:cli:import")
def test_an_import_that_was_cut_off_is_run_again_without_doubles(space, file, monkeypatch):
    monkeypatch.setattr(transfer, "_BATCH", 2)
    value = draft(*(f"m{n}" for n in range(5)), edges=[edge(0, 4), edge(1, 0), edge(2, 3)])
    path = file(value)
    from dsh_mnemon_core.errors import StorageError

    change, calls = People.change, []

    async def cut(self, *arguments, **named):
        calls.append(arguments)
        if len(calls) == 2:
            raise StorageError("disk-full", "no room")
        return await change(self, *arguments, **named)

    monkeypatch.setattr(People, "change", cut)
    assert space.json("import", path, code=1)["error"]["code"] == "disk-full"
    assert len(contents(space)) == 2
    done = space.json("import", path)
    assert (done["imported"], done["skipped"], done["edges_inserted"]) == (3, 2, 3)
    assert len(contents(space)) == 5


@pytest.mark.requirement("host:cli:import")
def test_memories_that_failed_are_named_by_their_places(space, file, monkeypatch):
    monkeypatch.setattr(transfer, "_BATCH", 2)
    from dsh_mnemon_core.sdk import ManagementResult

    async def partly(self, _type, _operation, request, **_):
        count = len(request["insights"])
        alone = {"index": None, "code": "edges-unsupported", "message": "left out"}
        first = {"index": count - 1, "code": "disk-full", "message": "no room"}
        counts = {"imported": count - 1, "skipped": 0, "updated": 0, "edges_inserted": 0}
        value = {**counts, "accepted": 1, "errors": [first, *([alone] if request["edges"] else [])]}
        return ManagementResult(revision="r", value=value)

    monkeypatch.setattr(People, "change", partly)
    path = file(draft("a", "b", "c", edges=[edge(0, 2)]))
    result = space.json("import", path, code=1)
    assert [item["index"] for item in result["errors"]] == [1, 2, None]
    assert (result["imported"], result["accepted"]) == (1, 2)
    code, out, _ = space("import", path)
    assert code == 1
    assert "2 were accepted, but are not proven durable yet" in out
    rows = [line for line in out.splitlines() if line.startswith("! ")]
    assert rows == [
        f'! {path}, "b": no room [disk-full]',
        f'! {path}, "c": no room [disk-full]',
        "! left out [edges-unsupported]",
    ]


@pytest.mark.requirement("host:cli:import")
def test_memories_that_were_brought_back_are_counted(space, file, monkeypatch):
    from dsh_mnemon_core.sdk import ManagementResult

    async def back(self, *_, **__):
        counts = {"imported": 2, "brought_back": 1, "skipped": 0, "edges_inserted": 0}
        return ManagementResult(revision="r", value={**counts, "errors": []})

    monkeypatch.setattr(People, "change", back)
    path = file(draft("a", "b"))
    assert space.json("import", path)["brought_back"] == 1
    assert space("import", path)[1].startswith(
        "2 imported into Project, of them 1 brought back (forgotten before), 0 there already"
    )


@pytest.mark.requirement("host:cli:import")
def test_a_forgotten_memory_is_in_no_export(space):
    kept = space.json("remember", "to be forgotten")["result"]["id"]
    space("remember", "to be kept")
    space("forget", kept)
    assert contents(space) == ["to be kept"]


def test_a_long_space_is_exported_whole(space, file):
    value = draft(*(f"memory number {n}" for n in range(1203)))
    assert space.json("import", file(value))["imported"] == 1203
    assert len(set(contents(space))) == 1203


def test_an_export_that_cannot_be_written_says_so(space, tmp_path):
    (tmp_path / "file").write_text("x")
    code, _, err = space("export", tmp_path / "file" / "x.json")
    assert code == 1
    assert str(tmp_path / "file") in err


def test_an_incomplete_export_says_so(space, monkeypatch):
    async def cut(*_):
        draft = {"schema_version": "1", "insights": [], "edges": []}
        return Exported(draft=draft, gaps=("the Provider cannot give more than one page",))

    monkeypatch.setattr(transfer, "read_space", cut)
    code, out, err = space("export")
    assert code == 1
    assert json.loads(out)["insights"] == []
    assert "this is not all" in err


def test_a_bar_is_shown_to_a_person(space, file, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert space("import", file(draft("a", "b")))[0] == 0
    assert "importing" in terminal.getvalue()


@pytest.mark.requirement("host:cli:import")
def test_an_export_of_a_store_that_cannot_be_read_replaces_nothing(space, file, tmp_path):
    space("import", file(draft("one", "two")))
    backup = tmp_path / "backup.json"
    assert space("export", backup)[0] == 0
    kept = backup.read_bytes()
    database = space.data / "data" / "default" / "mnemon.db"
    database.write_bytes(database.read_bytes()[:5000])
    error = space.json("export", backup, "--force", code=1)["error"]
    assert error["code"] == "export-unreadable"
    assert "mnemon.db" in error["message"]
    assert backup.read_bytes() == kept


@pytest.mark.requirement("host:cli:import")
def test_an_export_replaces_regular_files_only_and_follows_links(space, file, tmp_path):
    space("import", file(draft("one")))
    os.mkfifo(tmp_path / "pipe")
    for target in (tmp_path / "pipe", tmp_path):
        error = space.json("export", target, "--force", code=1)["error"]
        assert error["code"] == "file-not-regular"
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("{}")
    link.symlink_to(real)
    assert space("export", link)[0] == 1
    assert space("export", link, "--force")[0] == 0
    assert link.is_symlink()
    assert json.loads(real.read_text())["insights"][0]["content"] == "one"

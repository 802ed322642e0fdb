"""``dsh-mnemon documents``."""

import io
import json
import os
import sys

import pytest
from dsh_mnemon_host.people import People


def make(shell, title="Release", content="Build with nox.", *more):
    answer = shell.json("documents", "create", title, "--content", content, *more)
    return answer["document"]["id"]


@pytest.mark.requirement("host:cli:documents")
def test_a_document_is_created_read_changed_archived_and_restored(whole, tmp_path):
    body = tmp_path / "release.md"
    body.write_text("# Release\n\n先打标签\n", encoding="utf-8")
    code, out, _ = whole(
        "documents", "create", "发布流程", body, "--description", "How", "--path", "nox.py"
    )
    assert code == 0
    assert out.startswith("created: 发布流程 [")
    listed = whole.json("documents", "list")
    (row,) = listed["documents"]
    id = row["id"]
    assert row["sourcePaths"] == ["nox.py"]
    assert whole("documents", "read", id)[1] == "# Release\n\n先打标签\n"
    assert whole.json("documents", "read", id)["revision"] == 1
    changed = whole.json(
        "documents", "update", id, "--content", "new", "--revision", "1", "--title", "New"
    )
    assert (changed["document"]["title"], changed["document"]["revision"]) == ("New", 2)
    stale = ("documents", "update", id, "--content", "x", "--revision", "1")
    assert whole.json(*stale, code=1)["error"]["code"] == "revision-conflict"
    code, out, _ = whole("documents", "history", id)
    assert out.startswith("r1  until ")
    assert out.endswith("  15 characters\n")
    assert [item["revision"] for item in whole.json("documents", "history", id)["revisions"]] == [1]
    whole("documents", "restore", id, "--revision", "1")
    assert "先打标签" in whole("documents", "read", id)[1]
    code, out, _ = whole("documents", "archive", id, "--revision", "3")
    assert (code, out) == (0, f"archived: New [{id}]\n1 document archived, without an index.\n")
    back = whole.json("documents", "restore", id)
    assert (back["action"], back["document"]["id"] != id) == ("created", True)


@pytest.mark.requirement("host:cli:documents")
def test_documents_are_listed_and_searched(whole):
    first = make(whole, "First", "release words")
    make(whole, "Second", "other words", "--description", "About others")
    whole("documents", "archive", first)
    _, out, _ = whole("documents", "list")
    lines = out.splitlines()
    assert lines[0].startswith("1 active, 1 archived, ")
    assert lines[1].startswith("- Second [")
    assert lines[2] == "    About others"
    assert f"- First (archived) [{first}] r2" in whole("documents", "list", "--archived")[1]
    assert whole("documents", "search", "release")[1] == "Nothing was found.\n"
    assert "First" in whole("documents", "search", "release", "--archived")[1]
    found = whole.json("documents", "search", "words", "--archived", "--limit", "1")
    assert found["total"] == 1
    assert len(whole.json("documents", "search")["results"]) == 1


@pytest.mark.requirement("host:cli:documents")
def test_an_archive_goes_to_a_memory_space_where_there_is_one(space):
    id = make(space)
    _, out, _ = space("documents", "archive", id)
    assert out.splitlines()[1] == "1 document archived, indexed in 1 Memory Space(s)."
    (row,) = space.json("recall", "Release")["results"]
    assert f"Document ID: {id}" in row["content"]
    assert space.json("documents", "archive", id, code=1)["error"]["code"] == "document-archived"


def test_a_body_comes_from_one_place(whole, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("from the pipe"))
    assert whole("documents", "create", "Piped", "-")[0] == 0
    assert "from the pipe" in whole("documents", "search", "pipe", "--json")[1]
    for arguments in (
        ("create", "x"),
        ("create", "x", "a.md", "--content", "y"),
        ("update", "x"),
        ("update", "x", "--revision", "1"),
    ):
        assert whole.json("documents", *arguments, code=2)["error"]["code"] == "usage"
    bad = tmp_path / "bad.md"
    bad.write_bytes(b"\xff")
    for file in (bad, tmp_path / "nowhere.md"):
        error = whole.json("documents", "create", "x", file, code=1)["error"]
        assert error["code"] == "file-unreadable"
        assert error["message"].count(str(file)) == 1
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff"), encoding="utf-8"))
    error = whole.json("documents", "create", "x", "-", code=1)["error"]
    assert error["message"].startswith("standard input is not UTF-8 (byte 0xff at 0)")
    assert (
        whole.json("documents", "read", "nobody", code=1)["error"]["code"] == "document-not-found"
    )


@pytest.mark.requirement("host:cli:documents")
def test_a_search_shows_the_passage(whole):
    make(whole, "Release", "intro " * 100 + "roll the migration back " + "outro " * 100)
    _, out, _ = whole("documents", "search", "migration")
    row, passage = out.splitlines()
    assert row.startswith("- Release [")
    assert passage.startswith("    …intro ")
    assert "roll the migration back" in passage
    for limit in ("0", "51"):
        assert whole("documents", "search", "x", "--limit", limit)[0] == 2


@pytest.mark.requirement("host:cli:documents")
def test_a_document_is_named_by_its_title_or_the_beginning_of_its_id(whole):
    assert "there is none yet" in whole("documents", "read", "nobody")[2]
    id = make(whole, "Release Checklist", "one")
    other = make(whole, "Other", "two")
    assert whole("documents", "read", "release  checklist")[1] == "one\n"
    assert whole("documents", "read", id[:4].upper())[1] == "one\n"
    whole("documents", "update", id[:6], "--content", "three")
    assert whole("documents", "history", "RELEASE CHECKLIST")[1].startswith("r1  until ")
    assert whole("documents", "restore", "release checklist", "--revision", "1")[0] == 0
    assert whole("documents", "read", id)[1] == "one\n"
    for unknown in (id[:3], "Release Checklst", "nobody"):
        error = whole.json("documents", "archive", unknown, code=1)["error"]
        assert error["code"] == "document-not-found"
        assert f"[{other}]" in error["message"]
    assert "did you mean 'Release Checklist'?" in whole("documents", "read", "Release Checklst")[2]
    # Archived: still found, but an active one of the title is rather meant.
    whole("documents", "archive", "Release Checklist")
    assert whole("documents", "read", "Release Checklist")[1] == "one\n"
    copy = whole.json("documents", "restore", "Release Checklist")["document"]["id"]
    assert copy != id
    assert whole.json("documents", "read", "Release Checklist")["id"] == copy
    assert whole.json("documents", "restore", "Release Checklist")["document"]["id"] != copy
    error = whole.json("documents", "read", "Release Checklist", code=1)["error"]
    assert error["code"] == "document-ambiguous"
    assert copy in error["message"]
    assert id not in error["message"]


@pytest.mark.requirement("host:cli:documents")
def test_an_error_names_at_most_five_documents(whole):
    for number in range(7):
        make(whole, "Same", f"text {number}")
    message = whole.json("documents", "read", "same", code=1)["error"]["message"]
    assert message.count("Same [") == 5
    assert "and 2 more" in message
    message = whole.json("documents", "read", "none", code=1)["error"]["message"]
    assert message.count("Same [") == 5


@pytest.mark.requirement("host:cli:documents")
def test_a_second_document_of_a_title_is_told(whole):
    id = make(whole, "Release", "one")
    _, out, _ = whole("documents", "create", "release", "--content", "two")
    assert out.splitlines()[1] == f"! there is another document of this title: {id}"
    whole("documents", "archive", id)
    whole("documents", "restore", id)
    assert "! there is another document of this title: " in whole("documents", "restore", id)[1]


@pytest.mark.requirement("host:cli:documents")
def test_a_replaced_text_that_could_not_be_read_is_told(whole):
    id = make(whole)
    record = whole.json("documents", "read", id)
    (whole.data / record["relativePath"]).write_bytes(b"\xff\xfe")
    kept = f"documents/.history/{id}/1.md"
    _, out, _ = whole("documents", "update", id, "--content", "agent")
    assert out.splitlines()[1].startswith("! the text before could not be read (not-unicode)")
    assert out.splitlines()[1].endswith(kept)
    _, out, _ = whole("documents", "history", id)
    assert out.endswith(f"  cannot be read (not-unicode): {kept}\n")
    assert (whole.data / kept).read_bytes() == b"\xff\xfe"


@pytest.mark.requirement("host:cli:documents")
def test_lost_documents_are_told_and_taken_back(whole):
    kept = whole.json("documents", "create", "Kept", "--content", "one")["document"]
    lost = whole.json("documents", "create", "Lost", "--content", "two")["document"]
    index = whole.data / "documents" / "index.json"
    stored = json.loads(index.read_text(encoding="utf-8"))
    stored["documents"] = [row for row in stored["documents"] if row["id"] == kept["id"]]
    index.write_text(json.dumps(stored), encoding="utf-8")
    assert "1 file(s) no record names" in whole("documents", "list")[1]
    assert "documents adopt" in whole("doctor")[1]
    error = whole.json("documents", "import", whole.data / "documents" / "active", code=1)["error"]
    assert error["code"] == "import-managed"
    code, out, _ = whole("documents", "adopt")
    assert (code, out) == (0, f"adopted: Lost [{lost['id']}]\n")
    assert whole("documents", "adopt")[1] == "There is nothing to adopt.\n"
    assert "two" in whole("documents", "read", lost["id"])[1]
    foreign = whole.data / "documents" / "active" / "foreign.md"
    foreign.write_text("no front matter", encoding="utf-8")
    code, out, _ = whole("documents", "adopt", "documents/active/foreign.md")
    assert code == 1
    assert out.startswith("! documents/active/foreign.md: ")
    assert whole.json("documents", "adopt", code=1)["adopted"] == []


@pytest.mark.requirement("host:cli:documents")
def test_a_text_changed_by_hand_is_a_warning(whole):
    document = whole.json("documents", "create", "Mine", "--content", "one")["document"]
    file = whole.data / document["relativePath"]
    file.write_text(file.read_text(encoding="utf-8") + "\nby hand\n", encoding="utf-8")
    assert "warning  documents: Mine" in whole("doctor")[1]
    assert "by hand" in whole("documents", "read", document["id"])[1]


@pytest.mark.requirement("host:cli:documents")
def test_a_body_that_cannot_be_read_is_told(whole):
    id = make(whole)
    record = whole.json("documents", "read", id)
    (whole.data / record["relativePath"]).write_bytes(b"\xff\xfe")
    assert f"! Release [{id}] cannot be read: " in whole("documents", "search", "nox")[1]
    assert whole.json("documents", "read", id, code=1)["error"]["code"] == "document-unreadable"
    (whole.data / "documents" / "active" / "stray.md").write_text("x", encoding="utf-8")
    findings = whole.json("doctor", code=1)["findings"]
    codes = {item.get("code"): item for item in findings}
    assert codes["document-unreadable"]["subject"] == f"Release [{id}]"
    assert codes["document-unindexed"]["subject"] == "documents/active/stray.md"


# -- a folder -------------------------------------------------------------------------------------


@pytest.fixture
def docs(tmp_path):
    folder = tmp_path / "docs"
    (folder / "sub").mkdir(parents=True)
    (folder / "a.md").write_text("intro\n# Alpha  #\none", encoding="utf-8")
    (folder / "sub" / "b.md").write_text("no heading", encoding="utf-8")
    (folder / "empty.md").write_text(" \n", encoding="utf-8")
    return folder


@pytest.mark.requirement("host:cli:documents-import")
def test_a_folder_is_imported_once_and_brought_up_to_date(whole, docs):
    assert whole("documents", "import", docs, "--dry-run")[:2] == (
        0,
        "Dry run: 2 would be created, 0 would be updated, 0 unchanged, 1 empty, 0 failed. "
        "Nothing was imported.\n- a.md: Alpha (would be created)\n"
        "- sub/b.md: b (would be created)\nempty: empty.md\n",
    )  # fmt: skip
    assert whole.json("documents", "list")["total"] == 0
    assert whole("documents", "import", docs)[1] == (
        "2 created, 0 updated, 0 unchanged, 1 empty, 0 failed\nempty: empty.md\n"
    )
    titles = {row["title"] for row in whole.json("documents", "list")["documents"]}
    assert titles == {"Alpha", "b"}
    (docs / "a.md").write_text("# Alpha\ntwo", encoding="utf-8")
    planned = whole.json("documents", "import", docs, "--dry-run")
    assert (planned["updated"], planned["unchanged"]) == (1, 1)
    done = whole.json("documents", "import", docs)
    assert done == {
        "dryRun": False, "created": 0, "updated": 1, "unchanged": 1, "empty": ["empty.md"],
        "failed": [], "documents": [
            {"file": "a.md", "title": "Alpha", "action": "updated"},
            {"file": "sub/b.md", "title": "b", "action": "unchanged"},
        ],
    }  # fmt: skip
    assert planned == {**done, "dryRun": True}
    assert whole.json("documents", "import", docs)["unchanged"] == 2
    assert whole.json("documents", "search", "two")["total"] == 1


@pytest.mark.requirement("host:cli:documents-import")
def test_names_that_are_no_utf_8_are_shown_and_told_apart(whole, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in (b"\xfe.md", b"\xff.md"):
        try:
            (folder / os.fsdecode(name)).write_text(f"text of {name[0]}", encoding="utf-8")
        except OSError:
            pytest.skip("names of files are Unicode here")
    done = whole.json("documents", "import", folder)
    assert [(item["file"], item["title"], item["action"]) for item in done["documents"]] == [
        ("\\xfe.md", "\\xfe", "created"), ("\\xff.md", "\\xff", "created"),
    ]  # fmt: skip
    assert whole.json("documents", "import", folder)["unchanged"] == 2


@pytest.mark.requirement("host:cli:documents-import")
def test_files_of_one_title_are_told_apart(whole, docs):
    (docs / "sub" / "a.md").write_text("# Alpha\nanother", encoding="utf-8")
    (docs / "long.md").write_text("# " + "x" * 300, encoding="utf-8")
    assert whole.json("documents", "import", docs)["created"] == 4
    titles = {row["title"] for row in whole.json("documents", "list")["documents"]}
    assert titles == {"Alpha (a.md)", "Alpha (sub/a.md)", "b", "x" * 160}
    assert whole.json("documents", "import", docs)["unchanged"] == 4


def test_a_folder_without_a_text_is_no_fault(whole, tmp_path):
    (tmp_path / "empty.md").write_text("\n", encoding="utf-8")
    assert whole("documents", "import", tmp_path)[:2] == (
        0,
        "0 created, 0 updated, 0 unchanged, 1 empty, 0 failed\nempty: empty.md\n",
    )


def test_what_fails_is_named_and_the_rest_is_imported(whole, docs):
    (docs / "huge.md").write_text("x" * 1_000_001, encoding="utf-8")
    result = whole.json("documents", "import", docs, code=1)
    assert (result["created"], [item["file"] for item in result["failed"]]) == (2, ["huge.md"])
    assert "! huge.md: " in whole("documents", "import", docs)[1]
    (docs / "bad.md").write_bytes(b"\xff")
    (docs / "late.md").write_text("# Late\n\ntext", encoding="utf-8")
    result = whole.json("documents", "import", docs, code=1)
    failed = {item["file"]: item["code"] for item in result["failed"]}
    assert (result["created"], failed["bad.md"]) == (1, "import-unreadable")
    assert "save it as UTF-8" in whole("documents", "import", docs)[1]
    error = whole.json("documents", "import", docs / "a.md", code=1)["error"]
    assert error["code"] == "import-unreadable"


@pytest.mark.requirement("host:cli:documents-import")
def test_a_text_that_is_cleaned_is_not_changed_again(whole, docs):
    (docs / "nul.md").write_bytes(b"# Nul\n\na\0b\n")
    assert whole.json("documents", "import", docs)["created"] == 3
    assert whole.json("documents", "import", docs, "--dry-run")["unchanged"] == 3
    assert whole.json("documents", "import", docs)["unchanged"] == 3
    assert whole.json("documents", "read", "Nul")["revision"] == 1


@pytest.mark.requirement("host:cli:documents-import")
def test_many_files_are_taken_in_by_few_changes(whole, tmp_path, monkeypatch):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(130):
        (folder / f"{number:03}.md").write_text(f"text {number}", encoding="utf-8")
    # Large ones do not wait for each other.
    for number in range(5):
        (folder / f"large{number}.md").write_text("x" * 990_000, encoding="utf-8")
    changes = []
    change = People.change

    async def counted(self, type_id, operation, given, **more):
        changes.append(len(given["documents"]))
        return await change(self, type_id, operation, given, **more)

    monkeypatch.setattr(People, "change", counted)
    result = whole.json("documents", "import", folder)
    assert (result["created"], result["failed"]) == (135, [])
    assert changes == [64, 64, 6, 1]
    assert [item["file"] for item in result["documents"]] == sorted(
        path.name for path in folder.iterdir()
    )


@pytest.mark.requirement("host:cli:documents-import")
def test_room_is_made_for_what_is_imported(whole, docs):
    whole.profile.write_text(
        whole.profile.read_text(encoding="utf-8").replace(
            "module: dsh_mnemon_source_documents}",
            "module: dsh_mnemon_source_documents, config: {limitBytes: 1200}}",
        ),
        encoding="utf-8",
    )
    old = make(whole, "Old", "x" * 300)
    (docs / "a.md").write_text("# Alpha\n" + "y" * 300, encoding="utf-8")
    assert whole.json("documents", "import", docs, "--dry-run")["created"] == 2
    result = whole.json("documents", "import", docs)
    assert (result["created"], result["failed"]) == (2, [])
    assert whole.json("documents", "read", old)["status"] == "archived"
    (docs / "sub" / "b.md").write_text("z" * 500, encoding="utf-8")
    assert whole.json("documents", "import", docs, "--dry-run")["updated"] == 1
    assert whole.json("documents", "import", docs)["updated"] == 1
    (docs / "a.md").unlink()
    (docs / "sub" / "b.md").write_text("z" * 1200, encoding="utf-8")
    (failed,) = whole.json("documents", "import", docs, code=1)["failed"]
    assert (failed["file"], failed["code"]) == ("sub/b.md", "document-capacity")


@pytest.mark.requirement("host:cli:documents-import")
def test_a_store_that_refuses_everything_fails_every_file(whole, docs):
    (whole.data / "documents").mkdir(parents=True)
    (whole.data / "documents" / "active").write_text("in the way", encoding="utf-8")
    failed = whole.json("documents", "import", docs, code=1)["failed"]
    assert [(item["file"], item["code"]) for item in failed] == [
        ("a.md", "store-unwritable"),
        ("sub/b.md", "store-unwritable"),
    ]
    whole.configure("writeEnabled: false\n")
    assert whole.json("documents", "import", docs, code=1)["error"]["code"] == "writes-disabled"

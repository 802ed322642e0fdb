"""``dsh-mnemon documents``."""

import io
import json
import sys

import pytest


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
        assert error["code"] == "import-unreadable"
    assert (
        whole.json("documents", "read", "nobody", code=1)["error"]["code"] == "document-not-found"
    )


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
        0, "Dry run: 2 created, 0 updated, 0 unchanged, 0 failed\n",
    )  # fmt: skip
    assert whole.json("documents", "list")["total"] == 0
    assert whole("documents", "import", docs)[1] == "2 created, 0 updated, 0 unchanged, 0 failed\n"
    titles = {row["title"] for row in whole.json("documents", "list")["documents"]}
    assert titles == {"Alpha", "b"}
    (docs / "a.md").write_text("# Alpha\ntwo", encoding="utf-8")
    planned = whole.json("documents", "import", docs, "--dry-run")
    assert (planned["updated"], planned["unchanged"]) == (1, 1)
    done = whole.json("documents", "import", docs)
    assert done == {"dryRun": False, "created": 0, "updated": 1, "unchanged": 1, "failed": []}
    assert whole.json("documents", "import", docs)["unchanged"] == 2
    assert whole.json("documents", "search", "two")["total"] == 1


@pytest.mark.requirement("host:cli:documents-import")
def test_files_of_one_title_are_told_apart(whole, docs):
    (docs / "sub" / "a.md").write_text("# Alpha\nanother", encoding="utf-8")
    (docs / "long.md").write_text("# " + "x" * 300, encoding="utf-8")
    assert whole.json("documents", "import", docs)["created"] == 4
    titles = {row["title"] for row in whole.json("documents", "list")["documents"]}
    assert titles == {"Alpha (a.md)", "Alpha (sub/a.md)", "b", "x" * 160}
    assert whole.json("documents", "import", docs)["unchanged"] == 4


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
    error = whole.json("documents", "import", docs / "a.md", code=1)["error"]
    assert error["code"] == "import-unreadable"

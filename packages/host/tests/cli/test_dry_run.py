"""``dsh-mnemon import --dry-run``."""

import json

import pytest
from dsh_mnemon_host.cli import transfer


def draft(*contents, edges=(), **more):
    insights = [{"content": content, **more} for content in contents]
    return {"schema_version": "1", "insights": insights, "edges": list(edges)}


def edge(source, target):
    return {"source_index": source, "target_index": target, "edge_type": "causal"}


def contents(shell):
    return [item["content"] for item in json.loads(shell("export")[1])["insights"]]


@pytest.mark.requirement("host:transfer:dry-run")
def test_a_dry_run_shows_what_is_new(space, notes, file):
    space("remember", "a.md\n\nwords")
    many = file("".join(f'{{"content": "m{n} {"x" * 99}"}}\n' for n in range(25)), "many.jsonl")
    lines = space("import", notes, many, "--dry-run")[1].splitlines()
    assert lines[0] == (
        "Dry run: 27 would be imported into Project, 1 there already, 1 empty, 1 failed, 0 links. "
        "Nothing was imported."
    )
    assert lines[1] == f"- [context] {notes / 'a.md'}: a.md words (there already)"
    assert lines[4] == f"- [general] {many}: m0 {'x' * 76}…"
    assert lines[21] == "... and 8 more; --json lists them all"
    assert space("import", notes, "--dry-run")[1].splitlines()[1:3] == [
        "- [context] a.md words (there already)",
        "- [context] odd.md --- title: a: b --- kept",
    ]
    told = space.json("import", notes, many, "--dry-run", code=1)
    assert (told["dryRun"], told["memoryBodyId"], told["insights"]) == (True, "default", 28)
    assert (told["imported"], told["skipped"], told["edges"]) == (27, 1, 0)
    assert [len(told[key]) for key in ("memories", "empty", "failed")] == [28, 1, 1]
    assert told["memories"][0] == {
        "file": str(notes / "a.md"), "new": False, "content": "a.md\n\nwords",
        "category": "context", "importance": 3, "tags": ["a"], "entities": [],
        "source": "external", "created_at": told["memories"][0]["created_at"],
    }  # fmt: skip
    assert contents(space) == ["a.md\n\nwords"]


@pytest.mark.requirement("host:transfer:dry-run")
def test_a_dry_run_names_what_the_import_refuses(space, file, tmp_path, monkeypatch):
    monkeypatch.setattr(transfer, "_BATCH", 3)
    value = draft(*(f"m{n}" for n in range(8)), edges=[edge(0, 1), edge(0, 7)])
    for place, wrong in (
        (1, {"created_at": "2020-01-01"}),
        (2, {"tags": ["a,b"]}),
        (3, {"entities": ["e"] * 51}),
        (4, {"category": "chatter"}),
        (5, {"content": "字" * 2731}),
        (6, {"content": " m0 "}),
    ):
        value["insights"][place] |= wrong
    path = file(value)
    code, out, _ = space("import", path, "--dry-run")
    lines = out.splitlines()
    assert code == 1
    assert lines[0].startswith(
        "Dry run: 2 would be imported into Project, 1 there already, 0 empty, 5 failed, 1 link."
    )
    assert lines[1:4] == [
        f"- [general] {path}: m0", f"- [general] {path}: m0 (there already)",
        f"- [general] {path}: m7",
    ]  # fmt: skip
    assert lines[5] == f'! {path}, "m2": tags must not contain a comma [value-invalid]'
    tried = space.json("import", path, "--dry-run", code=1)
    assert contents(space) == []
    result = space.json("import", path, code=1)
    assert tried["errors"] == result["errors"]
    assert [error["index"] for error in result["errors"]] == [1, 2, 3, 4, 5]
    assert (tried["imported"], tried["skipped"], tried["edges"], tried["insights"]) == (2, 1, 1, 8)
    assert (result["imported"], result["skipped"], result["edges_inserted"]) == (2, 1, 1)


@pytest.mark.requirement("host:transfer:dry-run")
def test_a_dry_run_without_a_space_names_what_every_space_refuses(whole, file):
    told = whole.json("import", file(draft("one", category="chatter")), "--dry-run", code=1)
    assert [error["code"] for error in told["errors"]] == ["category-unsupported"]
    assert (told["insights"], told["imported"], told["memories"]) == (1, 0, [])


@pytest.mark.requirement("host:transfer:dry-run")
def test_a_dry_run_needs_no_space_but_says_so(whole, file):
    path = file(draft("one"))
    code, out, _ = whole("import", path, "--dry-run")
    assert code == 0
    assert out.startswith("Dry run: 1 would be imported, 0 there already")
    assert "Not everything was compared: " in out
    told = whole.json("import", path, "--dry-run")
    assert (told["memoryBodyId"], "spaces create" in told["unsure"]) == (None, True)
    error = whole.json("import", path, "--dry-run", "--space", "x", code=1)["error"]
    assert error["code"] == "space-unknown"

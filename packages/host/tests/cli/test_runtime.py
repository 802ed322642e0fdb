"""``dsh-mnemon runtime``."""

import io
import sys

import pytest


@pytest.mark.requirement("host:cli:runtime")
def test_entries_are_added_listed_replaced_and_removed(shell):
    code, out, _ = shell("runtime", "add", "--target", "user", "Prefers short answers")
    assert (code, out) == (0, "Entry added. (21 of 4096 bytes used)\n")
    shell("runtime", "add", "--target", "memory", "Build with nox", "--importance", "critical",
          "--branch", "main", "--branch", "next")  # fmt: skip
    shell("runtime", "add", "--target", "memory", "Passing", "--importance", "low")
    code, out, _ = shell("runtime", "list")
    assert code == 0
    assert out.splitlines() == [
        "MEMORY.md: 2 entries, 25 of 10240 bytes",
        "  ! Build with nox [main, next]",
        "  - Passing",
        "",
        "USER.md: 1 entries, 21 of 4096 bytes",
        "  * Prefers short answers",
    ]
    replaced = shell.json("runtime", "replace", "--target", "user", "short", "Prefers tea")
    assert replaced["replaced"] == {"from": "Prefers short answers", "to": "Prefers tea"}
    removed = shell.json("runtime", "remove", "--target", "memory", "Passing")
    assert set(removed) == {
        "success", "message", "target", "entryCount", "usage", "removed", "revision",
    }  # fmt: skip
    listed = shell.json("runtime", "list", "--target", "user")
    assert [entry["content"] for entry in listed["entries"]] == ["Prefers tea"]
    assert list(listed["targets"]) == ["user"]


def test_options_may_stand_before_and_behind_the_text(shell):
    shell("runtime", "add", "--target=user", "--", "-starts with a dash")
    assert shell.json("runtime", "list")["entries"][0]["content"] == "-starts with a dash"


@pytest.mark.requirement("host:cli:archived")
def test_a_full_memory_moves_to_the_archive_and_says_so(shell):
    shell.configure("runtimeMemory: {memoryLimitBytes: 60}\n")
    code, out, _ = shell("runtime", "archived")
    assert (code, out) == (0, "Nothing.\n")
    shell("runtime", "add", "--target", "memory", "The first fact of this project")
    code, out, _ = shell("runtime", "add", "--target", "memory", "The second fact of this project")
    assert code == 0
    assert "1 older entry moved" in out
    page = shell.json("runtime", "archived", "--limit", "5")
    assert [entry["content"] for entry in page["entries"]] == ["The first fact of this project"]
    _, out, _ = shell("runtime", "archived")
    assert out.endswith("  The first fact of this project\n")
    error = shell.json("runtime", "archived", "--limit", "0", code=1)["error"]
    assert error["code"] == "integer-range"


def test_a_full_profile_hands_the_text_back(shell):
    shell.configure("runtimeMemory: {userLimitBytes: 30}\n")
    shell("runtime", "add", "--target", "user", "Prefers short answers")
    error = shell.json("runtime", "add", "--target", "user", "Lives in Berlin", code=1)["error"]
    assert error["code"] == "model-unavailable"
    assert error["details"]["pending"]["content"] == "Lives in Berlin"


@pytest.mark.requirement("host:layer:off")
def test_a_layer_that_is_off_is_neither_read_nor_written(shell, tmp_path):
    shell("runtime", "add", "--target", "user", "x")
    shell.configure("memoryTopology: {layers: {runtime: {enabled: false}}}\n")
    edited = tmp_path / "USER.md"
    edited.write_text("y\n", encoding="utf-8")
    for arguments in (
        ("list",),
        ("archived",),
        ("adopt", edited),
        ("add", "--target", "user", "z"),
    ):
        assert shell.json("runtime", *arguments, code=1)["error"]["code"] == "layer-off"
    status = shell.json("status")
    assert status["runtime"]["targets"]["user"]["entryCount"] == 1


DIFFERENCES = "- Prefers dark theme\n+ Prefers a dark theme\n+ Speaks Chinese\n"


@pytest.mark.requirement("host:cli:adopt")
def test_adopt_shows_and_applies_nothing_without_consent(shell, edited):
    shown = shell.json("runtime", "adopt", edited)
    assert set(shown) == {"differences", "applied", "failed", "kept"}
    assert (shown["applied"], shown["failed"], shown["kept"]) == (0, [], [])
    assert [item["kind"] for item in shown["differences"]] == ["replace", "add"]
    assert len(shell.json("runtime", "list")["entries"]) == 1


@pytest.mark.requirement("host:cli:adopt")
def test_what_was_shown_from_the_stores_own_file_is_kept_and_named(shell, edited):
    code, out, _ = shell("runtime", "adopt", edited)
    assert (code, out) == (0, DIFFERENCES)
    [copy] = (edited.parent / "edited").iterdir()
    code, out, _ = shell("runtime", "adopt", edited, "--yes")
    assert (code, out) == (0, f"Nothing differs.\nAn edit is kept in {copy}\n")
    assert shell.json("runtime", "adopt", edited)["kept"] == [str(copy)]
    code, out, _ = shell("runtime", "adopt", copy, "--yes")
    assert (code, out) == (0, DIFFERENCES + "2 of 2 changes applied.\n")
    assert shell.json("doctor")["healthy"] is True


@pytest.mark.requirement("host:cli:adopt")
@pytest.mark.parametrize("answer", ["y", " YES ", "n", ""])
def test_adopt_asks_a_person_at_a_terminal(shell, edited, monkeypatch, answer):
    terminal = io.StringIO(answer + "\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    code, out, _ = shell("runtime", "adopt", edited)
    assert code == 0
    agreed = answer.strip().lower() in ("y", "yes")
    assert ("2 of 2 changes applied." in out) is agreed
    contents = [entry["content"] for entry in shell.json("runtime", "list")["entries"]]
    assert (contents == ["Prefers a dark theme", "Speaks Chinese"]) is agreed


def test_adopt_applies_what_it_can_and_names_the_rest(shell, edited, tmp_path):
    mine = tmp_path / "USER-mine.md"
    mine.write_text("Prefers dark theme\n§\nFine\n§\n" + "x" * 8193 + "\n", encoding="utf-8")
    code, out, _ = shell("runtime", "adopt", mine, "--yes")
    assert code == 1
    assert "(would be refused: " in out
    assert "1 of 2 changes applied." in out
    assert "not applied: " in out
    again = shell.json("runtime", "adopt", mine, "--yes", code=1)
    assert (again["applied"], len(again["failed"])) == (0, 1)
    assert set(again["failed"][0]) == {"mutation", "error"}


def test_adopt_of_an_unchanged_file_changes_nothing(shell, edited):
    shell("runtime", "adopt", edited, "--yes")
    code, out, _ = shell("runtime", "adopt", edited, "--yes")
    assert (code, out) == (0, "Nothing differs.\n")


def test_adopt_knows_the_target_by_the_name_or_asks_for_it(shell, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("Build with nox\n", encoding="utf-8")
    error = shell.json("runtime", "adopt", file, code=1)["error"]
    assert error["code"] == "target-required"
    shell.json("runtime", "adopt", file, "--target", "memory", "--yes")
    copy = tmp_path / "MEMORY-20260301T120000Z.md"
    copy.write_text("Build with nox\n§\nUse uv\n", encoding="utf-8")
    shell.json("runtime", "adopt", copy, "--yes")
    entries = shell.json("runtime", "list")["entries"]
    assert [(entry["target"], entry["content"]) for entry in entries] == [
        ("memory", "Build with nox"),
        ("memory", "Use uv"),
    ]


@pytest.mark.parametrize("content", [None, b"\xff"], ids=["missing", "not UTF-8"])
def test_adopt_of_what_cannot_be_read_is_refused(shell, tmp_path, content):
    file = tmp_path / "USER.md"
    if content is not None:
        file.write_bytes(content)
    error = shell.json("runtime", "adopt", file, code=1)["error"]
    assert error["code"] == "file-unreadable"
    assert str(file) in error["message"]

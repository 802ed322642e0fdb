"""``dsh-mnemon runtime``."""

import io
import os
import sys

import pytest
from dsh_mnemon_core.errors import StorageError
from dsh_mnemon_host.people import People


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
        "USER.md: 1 entry, 21 of 4096 bytes",
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
    assert "\n1 entry moved" in out
    assert "older" not in out
    page = shell.json("runtime", "archived", "--limit", "5")
    assert [entry["content"] for entry in page["entries"]] == ["The first fact of this project"]
    _, out, _ = shell("runtime", "archived")
    assert out.endswith("  The first fact of this project\n")
    for option, value in (("--limit", "0"), ("--limit", "1001"), ("--offset", "-1")):
        error = shell.json("runtime", "archived", option, value, code=2)["error"]
        assert error["code"] == "usage"
        assert f'"{value}" for {option}. It must be within ' in error["message"]


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
    assert set(shown) == {"file", "differences", "applied", "failed", "kept"}
    assert (shown["file"], shown["applied"], shown["failed"]) == (str(edited), 0, [])
    assert shown["kept"] == [str(path) for path in (edited.parent / "edited").iterdir()]
    assert [item["kind"] for item in shown["differences"]] == ["replace", "add"]
    assert len(shell.json("runtime", "list")["entries"]) == 1


AGAIN = "Nothing was applied. Run this again with --yes to apply these changes.\n"


@pytest.mark.requirement("host:cli:adopt")
@pytest.mark.parametrize("between", ["adopt", "status", "list", "doctor"])
def test_an_edit_is_taken_over_from_its_copy_when_the_store_was_opened_before(
    shell, edited, between
):
    if between == "adopt":
        code, out, _ = shell("runtime", "adopt", edited)
        [copy] = (edited.parent / "edited").iterdir()
        assert (code, out) == (0, f"{DIFFERENCES}{AGAIN}An edit is kept in {copy}\n")
    else:
        shell(*(("runtime", "list") if between == "list" else (between,)))
        [copy] = (edited.parent / "edited").iterdir()
    shown = shell.json("runtime", "adopt", edited)
    assert (shown["file"], len(shown["differences"]), shown["applied"]) == (str(copy), 2, 0)
    code, out, _ = shell("runtime", "adopt", edited, "--yes")
    where = f"The file itself says nothing new; your edit was kept in {copy}:\n"
    assert (code, out) == (0, f"{where}{DIFFERENCES}2 of 2 changes applied.\n")
    assert edited.read_text(encoding="utf-8") == "Prefers a dark theme\n§\nSpeaks Chinese\n"
    assert shell.json("doctor")["healthy"] is True
    assert shell("runtime", "adopt", edited, "--yes")[:2] == (0, "Nothing differs.\n")


def test_a_copy_is_taken_over_by_its_own_name_and_named_for_other_files(shell, edited, tmp_path):
    shell("status")
    [copy] = (edited.parent / "edited").iterdir()
    same = tmp_path / "USER.md"
    same.write_text("Prefers dark theme\n", encoding="utf-8")
    code, out, _ = shell("runtime", "adopt", same, "--yes")
    assert (code, out) == (0, f"Nothing differs.\nAn edit is kept in {copy}\n")
    code, out, _ = shell("runtime", "adopt", copy, "--yes")
    assert (code, out) == (0, DIFFERENCES + "2 of 2 changes applied.\n")


@pytest.mark.requirement("host:cli:adopt")
def test_text_whose_store_is_gone_can_be_taken_over(shell):
    shell("runtime", "add", "--target", "memory", "Build with nox")
    folder = shell.data / "runtime"
    (folder / "memories.json").rename(shell.data / "memories.json")
    assert shell.json("runtime", "list")["entries"] == []
    [copy] = (folder / "edited").iterdir()
    assert copy.read_text(encoding="utf-8") == "Build with nox\n"
    assert "hand-edit" in [item.get("code") for item in shell.json("doctor")["findings"]]
    assert shell.json("runtime", "adopt", folder / "MEMORY.md", "--yes")["applied"] == 1
    [entry] = shell.json("runtime", "list")["entries"]
    assert (entry["target"], entry["content"]) == ("memory", "Build with nox")


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
    assert ("Nothing was applied.\n" in out) is not agreed
    contents = [entry["content"] for entry in shell.json("runtime", "list")["entries"]]
    assert (contents == ["Prefers a dark theme", "Speaks Chinese"]) is agreed


def _contents(shell):
    return [entry["content"] for entry in shell.json("runtime", "list")["entries"]]


@pytest.mark.requirement("host:cli:adopt")
def test_one_refused_difference_stops_them_all(shell, edited, tmp_path):
    shell("status")
    mine = tmp_path / "USER-mine.md"
    mine.write_text("Fine\n§\nPrefers dark theme" + "x" * 8193 + "\n", encoding="utf-8")
    code, out, _ = shell("runtime", "adopt", mine)
    assert code == 0
    assert "(would be refused: entry-too-large)" in out
    assert "Nothing was applied. Correct what would be refused" in out
    code, out, _ = shell("runtime", "adopt", mine, "--yes")
    assert code == 1
    assert "0 of 3 changes applied." in out
    assert "not applied: add 'Prefers dark themexx" in out
    again = shell.json("runtime", "adopt", mine, "--yes", code=1)
    assert (again["applied"], len(again["failed"])) == (0, 1)
    assert set(again["failed"][0]) == {"mutation", "error"}
    assert again["failed"][0]["error"]["code"] == "entry-too-large"
    assert _contents(shell) == ["Prefers dark theme"]


@pytest.mark.requirement("host:cli:adopt")
def test_an_edit_that_does_not_fit_applies_nothing(shell, edited):
    shell.configure("runtimeMemory: {userLimitBytes: 30}\n")
    [failure] = shell.json("runtime", "adopt", edited, "--yes", code=1)["failed"]
    assert failure["error"]["code"] == "runtime-capacity"
    assert _contents(shell) == ["Prefers dark theme"]


@pytest.mark.requirement("host:cli:adopt")
def test_room_is_made_before_it_is_used(shell, tmp_path):
    shell.configure("runtimeMemory: {userLimitBytes: 30}\n")
    shell("runtime", "add", "--target", "user", "Prefers dark theme")
    mine = tmp_path / "USER-mine.md"
    mine.write_text("Lives in the city of Kyoto\n", encoding="utf-8")
    assert shell.json("runtime", "adopt", mine, "--yes")["applied"] == 2
    assert _contents(shell) == ["Lives in the city of Kyoto"]


@pytest.mark.requirement("host:cli:adopt")
def test_the_first_refusal_ends_it_before_anything_is_removed(shell, tmp_path, monkeypatch):
    shell("runtime", "add", "--target", "user", "Prefers dark theme")
    mine = tmp_path / "USER-mine.md"
    mine.write_text("One more thing\n§\nAnd another\n", encoding="utf-8")
    real, seen = People.write_runtime, []

    async def write(self, mutation):
        seen.append(mutation["action"])
        if len(seen) == 2:
            raise StorageError("store-unwritable", "the disk is full")
        return await real(self, mutation)

    monkeypatch.setattr(People, "write_runtime", write)
    code, out, _ = shell("runtime", "adopt", mine, "--yes")
    assert code == 1
    assert "1 of 3 changes applied.\n  not applied: add 'And another': the disk is full" in out
    assert seen == ["add", "add"]
    assert _contents(shell) == ["Prefers dark theme", "One more thing"]


def test_adopt_of_an_unchanged_file_changes_nothing(shell, edited):
    shell("runtime", "adopt", edited, "--yes")
    code, out, _ = shell("runtime", "adopt", edited, "--yes")
    assert (code, out) == (0, "Nothing differs.\n")


def test_adopt_knows_the_target_by_the_name_or_asks_for_it(shell, tmp_path):
    file = tmp_path / "notes.md"
    file.write_text("Build with nox\n", encoding="utf-8")
    error = shell.json("runtime", "adopt", file, code=1)["error"]
    assert error["code"] == "target-required"
    missing = shell.json("runtime", "adopt", tmp_path / "nowhere", code=1)["error"]
    assert missing["code"] == "file-unreadable"
    shell.json("runtime", "adopt", file, "--target", "memory", "--yes")
    copy = tmp_path / "MEMORY-20260301T120000Z.md"
    copy.write_text("Build with nox\n§\nUse uv\n", encoding="utf-8")
    assert shell("runtime", "adopt", copy, "--yes")[1].endswith("1 of 1 change applied.\n")
    entries = shell.json("runtime", "list")["entries"]
    assert [(entry["target"], entry["content"]) for entry in entries] == [
        ("memory", "Build with nox"),
        ("memory", "Use uv"),
    ]


@pytest.mark.requirement("host:cli:archived")
def test_lines_that_are_no_archive_records_are_counted_not_shown(shell):
    archived = shell.data / "runtime" / "archived"
    archived.mkdir(parents=True)
    (archived / "MEMORY.jsonl").write_text('{"x":1}\n', encoding="utf-8")
    assert shell("runtime", "archived")[:2] == (0, "Nothing.\n")
    assert shell.json("status")["stores"][0]["archiveUnreadableLines"] == 1
    assert "1 line is no archived entry" in shell("doctor")[1]


@pytest.mark.parametrize("content", [None, b"\xff", "pipe"], ids=["missing", "not UTF-8", "pipe"])
def test_adopt_of_what_cannot_be_read_is_refused(shell, tmp_path, content):
    file = tmp_path / "USER.md"
    if content == "pipe":
        os.mkfifo(file)
    elif content is not None:
        file.write_bytes(content)
    error = shell.json("runtime", "adopt", file, code=1)["error"]
    assert error["code"] == "file-unreadable"
    assert str(file) in error["message"]

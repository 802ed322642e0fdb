from collections.abc import Callable
from pathlib import Path

import pytest

from tools.workspace import read_members, report


def test_members_are_read_with_their_floor_and_names(
    workspace: Path, add_member: Callable[..., Path]
) -> None:
    add_member("packages/core", "dsh-mnemon-core")
    add_member("packages/sources/notes", "dsh-mnemon-source-notes")
    add_member("starter", "dsh-mnemon")
    (workspace / "packages/sources/empty").mkdir()
    found = [(m.floor, m.name, m.expected_name, m.package) for m in read_members(workspace)]
    assert found == [
        ("core", "dsh-mnemon-core", "dsh-mnemon-core", "dsh_mnemon_core"),
        ("sources", *["dsh-mnemon-source-notes"] * 2, "dsh_mnemon_source_notes"),
        ("starter", "dsh-mnemon", "dsh-mnemon", "dsh_mnemon"),
    ]


def test_closure_follows_siblings(workspace: Path, add_member: Callable[..., Path]) -> None:
    add_member("packages/core", "dsh-mnemon-core", "attrs>=25")
    add_member("packages/sources/notes", "dsh-mnemon-source-notes", "DSH_mnemon.core>=0.1")
    add_member("packages/sources/other", "dsh-mnemon-source-other")
    add_member("starter", "dsh-mnemon", "dsh-mnemon-source-notes==0.1.0")
    members = {member.name: member for member in read_members(workspace)}
    closure = members["dsh-mnemon"].closure(members.values())
    assert [member.name for member in closure] == [
        "dsh-mnemon",
        "dsh-mnemon-core",
        "dsh-mnemon-source-notes",
    ]


@pytest.mark.parametrize("asked", [True, False])
def test_closure_takes_an_extra_where_it_is_asked_for(
    workspace: Path, add_member: Callable[..., Path], asked: bool
) -> None:
    folder = add_member("packages/sources/notes", "dsh-mnemon-source-notes")
    with (folder / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write('[project.optional-dependencies]\nkit = ["dsh-mnemon-core", "pytest"]\n')
    add_member("packages/core", "dsh-mnemon-core")
    notes = "dsh-mnemon-source-notes[kit]" if asked else "dsh-mnemon-source-notes"
    add_member("starter", "dsh-mnemon", notes)
    members = {member.name: member for member in read_members(workspace)}
    closure = [member.name for member in members["dsh-mnemon"].closure(members.values())]
    assert ("dsh-mnemon-core" in closure) is asked
    siblings = members["dsh-mnemon-source-notes"].siblings(members.values())
    assert [member.name for member, _ in siblings] == ["dsh-mnemon-core"]


def test_report_prints_each_problem_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(["one", "two"], good="fine") == 1
    assert capsys.readouterr().out == "error: one\nerror: two\n"


def test_report_prints_the_good_news_and_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert report([], good="fine") == 0
    assert capsys.readouterr().out == "fine\n"

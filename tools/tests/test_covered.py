import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tools import covered
from tools.workspace import ROOT, read_members


def summary(lines: int, of_lines: int, branches: int = 0, of_branches: int = 0) -> dict[str, Any]:
    return {
        "summary": {
            "covered_lines": lines,
            "num_statements": of_lines,
            "covered_branches": branches,
            "num_branches": of_branches,
        }
    }


@pytest.fixture
def house(workspace: Path, add_member: Callable[..., Path]) -> Path:
    add_member("packages/core", "dsh-mnemon-core")
    add_member("packages/sources/notes", "dsh-mnemon-source-notes")
    return workspace


CORE = "packages/core/src/dsh_mnemon_core/"
NOTES = "packages/sources/notes/src/dsh_mnemon_source_notes/"


def test_every_floor_is_reached(house: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = {
        f"{CORE}a.py": summary(10, 10, 4, 4),
        f"{NOTES}a.py": summary(50, 50, 7, 10),
        f"{NOTES}b.py": summary(38, 40),
        "packages/sources/notes/tests/test_a.py": summary(0, 1000),
    }
    assert list(covered.problems({"files": files}, house)) == []
    assert capsys.readouterr().out.splitlines() == [
        "dsh-mnemon-core: 100.00 % of 14 lines and branches",
        "dsh-mnemon-source-notes: 95.00 % of 100 lines and branches",
    ]


def test_one_missing_branch_of_the_core_fails(house: Path) -> None:
    files = {f"{CORE}a.py": summary(998, 998, 1, 2), f"{NOTES}a.py": summary(1, 1)}
    assert list(covered.problems({"files": files}, house)) == [
        "dsh-mnemon-core: 99.90 % is below 100 %"
    ]


def test_another_package_below_its_floor_fails(house: Path) -> None:
    files = {f"{CORE}a.py": summary(1, 1), f"{NOTES}a.py": summary(94, 100)}
    assert list(covered.problems({"files": files}, house)) == [
        "dsh-mnemon-source-notes: 94.00 % is below 95 %"
    ]


def test_a_package_that_was_not_measured_fails(house: Path) -> None:
    files = {f"{CORE}a.py": summary(1, 1)}
    assert list(covered.problems({"files": files}, house)) == [
        "dsh-mnemon-source-notes: nothing was measured"
    ]


def test_a_package_without_code_is_fully_covered() -> None:
    assert covered.Measure(0, 0).percent == 100


def test_main_reads_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folders = [member.source.relative_to(ROOT).as_posix() for member in read_members(ROOT)]
    report = tmp_path / "coverage.json"
    files = {f"{folder}/__init__.py": summary(1, 1) for folder in folders}
    report.write_text(json.dumps({"files": files}), "utf-8")
    assert covered.main([str(report)]) == 0
    assert capsys.readouterr().out.endswith("every package is above its floor\n")

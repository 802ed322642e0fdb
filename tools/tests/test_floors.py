import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import floors
from tools.workspace import ROOT, read_members, read_toml

AddMember = Callable[..., Path]
LINT = "from importlinter.cli import lint_imports_command as lint; lint()"


@pytest.fixture
def house(workspace: Path, add_member: AddMember) -> Path:
    add_member("packages/core", "dsh-mnemon-core")
    add_member("packages/sources/notes", "dsh-mnemon-source-notes")
    add_member("packages/sources/memory-spaces", "dsh-mnemon-source-memory-spaces")
    for module in ("provider_sdk", "inside"):
        folder = workspace / "packages/sources/memory-spaces/src/dsh_mnemon_source_memory_spaces"
        (folder / f"{module}.py").touch()
    add_member("packages/providers/cloud", "dsh-mnemon-provider-cloud")
    add_member("starter", "dsh-mnemon")
    floors.write(workspace)
    return workspace


def broken(root: Path) -> set[str]:
    """Run import-linter over the scratch workspace and return the contracts it finds broken."""
    path = os.pathsep.join(str(member.source.parent) for member in read_members(root))
    run = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    # "… KEPT", or "… BROKEN (2 ignored imports)"
    marked = re.findall(r"^(.+) (BROKEN|KEPT)(?: \(.*\))?$", run.stdout, re.MULTILINE)
    assert marked, run.stdout + run.stderr
    return {name for name, state in marked if state == "BROKEN"}


def add_import(root: Path, place: str, statement: str) -> None:
    [init] = (root / place / "src").glob("*/__init__.py")
    init.write_text(f"{statement}\n", encoding="utf-8")


def test_every_package_of_this_repository_stands_in_the_contracts() -> None:
    written = read_toml(ROOT / "pyproject.toml")["tool"]["importlinter"]
    members = read_members(ROOT)
    assert set(written["root_packages"]) == {member.package for member in members}
    assert list(floors.problems(ROOT)) == []


def test_a_package_that_was_left_out_is_named(house: Path, add_member: AddMember) -> None:
    assert list(floors.problems(house)) == []
    add_member("packages/sources/late", "dsh-mnemon-source-late")
    assert list(floors.problems(house)) == [
        "dsh_mnemon_source_late is missing from the import contracts",
        "the import contracts are out of date: run python -m tools.floors --write",
    ]


def test_a_package_on_no_floor_is_named(house: Path, add_member: AddMember) -> None:
    text = (house / "pyproject.toml").read_text(encoding="utf-8")
    text = text.replace('"packages/core"', '"packages/core", "packages/attic"')
    (house / "pyproject.toml").write_text(text, encoding="utf-8")
    add_member("packages/attic", "dsh-mnemon-attic")
    assert list(floors.problems(house)) == [
        "dsh-mnemon-attic lies on no known floor: packages/attic"
    ]


def test_write_keeps_the_rest_of_the_file(house: Path) -> None:
    before = read_toml(house / "pyproject.toml")
    floors.write(house)
    assert read_toml(house / "pyproject.toml") == before
    assert before["project"]["name"] == "workspace"


def test_downward_imports_are_kept(house: Path) -> None:
    add_import(house, "packages/sources/notes", "import dsh_mnemon_core")
    add_import(
        house, "packages/providers/cloud", "import dsh_mnemon_source_memory_spaces.provider_sdk"
    )
    assert broken(house) == set()


@pytest.mark.parametrize(
    ("place", "statement", "contract"),
    [
        ("packages/core", "import dsh_mnemon_source_notes", "Imports go down only"),
        (
            "packages/sources/notes",
            "import dsh_mnemon_source_memory_spaces",
            "Imports go down only",
        ),
        ("starter", "import dsh_mnemon_source_notes", "The starter floor imports host and core"),
        ("packages/core", "import sqlite3", "The core knows neither network nor SQL"),
        (
            "packages/providers/cloud",
            "import dsh_mnemon_source_memory_spaces.inside",
            "Providers enter Memory Spaces through provider_sdk only",
        ),
        (
            "packages/providers/cloud",
            "import dsh_mnemon_source_notes",
            "Providers enter Memory Spaces through provider_sdk only",
        ),
    ],
)
def test_a_forbidden_import_breaks_its_contract(
    house: Path, place: str, statement: str, contract: str
) -> None:
    add_import(house, place, statement)
    [name] = broken(house)
    assert name.startswith(contract)


def test_only_the_kit_for_providers_imports_the_test_kit(
    house: Path, add_member: AddMember
) -> None:
    add_member("packages/testing", "dsh-mnemon-testing")
    floors.write(house)
    home = house / "packages/sources/memory-spaces/src/dsh_mnemon_source_memory_spaces"
    (home / "testing").mkdir()
    for place in ("testing/__init__.py", "testing/suite.py"):
        (home / place).write_text("import dsh_mnemon_testing\n", encoding="utf-8")
    assert broken(house) == set()
    (home / "inside.py").write_text("import dsh_mnemon_testing\n", encoding="utf-8")
    assert broken(house) == {"The sources floor imports core only"}


def test_main_checks_this_repository(capsys: pytest.CaptureFixture[str]) -> None:
    assert floors.main([]) == 0
    assert "every package" in capsys.readouterr().out

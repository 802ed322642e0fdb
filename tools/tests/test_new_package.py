import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tools import check_all, floors, new_package, registration
from tools.new_package import Order, create
from tools.workspace import ROOT, read_members

SUMMARY = "Something small that works."
KINDS = sorted(new_package.FLOOR_OF)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A copy of this workspace that a tool may write into."""
    for name in ("pyproject.toml", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path / name)
    left_out = shutil.ignore_patterns("__pycache__", "golden", ".hypothesis")
    for name in ("packages", "starter"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=left_out)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_package_is_known_everywhere_and_keeps_its_contract(copy: Path, kind: str) -> None:
    member = create(Order(kind=kind, name="two-words", summary=SUMMARY), copy)
    assert list(registration.problems(copy)) == []
    assert list(floors.problems(copy)) == []
    for module in check_all.public_modules(member.source):
        assert list(check_all.module_problems(module.read_text(encoding="utf-8"))) == []
    # The copy is not what is measured.
    env = {key: value for key, value in os.environ.items() if not key.startswith("COVERAGE_")}
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(member.folder)],
        cwd=copy,
        env={**env, "PYTHONPATH": str(member.source.parent), "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert re.search(r"=+ [1-9]\d* passed", run.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_of_a_template_is_left_over(copy: Path, kind: str) -> None:
    member = create(Order(kind=kind, name="notes", summary=SUMMARY), copy)
    files = [path for path in member.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if "$" in path.name or path.suffix == ".tmpl"]
    assert not [path for path in files if "$" in path.read_text(encoding="utf-8")]
    assert (member.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(("kind", "enabled"), [("source", True), ("enhancement", False)])
def test_the_starter_gets_it_when_asked(copy: Path, kind: str, enabled: bool) -> None:
    member = create(Order(kind=kind, name="notes", summary=SUMMARY, in_starter=True), copy)
    starter = next(member for member in read_members(copy) if member.floor == "starter")
    requirements = [str(requirement) for requirement in starter.requirements]
    assert f"{member.name}==0.1.0" in requirements
    assert requirements == sorted(requirements)
    profile = yaml.safe_load((starter.source / "default_profile.yaml").read_text("utf-8"))
    row = profile["entries"][-1]
    assert (row["id"], row["module"]) == (member.name.removeprefix("dsh-"), member.package)
    assert row.get("enabled", True) is enabled
    assert list(registration.problems(copy)) == []


def test_a_provider_becomes_a_child_of_its_source(copy: Path) -> None:
    profile = copy / "starter/src/dsh_mnemon/default_profile.yaml"
    before = yaml.safe_load(profile.read_text("utf-8"))
    member = create(Order(kind="provider", name="notes", summary=SUMMARY, in_starter=True), copy)
    starter = next(member for member in read_members(copy) if member.floor == "starter")
    assert f"{member.name}==0.1.0" in [str(requirement) for requirement in starter.requirements]
    text = profile.read_text("utf-8")
    assert text.startswith("# The default composition.")
    after = yaml.safe_load(text)
    old, new = (
        next(row for row in document["entries"] if row["id"] == "mnemon-source-memory-spaces")
        for document in (before, after)
    )
    child = {"use": member.package, "instanceId": "notes"}
    assert new["config"]["providers"].pop() == child
    old.setdefault("config", {}).setdefault("providers", [])
    assert after == before
    assert list(registration.problems(copy)) == []


def test_a_provider_asks_for_its_source(copy: Path) -> None:
    member = create(Order(kind="provider", name="notes", summary=SUMMARY), copy)
    siblings = [sibling.floor for sibling, _ in member.siblings(read_members(copy))]
    assert siblings == ["core", "sources"]


def test_the_starter_stays_as_it_is_otherwise(copy: Path) -> None:
    before = (copy / "starter/pyproject.toml").read_bytes()
    create(Order(kind="source", name="notes", summary=SUMMARY), copy)
    assert (copy / "starter/pyproject.toml").read_bytes() == before


@pytest.mark.parametrize("kind", ["strategy", "enhancement"])
def test_a_name_is_given_once(copy: Path, kind: str) -> None:
    create(Order(kind="strategy", name="plain", summary=SUMMARY), copy)
    before = (copy / "pyproject.toml").read_bytes()
    with pytest.raises(FileExistsError, match="dsh-mnemon-strategy-plain"):
        create(Order(kind=kind, name="plain", summary=SUMMARY), copy)
    assert (copy / "pyproject.toml").read_bytes() == before


@pytest.mark.parametrize("name", ["Notes", "two words", "-notes", "notes-", "1st", "a--b", "../up"])
def test_a_name_that_makes_no_package_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        Order(kind="source", name=name, summary=SUMMARY)


@pytest.mark.parametrize("summary", ["Short.", "no capital letter.", "No full stop", 'A "quote".'])
def test_a_summary_is_one_plain_sentence(summary: str) -> None:
    with pytest.raises(ValueError, match="summary"):
        Order(kind="source", name="notes", summary=summary)


def test_main_refuses_before_it_writes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        new_package.main(["source", "runtime", SUMMARY])
    assert "exists" in capsys.readouterr().err

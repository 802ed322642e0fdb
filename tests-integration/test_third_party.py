"""Two plugins of strangers: built, tested and installed as wheels, then shown in a context.

`third_party/` holds a Source and an enhancement that know no package of this repository but the
core and the test kit. They are tested where nothing else is installed, and then beside the starter.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import pytest
import yaml

from tools.check_wheels import constraints
from tools.workspace import ROOT, read_members

THIRD_PARTY = Path(__file__).parent / "third_party"
PROJECTS = ("git-log", "keep-why")
KIT = ("dsh-mnemon-core", "dsh-mnemon-testing")
ROUTING, STRATEGY = "mnemon:routing", "mnemon:strategy"


def execute(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command to its end and return what it printed; a failure shows all of it."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env=env,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@attrs.frozen
class Shelf:
    """A clean environment, and wheels to put into it."""

    folder: Path

    @property
    def wheels(self) -> Path:
        return self.folder / "wheels"

    def tool(self, name: str) -> Path:
        return self.folder / "venv" / "bin" / name

    def uv(self, *arguments: str | Path) -> str:
        kept = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
        uv = shutil.which("uv")
        assert uv is not None, "uv builds and installs the wheels; see CONTRIBUTING.md"
        return execute(uv, *arguments, cwd=self.folder, env=kept)

    def install(self, *names: str) -> None:
        """Install by name what is on the shelf; everything else comes from the package index."""
        pins = ("--constraints", self.folder / "constraints.txt")
        self.uv("pip", "install", "--quiet", "--python", self.tool("python"), *pins, *names)

    def packages(self) -> set[str]:
        listed = self.uv("pip", "list", "--quiet", "--format=json", "--python", self.tool("python"))
        return {item["name"] for item in json.loads(listed)}


def distribution(project: str) -> str:
    return f"acme-mnemon-{project}"


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    """Build every wheel, and make an environment that holds none of them yet."""
    shelf = Shelf(tmp_path_factory.mktemp("third-party"))
    build = ("build", "--quiet", "--wheel", "--no-sources", "--out-dir", shelf.wheels)
    shelf.uv(*build, "--all-packages", "--project", ROOT, ROOT)
    lines = [constraints(shelf.wheels)]
    for project in PROJECTS:
        # A copy, as strangers have it: outside the repository, and free to be built in.
        copy = shelf.folder / project
        shutil.copytree(THIRD_PARTY / project, copy, ignore=shutil.ignore_patterns("__pycache__"))
        shelf.uv(*build, copy)
        [wheel] = shelf.wheels.glob(f"{distribution(project).replace('-', '_')}-*.whl")
        lines.append(f"{distribution(project)} @ {wheel.as_uri()}\n")
    (shelf.folder / "constraints.txt").write_text("".join(lines), encoding="utf-8")
    shelf.uv("venv", "--quiet", "--python", sys.executable, shelf.folder / "venv")
    return shelf


@pytest.fixture(scope="module")
def tested(shelf: Shelf) -> Shelf:
    """Install the plugins with the test kit alone, and let their own tests pass there."""
    shelf.install(*KIT, *map(distribution, PROJECTS))
    ours = {name for name in shelf.packages() if name.startswith("dsh-mnemon")}
    assert ours == {*KIT}
    for project in PROJECTS:
        # Without the source folder, so that the tests meet the wheel.
        shutil.rmtree(shelf.folder / project / "src")
        execute(
            *(shelf.tool("python"), "-m", "pytest", "-q", "-W", "error"),
            cwd=shelf.folder / project,
            env={"PATH": os.environ["PATH"], "HOME": str(shelf.folder)},
        )
    return shelf


@pytest.fixture(scope="module")
def installed(tested: Shelf) -> Shelf:
    """Install the starter beside the plugins."""
    tested.install("dsh-mnemon")
    return tested


@pytest.mark.parametrize("project", PROJECTS)
def test_a_plugin_asks_for_the_core_and_its_tests_for_the_kit(project: str) -> None:
    document = tomllib.loads((THIRD_PARTY / project / "pyproject.toml").read_text("utf-8"))
    members = {member.name for member in read_members()}

    def siblings(requirements: list[str]) -> set[str]:
        return {name for name in members for line in requirements if line.startswith(f"{name}>")}

    assert siblings(document["project"]["dependencies"]) == {"dsh-mnemon-core"}
    assert siblings(document["dependency-groups"]["test"]) == {"dsh-mnemon-testing"}


def test_the_contract_suites_pass_where_only_the_kit_is(tested: Shelf) -> None:
    assert {*map(distribution, PROJECTS)} <= tested.packages()


def repository(folder: Path, message: str) -> Path:
    """Make a repository with one commit."""
    folder.mkdir()
    for arguments in (("init", "-q"), ("commit", "-q", "--allow-empty", "-m", message)):
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        execute("git", "-C", folder, *who, *arguments, cwd=folder)
    return folder


Show = Callable[..., dict[str, Any]]


@pytest.fixture
def show(installed: Shelf, environment: dict[str, str], tmp_path: Path) -> Show:
    """Return a function that shows the context of a profile with both plugins, as JSON."""
    rows: list[dict[str, Any]] = [
        {"id": "mnemon", "module": "dsh_mnemon_host"},
        {"id": "mnemon-source-runtime", "module": "dsh_mnemon_source_runtime"},
        {"id": "keep-why", "module": "acme_keep_why"},
    ]
    for name in ("app", "docs"):
        path = repository(tmp_path / name, f"Begin the {name}")
        config = {"repository": str(path)}
        rows.append({"id": f"git-{name}", "module": "acme_git_log", "config": config})

    def call(*more: dict[str, Any]) -> dict[str, Any]:
        profile = tmp_path / "profile.yaml"
        document = {"version": 1, "entries": [*rows, *more]}
        profile.write_text(yaml.safe_dump(document), encoding="utf-8")
        command = (installed.tool("dsh-mnemon"), "context", "--json", "--profile", profile)
        answer = execute(*command, "--workspace", tmp_path / "app", cwd=tmp_path, env=environment)
        report: dict[str, Any] = json.loads(answer)
        return report

    return call


def sections(report: Mapping[str, Any]) -> dict[str, str]:
    return {section["name"]: section["text"] for section in report["sections"]}


def envelope(report: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the Wake says of each Source that has a cover or unbound operations."""
    [line] = [x for x in report["wake"].splitlines() if x.startswith("MNEMON VIEW ROUTES (")]
    return {entry["source"]: entry for entry in json.loads(line.split("): ", 1)[1])}


def check_shown(report: Mapping[str, Any]) -> None:
    """See both plugins at work: covers and routes of the Source, words of the enhancement."""
    assert "problem" not in report
    shown = envelope(report)
    for name in ("app", "docs"):
        entry = shown[f"source:git-{name}"]
        assert f"Begin the {name}" in entry["cover"]
        assert [route["id"] for route in entry["routes"]] == [
            f"source:git-{name}/search",
            f"source:git-{name}/read",
        ]
    words = sections(report)[STRATEGY]
    assert "no commit message tells it" in words
    assert "Eligible Sources: source:mnemon-source-runtime\n" in words


def test_general_shows_both(show: Show) -> None:
    report = show({"id": "mnemon-strategy-general", "module": "dsh_mnemon_strategy_general"})
    check_shown(report)
    lines = sections(report)[ROUTING].splitlines()
    for name in ("app", "docs"):
        line = f"- source:git-{name} (git-log, role durable-evidence): on demand, 2 route(s), "
        assert f"{line}read-only" in lines


LAYERED = {
    "id": "mnemon-strategy-default-three-tier",
    "module": "dsh_mnemon_strategy_default_three_tier",
}


def test_layered_shows_both_with_scoped(show: Show) -> None:
    scoped = {"id": "mnemon-strategy-scoped", "module": "dsh_mnemon_strategy_scoped"}
    report = show(LAYERED, scoped)
    check_shown(report)
    lines = sections(report)[ROUTING].splitlines()
    assert "- source:git-docs: role durable-evidence, writable" in lines


def test_layered_alone_refuses_two_histories_by_name(show: Show) -> None:
    report = show(LAYERED)
    assert report["problem"]["code"] == "layered-ambiguous-role"
    assert "source:git-app, source:git-docs" in report["problem"]["message"]

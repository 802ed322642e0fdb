from collections.abc import Callable
from pathlib import Path

import pytest

from tools import registration
from tools.workspace import ROOT, read_members

AddMember = Callable[..., Path]


@pytest.fixture
def registered(workspace: Path, add_member: AddMember) -> Path:
    """A workspace of a core, a Source and the starter, all entered everywhere."""
    add_member("packages/core", "dsh-mnemon-core")
    add_member("packages/sources/notes", "dsh-mnemon-source-notes", "dsh-mnemon-core>=0.1,<0.2")
    add_member("starter", "dsh-mnemon", "dsh-mnemon-source-notes==0.1.0")
    names = ("dsh-mnemon", "dsh-mnemon-core", "dsh-mnemon-source-notes")
    sources = "".join(f"{name} = {{ workspace = true }}\n" for name in names)
    packages = [name.replace("-", "_") for name in names]
    edit(workspace / "pyproject.toml", "[tool.uv.sources]\n", f"[tool.uv.sources]\n{sources}")
    edit(workspace / "pyproject.toml", "source_pkgs = []", f"source_pkgs = {packages}")
    return workspace


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def test_this_repository_is_registered() -> None:
    assert list(registration.problems(ROOT)) == []


def test_a_registered_workspace_has_no_problem(registered: Path) -> None:
    assert list(registration.problems(registered)) == []


def test_a_new_package_must_be_entered(registered: Path, add_member: AddMember) -> None:
    add_member("packages/sources/late", "dsh-mnemon-source-late")
    assert list(registration.problems(registered)) == [
        "[tool.uv.sources] lacks dsh-mnemon-source-late",
        "[tool.coverage.run] source_pkgs lacks dsh_mnemon_source_late",
    ]


def test_a_package_that_is_gone_must_be_taken_out(registered: Path) -> None:
    (registered / "starter/pyproject.toml").unlink()
    assert list(registration.problems(registered)) == [
        "[tool.uv.sources] names dsh-mnemon, which is no package of the workspace",
        "[tool.coverage.run] source_pkgs names dsh_mnemon, which is no package of the workspace",
    ]


@pytest.mark.parametrize(
    ("file", "old", "new", "problem"),
    [
        ("packages/core/pyproject.toml", '"dsh-mnemon-core"', '"core"', "is named core"),
        ("starter/pyproject.toml", ">=3.11", ">=3.12", "requires-python differs"),
        ("starter/pyproject.toml", ', "Typing :: Typed"', "", "lacks the classifier 'Typing"),
        ("starter/pyproject.toml", "==0.1.0", ">=0.1", "requires dsh-mnemon-source-notes>=0.1"),
        (
            "packages/sources/notes/pyproject.toml",
            ">=0.1,<0.2",
            ">=0.1",
            "requires dsh-mnemon-core>=0.1; write dsh-mnemon-core>=0.1,<0.2",
        ),
        ("starter/LICENSE", "licence", "other", "needs a LICENSE equal to the root's"),
    ],
)
def test_a_deviation_is_named(
    registered: Path, file: str, old: str, new: str, problem: str
) -> None:
    edit(registered / file, old, new)
    found = [text.partition(": ")[2] for text in registration.problems(registered)]
    assert [text for text in found if text.startswith(problem)]


def test_tools_are_configured_at_the_root(registered: Path) -> None:
    with (registered / "starter/pyproject.toml").open("a", encoding="utf-8") as file:
        file.write("[tool.ruff]\nline-length = 80\n")
    [problem] = registration.problems(registered)
    assert problem == "starter: configures tools; the root does that for everybody"


@pytest.mark.parametrize(
    "file", ["README.md", "CHANGELOG.md", "changes/.gitkeep", "src/dsh_mnemon/py.typed"]
)
def test_a_missing_file_is_named(registered: Path, file: str) -> None:
    (registered / "starter" / file).unlink()
    assert list(registration.problems(registered)) == [f"starter: lacks {file}"]


def test_only_the_starter_may_lack_tests(registered: Path) -> None:
    for place in ("starter", "packages/core"):
        (registered / place / "tests/test_it.py").unlink()
    assert list(registration.problems(registered)) == ["packages/core: has no tests"]


@pytest.mark.parametrize(
    ("place", "version", "expected"),
    [
        ("packages/sources/x", "0.3.2", ">=0.3,<0.4"),
        ("packages/sources/x", "2.3.1", ">=2.3.1,<3"),
        ("starter", "0.3.2", "==0.3.2"),
    ],
)
def test_ranges_follow_the_version(
    workspace: Path, add_member: AddMember, place: str, version: str, expected: str
) -> None:
    add_member("packages/core", "dsh-mnemon-core", version=version)
    add_member(place, "dsh-mnemon-source-x")
    core, asking = read_members(workspace)
    assert registration.sibling_range(asking, core) == expected

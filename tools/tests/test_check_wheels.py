import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import check_wheels

METADATA = """\
Metadata-Version: 2.4
Name: dsh-mnemon-core
Version: 0.1.0
Requires-Python: >=3.11
License-Expression: MIT
Requires-Dist: attrs>=25

About the core.
"""
INFO = "dsh_mnemon_core-0.1.0.dist-info"
WHEEL = "dsh_mnemon_core-0.1.0-py3-none-any.whl"
SDIST = "dsh_mnemon_core-0.1.0.tar.gz"


@pytest.fixture
def core(workspace: Path, add_member: Callable[..., Path]) -> Path:
    add_member("packages/core", "dsh-mnemon-core", "attrs>=25")
    return workspace


@pytest.fixture
def wheel_files() -> dict[str, str]:
    """What the wheel of the core holds."""
    return {
        "dsh_mnemon_core/__init__.py": "",
        "dsh_mnemon_core/py.typed": "",
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/licenses/LICENSE": "licence\n",
    }


@pytest.fixture
def sdist_files() -> list[str]:
    """What the sdist of the core holds."""
    source = [f"src/dsh_mnemon_core/{name}" for name in ("__init__.py", "py.typed")]
    return ["LICENSE", "README.md", "pyproject.toml", "PKG-INFO", *source]


def pack(root: Path, wheel_files: dict[str, str], sdist_files: list[str]) -> Path:
    dist = root / "dist"
    dist.mkdir()
    with zipfile.ZipFile(dist / WHEEL, "w") as wheel:
        for name, text in wheel_files.items():
            wheel.writestr(name, text)
    with tarfile.open(dist / SDIST, "w:gz") as sdist:
        for name in sdist_files:
            sdist.addfile(tarfile.TarInfo(f"dsh_mnemon_core-0.1.0/{name}"), io.BytesIO())
    return dist


def test_complete_artefacts_have_no_problem(
    core: Path, wheel_files: dict[str, str], sdist_files: list[str]
) -> None:
    assert list(check_wheels.problems(pack(core, wheel_files, sdist_files), core)) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        (f"{INFO}/licenses/LICENSE", "carries no LICENSE"),
        ("dsh_mnemon_core/py.typed", "carries no py.typed"),
        ("dsh_mnemon_core/__init__.py", "lacks dsh_mnemon_core/__init__.py"),
    ],
)
def test_a_file_the_wheel_lacks_is_named(
    core: Path, wheel_files: dict[str, str], sdist_files: list[str], name: str, problem: str
) -> None:
    del wheel_files[name]
    found = list(check_wheels.problems(pack(core, wheel_files, sdist_files), core))
    assert found[0] == f"{WHEEL}: {problem}"


@pytest.mark.parametrize("name", ["tests/test_core.py", "dsh_mnemon_core/tests/x.py"])
def test_a_file_the_wheel_should_not_hold_is_named(
    core: Path, wheel_files: dict[str, str], sdist_files: list[str], name: str
) -> None:
    wheel_files[name] = ""
    [problem] = check_wheels.problems(pack(core, wheel_files, sdist_files), core)
    assert problem == f"{WHEEL}: holds {name}, which is not in the import package"


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("attrs>=25", "attrs>=24", "asks for other requirements than pyproject.toml"),
        ("Requires-Python: >=3.11", "Requires-Python: >=3.9", "says Requires-Python: >=3.9"),
        ("About the core.\n", "", "has no description"),
    ],
)
def test_metadata_that_differ_from_the_project_are_named(
    core: Path,
    wheel_files: dict[str, str],
    sdist_files: list[str],
    old: str,
    new: str,
    problem: str,
) -> None:
    wheel_files[f"{INFO}/METADATA"] = METADATA.replace(old, new)
    [found] = check_wheels.problems(pack(core, wheel_files, sdist_files), core)
    assert found.startswith(f"{WHEEL}: {problem}")


def test_a_range_that_the_sibling_does_not_satisfy_is_named(
    core: Path,
    add_member: Callable[..., Path],
    wheel_files: dict[str, str],
    sdist_files: list[str],
) -> None:
    add_member("starter", "dsh-mnemon")
    project = core / "packages/core/pyproject.toml"
    text = project.read_text(encoding="utf-8").replace("attrs>=25", "dsh-mnemon>=0.2")
    project.write_text(text, encoding="utf-8")
    wheel_files[f"{INFO}/METADATA"] = METADATA.replace("attrs>=25", "dsh-mnemon>=0.2")
    found = list(check_wheels.problems(pack(core, wheel_files, sdist_files), core))
    assert f"{WHEEL}: requires dsh-mnemon>=0.2, which dsh-mnemon 0.1.0 does not satisfy" in found
    assert "dsh_mnemon-0.1.0-py3-none-any.whl: was not built" in found


def test_a_file_the_sdist_lacks_is_named(
    core: Path, wheel_files: dict[str, str], sdist_files: list[str]
) -> None:
    sdist_files.remove("README.md")
    [problem] = check_wheels.problems(pack(core, wheel_files, sdist_files), core)
    assert problem == f"{SDIST}: lacks README.md"


def test_a_leftover_of_another_version_is_named(
    core: Path, wheel_files: dict[str, str], sdist_files: list[str]
) -> None:
    dist = pack(core, wheel_files, sdist_files)
    (dist / "dsh_mnemon_core-0.0.9-py3-none-any.whl").touch()
    assert list(check_wheels.problems(dist, core)) == [
        "dsh_mnemon_core-0.0.9-py3-none-any.whl: belongs to no package of the workspace"
    ]


def test_constraints_pin_every_package_to_its_wheel(core: Path) -> None:
    dist = core / "a folder"
    line = f"dsh-mnemon-core @ {dist.resolve().as_uri()}/{WHEEL}\n"
    assert check_wheels.constraints(dist, core) == line
    assert "%20" in line


def test_main_judges_and_writes_the_constraints(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_wheels.main([str(tmp_path)]) == 1
    assert "dsh_mnemon_core-0.1.0-py3-none-any.whl: was not built" in capsys.readouterr().out
    assert "dsh-mnemon-core @ file:///" in (tmp_path / "constraints.txt").read_text("utf-8")

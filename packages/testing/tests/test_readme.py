"""The page for strangers is true: its files make a project whose tests pass."""

import tomllib

import pytest
import yaml

pytestmark = pytest.mark.requirement("testing:readme")


def test_every_file_of_the_readme_is_found(readme):
    assert set(readme) == {
        "profile.yaml",
        "pyproject.toml",
        "src/my_capture/__init__.py",
        "src/my_notes/__init__.py",
        "src/my_notes/source.py",
        "tests/test_capture.py",
        "tests/test_plugin.py",
        "tests/test_source.py",
    }


def test_the_project_of_the_readme_passes_its_own_tests(project):
    result = project.runpytest("-p", "no:cacheprovider", "-W", "error", "tests")
    outcomes = result.parseoutcomes()
    assert set(outcomes) == {"passed"}
    assert outcomes["passed"] > 20


def test_its_settings_name_what_there_is(readme):
    settings = tomllib.loads(readme["pyproject.toml"])
    packages = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert all(f"{package}/__init__.py" in readme for package in packages)
    rows = yaml.safe_load(readme["profile.yaml"])["entries"]
    modules = {row["module"] for row in rows}
    assert {package.removeprefix("src/") for package in packages} <= modules

from pathlib import Path

import pytest

from tools import requirements

ENTRY = '[[requirement]]\nid = "notes:add"\ntext = "Adds."\nsource = "README"\n'
TEST = 'import pytest\n\n\n@pytest.mark.requirement("notes:add")\ndef test_add(): ...\n'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with one requirement and its test."""
    (tmp_path / "tests").mkdir()
    (tmp_path / "requirements.toml").write_text(ENTRY, encoding="utf-8")
    (tmp_path / "tests/test_notes.py").write_text(TEST, encoding="utf-8")
    return tmp_path


def test_a_requirement_and_its_test_agree(package: Path) -> None:
    assert list(requirements.package_problems(package)) == []


def test_a_requirement_without_a_test_is_named(package: Path) -> None:
    (package / "tests/test_notes.py").unlink()
    assert list(requirements.package_problems(package)) == ["notes:add has no test"]


def test_a_mark_without_a_list_is_named(package: Path) -> None:
    (package / "requirements.toml").unlink()
    [problem] = requirements.package_problems(package)
    assert problem.startswith("notes:add, marked at test_notes.py:4")


def test_a_malformed_list_is_named(package: Path) -> None:
    (package / "requirements.toml").write_text(ENTRY.replace("README", ""), encoding="utf-8")
    assert list(requirements.package_problems(package)) == ["notes:add leaves something blank"]

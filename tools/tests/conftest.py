"""A scratch workspace that tests may change."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

ROOT_PROJECT = """\
[project]
name = "workspace"
version = "0"
requires-python = ">=3.11"
classifiers = ["Programming Language :: Python :: 3.11"]

[tool.uv.workspace]
members = [
  "packages/core",
  "packages/testing",
  "packages/sources/*",
  "packages/providers/*",
  "starter",
]

[tool.uv.sources]

[tool.coverage.run]
source_pkgs = []
"""

MEMBER_PROJECT = """\
[project]
name = "{name}"
version = "{version}"
license = "MIT"
requires-python = ">=3.11"
classifiers = ["Programming Language :: Python :: 3.11", "Typing :: Typed"]
dependencies = {requires}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Root of a workspace without members."""
    (tmp_path / "pyproject.toml").write_text(ROOT_PROJECT, encoding="utf-8")
    (tmp_path / "LICENSE").write_text("licence\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def add_member(workspace: Path) -> Callable[..., Path]:
    """Add a complete member to the workspace and return its folder."""

    def add(place: str, name: str, *requires: str, version: str = "0.1.0", code: str = "") -> Path:
        folder = workspace / place
        source = folder / "src" / name.replace("-", "_")
        for directory in (source, folder / "changes", folder / "tests"):
            directory.mkdir(parents=True)
        project = MEMBER_PROJECT.format(name=name, version=version, requires=list(requires))
        (folder / "pyproject.toml").write_text(project, encoding="utf-8")
        (source / "__init__.py").write_text(code, encoding="utf-8")
        for empty in (
            source / "py.typed",
            folder / "changes/.gitkeep",
            folder / "tests/test_it.py",
        ):
            empty.touch()
        for file in ("README.md", "CHANGELOG.md"):
            (folder / file).write_text(f"# {name}\n", encoding="utf-8")
        (folder / "LICENSE").write_text("licence\n", encoding="utf-8")
        return folder

    return add

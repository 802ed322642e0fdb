"""The page for authors of Providers is true: its files make a package that keeps the contract."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.fiber import Context, open_root
from dsh_mnemon_source_memory_spaces import Config, memory_spaces_source
from dsh_mnemon_source_memory_spaces._children import ChildEntry, mount_children

pytestmark = pytest.mark.requirement("memory-spaces:readme")

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^`(?P<path>[^`\n]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with every file that the README shows."""
    for match in BLOCK.finditer(README.read_text(encoding="utf-8")):
        file = tmp_path / "note-files" / match["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match["text"], encoding="utf-8")
    return tmp_path / "note-files"


@pytest.fixture
async def root() -> AsyncGenerator[Context]:
    async with open_root() as context:
        yield context


def test_its_tests_pass(project: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error"]
    run = subprocess.run([*command, "tests"], cwd=project, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", run.stdout)}
    assert counts["passed"] > 25
    assert "failed" not in counts


def test_its_package_is_what_it_builds(project: Path) -> None:
    settings = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))
    [package] = settings["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert (project / package / "__init__.py").is_file()
    assert f"- {Path(package).name}\n" in (project / "profile.yaml").read_text(encoding="utf-8")


async def test_a_source_reads_and_writes_through_it(
    project: Path, root: Context, room: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.syspath_prepend(str(project / "src"))
    try:
        mounted = await mount_children(root, "spaces", [ChildEntry(use="note_files")])
        config = Config.model_validate({"dataDir": str(tmp_path / "data")})
        definition = memory_spaces_source(config, mounted)
        room.source = definition.create(room.context)
        await room.connect("note-files")
        space = await room.create("Team", providerId="note-files")
        await room.keep(space, "Tea at four.")
        found = await room.read("search", {"query": "tea"})
        assert [row["content"] for row in found["results"]] == ["Tea at four."]
        await room.source.dispose()
    finally:
        sys.modules.pop("note_files", None)

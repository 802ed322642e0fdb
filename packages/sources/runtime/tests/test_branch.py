"""The git branch of a workspace (spec/sources.md §2.6)."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from dsh_mnemon_source_runtime._branch import current_branch

pytestmark = pytest.mark.requirement("runtime:projection:branch")


@pytest.fixture
def git(tmp_path: Path) -> Callable[..., None]:
    def run(*arguments: str, folder: Path = tmp_path) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(
            ["git", *identity, "-C", str(folder), *arguments], check=True, capture_output=True
        )

    return run


@pytest.fixture
def repository(git: Callable[..., None], tmp_path: Path) -> Path:
    git("init", "-b", "feature/x")
    git("commit", "--allow-empty", "-m", "first")
    return tmp_path


async def test_it_is_the_checked_out_branch(repository: Path) -> None:
    assert await current_branch(str(repository)) == "feature/x"


async def test_a_linked_worktree_has_its_own(repository: Path, git: Callable[..., None]) -> None:
    git("worktree", "add", "-b", "other", str(repository / "tree"))
    assert await current_branch(str(repository / "tree")) == "other"


async def test_a_detached_head_has_none(repository: Path, git: Callable[..., None]) -> None:
    git("checkout", "--detach")
    assert await current_branch(str(repository)) == ""


@pytest.mark.parametrize("workspace", [None, "", "relative", ".", "/with\0nul", "/missing/folder"])
async def test_anything_but_a_repository_has_none(workspace: str | None) -> None:
    assert await current_branch(workspace) == ""


async def test_without_git_there_is_none(repository: Path) -> None:
    assert await current_branch(str(repository), git="no-such-command-here") == ""


@pytest.fixture
def slow_git(tmp_path: Path) -> str:
    script = tmp_path / "slow-git"
    script.write_text("#!/bin/sh\nexec sleep 30\n", encoding="utf-8")
    script.chmod(0o755)
    return str(script)


async def test_a_slow_git_is_given_up(tmp_path: Path, slow_git: str) -> None:
    started = time.monotonic()
    assert await current_branch(str(tmp_path), git=slow_git, seconds=0.05) == ""
    assert time.monotonic() - started < 5


async def test_cancelling_ends_the_wait(tmp_path: Path, slow_git: str) -> None:
    with anyio.move_on_after(0.05) as scope:
        await current_branch(str(tmp_path), git=slow_git, seconds=20)
    assert scope.cancelled_caught

"""The git branch of a workspace (spec/sources.md §2.6)."""

from __future__ import annotations

import os
from subprocess import DEVNULL

import anyio
from anyio import run_process


async def current_branch(workspace: str | None, *, git: str = "git", seconds: float = 2.0) -> str:
    """Ask git for the branch of a workspace.

    Args:
        workspace: Its absolute path; anything else has no branch.
        git: The command.
        seconds: How long git may take.

    Returns:
        The branch, or an empty text without git, repository or branch, and after the timeout.
    """
    if not workspace or not os.path.isabs(workspace):
        return ""
    command = [git, "-C", workspace, "branch", "--show-current"]
    with anyio.move_on_after(seconds):
        try:
            finished = await run_process(command, stdin=DEVNULL, stderr=DEVNULL, check=False)
        except (OSError, ValueError):
            # No git, no permission, or a path that cannot be handed to a process.
            return ""
        if finished.returncode == 0:
            return finished.stdout.decode("utf-8", "replace").strip()
    return ""

"""Ask git about a repository; nothing here changes one."""

import os
import re
from dataclasses import dataclass
from pathlib import Path

import anyio
from dsh_mnemon_core.errors import StorageError

COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A full commit id."""

_FORMAT = "%H%x1f%aI%x1f%an%x1f%B%x1e"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit: id, author's time (ISO 8601), author, message."""

    id: str
    time: str
    author: str
    message: str

    @property
    def subject(self) -> str:
        """The first line of the message."""
        return self.message.partition("\n")[0]

    def __str__(self) -> str:
        return f"commit {self.id[:12]}, {self.time}, {self.author}\n{self.message}"


class Repository:
    """A repository, or a folder that turns out to be none."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def head(self) -> str | None:
        """Return the commit that is checked out; ``None`` before the first one.

        Raises:
            StorageError: ``git-failed``: there is no git, or this is no repository.
        """
        await self._git("rev-parse", "--git-dir")
        found = await self._git("rev-parse", "--verify", "--quiet", "HEAD", allowed=(0, 1))
        return found.strip() or None

    async def log(self, head: str, limit: int, containing: str | None = None) -> list[Commit]:
        """Return commits from ``head`` on, newest first, whose message holds a text."""
        found = () if containing is None else ("-i", "--fixed-strings", f"--grep={containing}")
        options = (f"--max-count={limit}", f"--format={_FORMAT}", *found)
        text = await self._git("log", *options, head, "--")
        entries = (entry.strip() for entry in text.split("\x1e"))
        return [Commit(*entry.split("\x1f", 3)) for entry in entries if entry]

    async def commit(self, head: str, name: str) -> Commit | None:
        """Return one commit among those that ``head`` reaches, by its id or the start of it."""
        full = await self._git(
            "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", allowed=(0, 1, 128)
        )
        if not COMMIT.fullmatch(full.strip()):
            return None
        beyond = await self._git("rev-list", "--max-count=1", full.strip(), f"^{head}", "--")
        return None if beyond else (await self.log(full.strip(), 1))[0]

    async def changes(self, commit: str) -> str:
        """Return which files a commit changed, and by how much."""
        plain = ("--no-ext-diff", "--no-textconv", "--no-color")
        shown = await self._git("show", "--format=", "--stat=100", *plain, commit, "--")
        return shown.strip("\n")

    async def _git(self, *arguments: str, allowed: tuple[int, ...] = (0,)) -> str:
        kept = {key: item for key, item in os.environ.items() if not key.startswith("GIT_")}
        quiet = ("--no-pager", "-c", "log.showSignature=false")
        command = ["git", "-C", str(self._path), *quiet, *arguments]
        try:
            done = await anyio.run_process(
                command, check=False, env={**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8"}
            )
        except OSError as error:
            raise StorageError("git-failed", "git cannot be run") from error
        if done.returncode not in allowed:
            raise StorageError("git-failed", f"git {arguments[0]} ended with {done.returncode}")
        return done.stdout.decode("utf-8", "replace")

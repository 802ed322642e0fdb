import os
import subprocess

import pytest


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def commit():
    """Return a function that commits a file in a repository, which it makes if it is missing."""
    environment = {key: item for key, item in os.environ.items() if not key.startswith("GIT_")}
    for role in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{role}_NAME": "Ada", f"GIT_{role}_EMAIL": "ada@example.org"}
        environment |= {f"GIT_{role}_DATE": "2026-01-02T03:04:05Z"}

    def make(folder, message=None, name="notes.txt"):
        git = ["git", "-c", "init.defaultBranch=main", "-C", str(folder)]
        if not (folder / ".git").exists():
            subprocess.run([*git, "init", "-q"], check=True, env=environment)
        if message is not None:
            (folder / name).write_text(message, encoding="utf-8")
            subprocess.run([*git, "add", name], check=True, env=environment)
            subprocess.run([*git, "commit", "-q", "-m", message], check=True, env=environment)

    return make

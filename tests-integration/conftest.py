import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """An environment whose data and settings lie in a temporary directory."""
    home = tmp_path / "home"
    home.mkdir()
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MNEMON")}
    return {
        **kept,
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "MNEMON_DATA_DIR": str(home / "data"),
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }


# Projects of their own, which test_third_party.py builds and tests.
collect_ignore = ["third_party"]

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(environment: dict[str, str], tmp_path: Path) -> Run:
    """Run the console script in a workspace of its own."""
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    command = str(Path(sys.executable).with_name("dsh-mnemon"))

    def call(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [command, *arguments],
            cwd=workspace,
            env={**environment, **env},
            capture_output=True,
            encoding="utf-8",
            timeout=60,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return call

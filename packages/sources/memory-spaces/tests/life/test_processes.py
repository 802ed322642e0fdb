"""Several processes on one registry, and processes that are killed (spec/sources.md §4.2, D31).

``MNEMON_KILL_ROUNDS`` sets how often the writers are killed; 3 unless it is given.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

WRITER = Path(__file__).with_name("space_writer.py")
ROUNDS = int(os.environ.get("MNEMON_KILL_ROUNDS", "3"))
WRITERS = 3

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the writers fork")


def start(root: Path, prefix: str, count: int, processes: int = 1) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(root), prefix, str(count), str(processes)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def acknowledged(lines: list[str]) -> dict[str, tuple[str, str]]:
    rows = [line.strip().split("\t") for line in lines if line.endswith("\n")]
    return {row[0]: (row[1], row[2]) for row in rows}


async def registered(life: Any) -> dict[str, tuple[str, str]]:
    catalogue = await life.spaces.current()
    assert catalogue.faults == ()
    return {space.id: (space.name, space.description) for space in catalogue.spaces}


@pytest.mark.requirement("memory-spaces:registry:processes")
async def test_processes_that_write_at_once_lose_nothing(life: Any) -> None:
    process = start(life.root, "writer", 10, 4)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    told = acknowledged(output.splitlines(keepends=True))
    assert len(told) == 40
    assert await registered(life) == told
    catalogue = await life.spaces.current()
    assert len(catalogue.active) == 40
    assert [space.id for space in catalogue.spaces].count("default") == 1


def kill_writers(root: Path, number: int) -> list[str]:
    """Let the writers run for a random while, kill each, and return what they acknowledged."""
    processes = [start(root, f"{number} {name}", 100_000) for name in range(WRITERS)]
    assert processes[0].stdout is not None
    lines = [processes[0].stdout.readline()]
    for process in random.sample(processes, WRITERS):
        time.sleep(random.uniform(0, 0.03))
        process.kill()
    for process in processes:
        lines += process.communicate()[0].splitlines(keepends=True)
    return lines


@pytest.mark.requirement("memory-spaces:registry:crash")
async def test_killed_writers_lose_nothing_that_was_acknowledged(life: Any) -> None:
    told: dict[str, tuple[str, str]] = {}
    for number in range(ROUNDS):
        told |= acknowledged(kill_writers(life.root, number))
        found = await registered(life)
        assert told.items() <= found.items()
        # What the dead left behind keeps nobody out, and makes nothing unreadable.
        await life.spaces.set_active(next(iter(told)), active=False)
        await life.spaces.set_active(next(iter(told)), active=True)
    assert len(told) >= ROUNDS
    stores = {path.parent.name for path in (life.root / "data").glob("*/mnemon.db")}
    assert stores <= set(await registered(life))

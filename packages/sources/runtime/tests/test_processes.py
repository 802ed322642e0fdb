"""Several processes on one store, and processes that are killed (spec/sources.md §1.4, §2.3).

``MNEMON_KILL_ROUNDS`` sets how often four writers are killed; 6 unless it is given.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest
from dsh_mnemon_source_runtime._format import markdown
from dsh_mnemon_source_runtime._memory import RuntimeMemory
from dsh_mnemon_source_runtime.contracts import Mutation

WRITER = Path(__file__).with_name("writer_process.py")
ROUNDS = int(os.environ.get("MNEMON_KILL_ROUNDS", "6"))
WRITERS = 4


def start(
    root: Path, prefix: str, count: int, limit: int, processes: int = 1
) -> subprocess.Popen[str]:
    arguments = [str(root), prefix, *map(str, (count, limit, processes))]
    command = [sys.executable, str(WRITER), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def write_at_once(root: Path, processes: int, count: int) -> list[str]:
    process = start(root, "writer", count, 1_048_576, processes)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.splitlines()


@pytest.mark.requirement("runtime:lock:processes")
async def test_eight_processes_lose_none_of_four_hundred_entries(
    tmp_path: Path, make_memory: Callable[..., RuntimeMemory]
) -> None:
    acknowledged = write_at_once(tmp_path, 8, 50)
    state = await make_memory().current()
    contents = [entry.content for entry in state.entries]
    assert len(acknowledged) == 400
    assert sorted(contents) == sorted(acknowledged)
    for writer in range(8):
        own = [content for content in contents if content.startswith(f"writer {writer} ")]
        assert own == [f"writer {writer} entry {number}" for number in range(50)]


def kill_writers(root: Path, number: int) -> list[str]:
    """Let four writers run for a random while, kill each, and return what they acknowledged."""
    names = [f"round {number} writer {writer}" for writer in range(WRITERS)]
    processes = [start(root, name, 1_000_000, 600) for name in names]
    first = pipe(processes[0]).readline()
    for process in random.sample(processes, WRITERS):
        time.sleep(random.uniform(0, 0.03))
        process.kill()
    lines = [first]
    for process in processes:
        lines += process.communicate()[0].splitlines(keepends=True)
    return [line.strip() for line in lines if line[-1:] == "\n"]


def pipe(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stdout is not None
    return process.stdout


@pytest.mark.requirement("runtime:files:crash")
async def test_killed_writers_lose_nothing_that_was_acknowledged(
    tmp_path: Path, folder: Path, make_memory: Callable[..., RuntimeMemory]
) -> None:
    acknowledged: set[str] = set()
    for number in range(ROUNDS):
        acknowledged |= set(kill_writers(tmp_path, number))
        memory = make_memory()
        state = await memory.current()
        page = await memory.archived(limit=1_000_000, offset=0)
        found = {entry.content for entry in state.entries}
        archived = {line["content"] for line in page["entries"]}
        assert acknowledged <= found | archived
        # Opening has put the Markdown right, and nothing of it was taken for a hand edit.
        assert read(folder / "MEMORY.md") == markdown(state.entries, "memory")
        assert await memory.hand_edits() == []
        assert "edited" not in children(folder)
    assert len(acknowledged) >= ROUNDS


DIE = """
import os, runpy, sys
real, left = os.replace, [int(sys.argv.pop())]
def replace(source, target):
    if not left[0]:
        os._exit(9)
    left[0] -= 1
    real(source, target)
    if target.name == "memories.json" and not left[0]:
        os._exit(9)
os.replace = replace
sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def die_at(root: Path, renames: int) -> int:
    arguments = [str(WRITER), str(root), "new", "1", "1000", "1", str(renames)]
    return subprocess.run([sys.executable, "-c", DIE, *arguments], check=False).returncode


@pytest.mark.requirement("runtime:files:crash")
@pytest.mark.parametrize(
    ("renames", "last"), [(renames, last) for last in (3, 4) for renames in range(last + 1)]
)
async def test_a_death_at_any_rename_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, folder: Path, make_memory: Callable[..., RuntimeMemory], renames: int, last: int
) -> None:
    before = write_at_once(tmp_path, 1, 2)
    if last == 4:
        # Nothing says any more who wrote USER.md, so that it is written as well.
        (folder / ".rendered.json").unlink()
    assert die_at(tmp_path, renames) == 9
    memory = make_memory()
    state = await memory.current()
    added = ["new 0 entry 0"] if renames == last else []
    assert [entry.content for entry in state.entries] == before + added
    assert read(folder / "MEMORY.md") == markdown(state.entries, "memory")
    assert await memory.hand_edits() == []
    assert "edited" not in children(folder)
    # What the dead process left behind keeps nobody out.
    await memory.change(
        "memory", memory.steps().mutate(Mutation(action="add", target="memory", content="next"))
    )


def read(path: Path) -> bytes:
    return path.read_bytes()


def children(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]

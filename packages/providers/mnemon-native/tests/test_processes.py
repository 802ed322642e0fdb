"""Several processes on one store, and processes that are killed (spec/mnemon-native.md §2.6, §14).

``MNEMON_KILL_ROUNDS`` sets how often writers are killed; 4 unless it is given.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight

WRITER = Path(__file__).with_name("writer_process.py")
ROUNDS = int(os.environ.get("MNEMON_KILL_ROUNDS", "4"))
ON_ONE_STORE = 5


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "data" / "shared" / "mnemon.db"
    file.parent.mkdir(parents=True)
    create_file(file)
    return file


def start(path: Path, how: str, prefix: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(path), how, prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


async def contents(path: Path) -> list[str]:
    store = MnemonStore(path, StoreOptions())
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list(limit=1_000, cursor=cursor)
        found += [row.content for row in page.rows]
        cursor = page.next_cursor
        if cursor is None:
            break
    await store.aclose()
    return found


def check_file(path: Path) -> None:
    """A store that was cut off anywhere is sound, and its edges have both ends."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


@pytest.mark.requirement("native:processes")
async def test_two_processes_write_and_a_third_reads(path: Path) -> None:
    store = MnemonStore(path, StoreOptions())
    await store.remember(NewInsight(content="from here, before"))
    processes = [start(path, how, how, 40) for how in ("remember", "import")]
    seen = 0
    while any(process.poll() is None for process in processes):
        counted = await store.status()
        assert (counted.total_insights or 0) >= seen
        seen = counted.total_insights or 0
        await store.search("note", limit=3)
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    await store.remember(NewInsight(content="from here, after", source="draft"))
    # What others wrote is found by content and by word, without opening the store again.
    repeated = await store.remember(NewInsight(content="import note 39"))
    assert repeated.outcome.action == "skipped"
    assert [row.content for row, _ in await store.search("remember 31", limit=1)] == [
        "remember note 31"
    ]
    await store.aclose()
    written = [line for output in outputs for line in output]
    assert sorted(await contents(path)) == sorted(
        ["from here, before", "from here, after", *written]
    )
    assert len(written) == 80
    check_file(path)


def kill_writers(path: Path, number: int) -> set[str]:
    """Let three writers run for a random while, kill each; return what they acknowledged."""
    kinds = ("remember", "import", "originals")
    processes = [start(path, how, f"round {number} {how}", 1_000_000) for how in kinds]
    stream = processes[0].stdout
    assert stream is not None
    first = stream.readline()
    for process in random.sample(processes, len(processes)):
        time.sleep(random.uniform(0, 0.15))
        process.kill()
    outputs = [process.communicate()[0].splitlines(keepends=True) for process in processes]
    lines = [first, *(line for output in outputs for line in output)]
    return {line.strip() for line in lines if line.endswith("\n")}


@pytest.mark.requirement("native:crash")
@pytest.mark.parametrize("start_round", range(0, ROUNDS, ON_ONE_STORE))
async def test_killed_writers_lose_nothing_that_was_acknowledged(
    path: Path, start_round: int
) -> None:
    acknowledged: set[str] = set()
    rounds = range(start_round, min(start_round + ON_ONE_STORE, ROUNDS))
    for number in rounds:
        acknowledged |= kill_writers(path, number)
        found = await contents(path)
        assert acknowledged <= set(found)
        assert len(found) == len(set(found))
        # Originals of one batch are all there or none.
        originals = [c for c in found if c.startswith(f"round {number} originals")]
        assert len(originals) % 5 == 0
        check_file(path)
    assert len(acknowledged) >= len(rounds)


@pytest.mark.requirement("native:crash")
async def test_an_index_of_killed_writers_answers_like_one_made_anew(path: Path) -> None:
    kill_writers(path, 0)
    store = MnemonStore(path, StoreOptions())
    answers = [await store.search(f"note {number}", limit=20) for number in range(5)]
    await store.aclose()
    for file in path.parent.glob("index.db*"):
        file.unlink()
    fresh = MnemonStore(path, StoreOptions())
    again = [await fresh.search(f"note {number}", limit=20) for number in range(5)]
    await fresh.aclose()
    ids = [[(row.id, score) for row, score in answer] for answer in answers]
    assert ids == [[(row.id, score) for row, score in answer] for answer in again]
    assert any(ids)

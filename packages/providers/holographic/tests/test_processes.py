"""Several processes on one file, and processes that are killed (§6.2).

``MNEMON_KILL_ROUNDS`` sets how often two writers are killed; 3 unless it is given.
"""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from dsh_mnemon_provider_holographic._algebra import bundle, decode, similarity
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_source_memory_spaces.provider_sdk import ListRequest

WRITER = Path(__file__).with_name("writer_process.py")
ROUNDS = int(os.environ.get("MNEMON_KILL_ROUNDS", "3"))


def start(folder: Path, prefix: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(WRITER), str(folder), prefix, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_whole(path: Path) -> None:
    """Check that every fact has its vector, link and index entry, and its place in the bank."""
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        check = "INSERT INTO facts_fts (facts_fts, rank) VALUES ('integrity-check', 1)"
        connection.execute(check)
        blobs = [row[0] for row in connection.execute("SELECT hrr_vector FROM facts")]
        vectors = [vector for blob in blobs if (vector := decode(blob, 64)) is not None]
        assert len(vectors) == len(blobs)
        for table in ("fact_entities", "dsh_fact_meta"):
            query = f"SELECT count(*) FROM facts JOIN {table} USING (fact_id)"
            assert connection.execute(query).fetchone() == (len(blobs),)
        query = "SELECT fact_count, vector FROM memory_banks"
        ((count, blob),) = connection.execute(query).fetchall()
        bank = decode(blob, 64)
        assert bank is not None
        assert count == len(blobs)
        assert similarity(bank, bundle(vectors)) == pytest.approx(1.0)


def stored(engine: Engine) -> list[str]:
    """Return every content, page by page: fast writers store more than one page holds."""
    found: list[str] = []
    page = engine.list(ListRequest(limit=1_000))
    found += [item.content for item in page.items]
    while page.next_cursor is not None:
        page = engine.list(ListRequest(limit=1_000, cursor=page.next_cursor))
        found += [item.content for item in page.items]
    return found


@pytest.mark.requirement("holographic:file:processes")
def test_two_processes_lose_nothing(tmp_path: Path, engine_of: Callable[..., Engine]) -> None:
    writers = [start(tmp_path, name, 40) for name in ("one", "two")]
    acknowledged = [line for it in writers for line in it.communicate(timeout=120)[0].splitlines()]
    assert [it.returncode for it in writers] == [0, 0]
    assert len(acknowledged) == 80
    assert sorted(stored(engine_of("facts.db"))) == sorted(acknowledged)
    check_whole(tmp_path / "facts.db")


@pytest.mark.requirement("holographic:file:killed")
def test_killed_writers_leave_whole_facts(tmp_path: Path, engine_of: Callable[..., Engine]) -> None:
    acknowledged: list[str] = []
    for number in range(ROUNDS):
        writers = [start(tmp_path, f"{number} {name}", 1_000_000) for name in ("one", "two")]
        first = writers[0].stdout
        assert first is not None
        acknowledged.append(first.readline().rstrip("\n"))
        time.sleep(random.uniform(0, 0.05))
        for writer in writers:
            writer.kill()
        for writer in writers:
            lines = writer.communicate()[0].splitlines(keepends=True)
            acknowledged += [line.rstrip("\n") for line in lines if line.endswith("\n")]
        assert set(acknowledged) <= set(stored(engine_of("facts.db")))
        check_whole(tmp_path / "facts.db")

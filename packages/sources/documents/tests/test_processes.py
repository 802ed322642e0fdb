"""Several processes on one store, and processes that are killed (spec/sources.md §1.4, §3.7).

``MNEMON_KILL_ROUNDS`` sets how often writers are killed; 6 unless it is given.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_source_documents._format import split
from dsh_mnemon_source_documents._index import State
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Request
from dsh_mnemon_source_documents._text import sha256

WRITER = Path(__file__).with_name("writer_process.py")
MORTAL = Path(__file__).with_name("mortal_process.py")
ROUNDS = int(os.environ.get("MNEMON_KILL_ROUNDS", "6"))

# A store that stays small keeps hundreds of rounds quick.
CHUNKS = {f"from-{done}": min(20, ROUNDS - done) for done in range(0, ROUNDS, 20)}


def command(root: Path, workspace: str, count: int, processes: int) -> list[str]:
    return [sys.executable, str(WRITER), str(root), workspace, str(count), str(processes)]


def output_of(command: list[str]) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def said(output: str) -> list[dict[str, Any]]:
    """Return the acknowledged changes; a torn last line is none."""
    return [json.loads(line) for line in output.splitlines(keepends=True) if line[-1:] == "\n"]


def check_whole(folder: Path, state: State) -> None:
    """Check that every record has its body, exactly, and that nothing else lies around."""
    for record in state.records:
        data = (folder.parent / record.relative_path).read_bytes()
        assert sha256(split(data.decode())[1]) == record.content_hash
        assert len(data) == record.size_bytes
    expected = {record.relative_path for record in state.records}
    found = {
        path.relative_to(folder.parent).as_posix()
        for status in ("active", "archived")
        for path in (folder / status).glob("*")
    }
    assert found == expected
    assert not list(folder.rglob("*.tmp"))
    assert not (folder / ".pending.json").exists()


def check_kept(state: State, changes: Iterable[dict[str, Any]]) -> None:
    """Check that what was acknowledged is there, or something later."""
    for change in changes:
        record = state.by_id[change["id"]]
        assert record.revision >= change["revision"]
        if record.revision == change["revision"]:
            assert record.content_hash == change["hash"]
        if change["action"] == "archived":
            assert not record.is_active


@pytest.mark.requirement("documents:lock:processes")
async def test_processes_that_write_at_once_lose_nothing(
    tmp_path: Path, folder: Path, workspace: str, make_library: Callable[..., Library]
) -> None:
    changes = said(output_of(command(tmp_path, workspace, 25, 3)))
    assert len(changes) == 75
    state = (await make_library().overview()).state
    check_whole(folder, state)
    check_kept(state, changes)
    assert len(state.records) == sum(change["action"] == "created" for change in changes)


def kill_writers(root: Path, workspace: str) -> list[dict[str, Any]]:
    """Let two writers run for a random while, kill both, and return what they acknowledged."""
    with subprocess.Popen(
        command(root, workspace, 1_000_000, 2),
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(random.uniform(0, 0.1))
        os.killpg(process.pid, signal.SIGKILL)
        rest = process.stdout.read()
    return said(first + rest)


@pytest.mark.requirement("documents:crash:kill")
@pytest.mark.parametrize("rounds", CHUNKS.values(), ids=CHUNKS)
async def test_killed_writers_leave_a_whole_store(
    tmp_path: Path,
    folder: Path,
    workspace: str,
    make_library: Callable[..., Library],
    rounds: int,
) -> None:
    changes: list[dict[str, Any]] = []
    for _ in range(rounds):
        changes += kill_writers(tmp_path, workspace)
        library = make_library()
        overview = await library.overview()
        assert not overview.unhealthy
        check_whole(folder, overview.state)
        check_kept(overview.state, changes)
        found = await library.search(Request(query="", include_archived=True, limit=50))
        assert len(found.found) == min(50, len(overview.state.records))
        assert not found.unhealthy
        await library.close()
    assert len(changes) >= rounds


@pytest.mark.requirement("documents:crash:kill")
@pytest.mark.parametrize("kind", ["create", "update", "retitle", "archive", "import"])
async def test_a_death_at_any_step_leaves_the_old_state_or_the_new_one(
    tmp_path: Path, workspace: str, kind: str, make_library: Callable[..., Library]
) -> None:
    roots = [tmp_path / f"{kind}-{steps}" for steps in range(10)]
    before: list[str] = []
    jobs: list[str] = []
    for root in roots:
        library = make_library(root)
        first = Mutation(action="create", title="One", content="Old")
        revision, answer = await library.change(workspace, library.steps(workspace).mutate(first))
        before.append(revision)
        jobs += [str(root), answer["document"]["id"]]
    output = output_of([sys.executable, str(MORTAL), workspace, kind, *jobs])
    died = json.loads(output).count(True)
    changed: list[bool] = []
    for root, revision in zip(roots[:died], before, strict=False):
        fresh = make_library(root)
        state = (await fresh.overview()).state
        check_whole(root / "documents", state)
        changed.append(state.revision != revision)
        # What the dead process left behind keeps nobody out.
        later = Mutation(action="create", title="Next", content="Next")
        await fresh.change(workspace, fresh.steps(workspace).mutate(later))
        check_whole(root / "documents", (await fresh.overview()).state)
    # Until the index is renamed nothing happened; afterwards it did.
    assert changed == sorted(changed)
    assert set(changed) == {False, True}

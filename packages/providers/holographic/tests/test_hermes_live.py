"""The code of Hermes on a file of ours, and the other way round (§7).

Runs where ``MNEMON_HERMES`` names a folder with ``holographic.py``, ``store.py`` and
``retrieval.py`` of the plugin, ``plugins/memory/holographic`` of ``hermes-agent`` 0.19.0.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ListRequest,
    RememberRequest,
    SearchRequest,
)

HERMES = os.environ.get("MNEMON_HERMES")
pytestmark = pytest.mark.skipif(not HERMES, reason="MNEMON_HERMES names no plugin of Hermes")

WORK = """
import sys, types
folder, path, count = sys.argv[1:]
sys.path.insert(0, folder)
state = types.ModuleType("hermes_state")
state.apply_wal_with_fallback = lambda c, db_label="": c.execute("PRAGMA journal_mode=WAL")
sys.modules["hermes_state"] = state
from store import MemoryStore
from retrieval import FactRetriever
store = MemoryStore(path, hrr_dim=256)
for number in range(int(count)):
    store.add_fact(f"Hermes says {number} to Grace Hopper.", category="project")
for fact in store.list_facts(limit=1000):
    print(fact["content"])
FactRetriever(store, hrr_dim=256).search("Grace Hopper")
FactRetriever(store, hrr_dim=256).probe("Grace Hopper", category="project")
FactRetriever(store, hrr_dim=256).contradict()
store.rebuild_all_vectors()
"""


def hermes(path: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WORK, str(HERMES), str(path), str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.requirement("holographic:schema:golden")
def test_hermes_lists_and_ranks_what_we_wrote(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    contents = [f"Grace Hopper wrote note {number}." for number in range(30)]
    engine.remember([RememberRequest(content=content, category="fact") for content in contents])
    process = hermes(engine.store.path, 0)
    listed = process.communicate(timeout=120)[0].splitlines()
    assert process.returncode == 0
    assert sorted(listed) == sorted(contents)
    assert len(engine.search(SearchRequest(query="Grace Hopper note 7")).results) == 10


@pytest.mark.requirement("holographic:file:processes")
def test_hermes_and_we_write_at_once(engine_of: Callable[..., Engine]) -> None:
    engine = engine_of()
    engine.remember([RememberRequest(content="We begin.")])
    process = hermes(engine.store.path, 40)
    for number in range(40):
        request = RememberRequest(content=f"We say {number} to Ada Lovelace.", category="project")
        engine.remember([request])
    process.communicate(timeout=120)
    assert process.returncode == 0
    items = engine.list(ListRequest(limit=1_000)).items
    assert len(items) == 81
    assert {item.source for item in items} == {"user", "external"}

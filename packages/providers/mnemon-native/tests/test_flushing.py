"""Commits are synced behind the caller's back (spec/mnemon-native.md §2.6)."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._store import flushing
from dsh_mnemon_provider_mnemon_native._store.flushing import Flusher
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight

pytestmark = pytest.mark.requirement("native:durable")


def test_a_request_syncs_the_log_and_closing_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "mnemon.db-wal"
    log.write_bytes(b"frames")
    synced: list[int] = []

    def sync(descriptor: int) -> None:
        synced.append(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(flushing, "_sync", sync)
    flusher = Flusher(tmp_path / "mnemon.db")
    flusher.request()
    flusher.close()
    assert set(synced) == {log.stat().st_ino}
    flusher.close()


def test_a_log_that_is_gone_is_no_error(tmp_path: Path) -> None:
    flusher = Flusher(tmp_path / "mnemon.db")
    flusher.request()
    flusher.close()
    assert threading.active_count() >= 1
    assert list(tmp_path.iterdir()) == []


async def test_an_original_is_on_the_disk_before_it_is_acknowledged(
    make_store: Callable[..., MnemonStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    levels: list[int] = []
    store = make_store()
    await store.status()

    def level() -> None:
        session = store._open.session  # type: ignore[union-attr]
        session.after_commit = lambda ids: levels.append(
            session.connection.execute("PRAGMA synchronous").fetchone()[0]
        )

    await store._worker.run(level)
    await store.remember(NewInsight(content="a note"))
    await store.remember(NewInsight(content="an original", exact=True))
    await store.remember_many([NewInsight(content="another original")])
    await store.link("n1", "n2")
    assert levels == [1, 2, 2, 1]  # NORMAL, FULL, FULL, NORMAL


async def test_an_acknowledged_write_is_in_the_file_while_the_store_is_open(
    store: MnemonStore, path: Path
) -> None:
    await store.remember(NewInsight(content="seen by others"))
    other = sqlite3.connect(path)
    assert other.execute("SELECT content FROM insights").fetchall() == [("seen by others",)]
    other.close()

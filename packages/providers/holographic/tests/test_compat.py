"""What Hermes does beyond its recordings: age, many facts, other dimensions (§6.6)."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from dsh_mnemon_provider_holographic import compat
from dsh_mnemon_provider_holographic.compat import HermesView


@pytest.fixture
def connection(golden_db: Path) -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(golden_db)) as connection:
        yield connection


@pytest.mark.requirement("holographic:compat:golden")
def test_age_halves_a_score(connection: sqlite3.Connection) -> None:
    query = "deploy approvals"
    plain = HermesView(connection=connection, dim=256).search(query)
    now = datetime(2026, 1, 12, 3, 4, 12, tzinfo=UTC)
    aged = HermesView(connection=connection, dim=256, half_life_days=10, now=now).search(query)
    assert aged[0].score == pytest.approx(plain[0].score / 2)


@pytest.mark.requirement("holographic:compat:golden")
def test_only_the_latest_facts_are_compared(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = HermesView(connection=connection, dim=256)
    assert len(view.contradict()) == 1
    assert view.contradict(category="tool") == []
    monkeypatch.setattr(compat, "_MOST_COMPARED", 5)
    assert view.contradict() == []


@pytest.mark.requirement("holographic:compat:golden")
def test_other_dimensions_are_left_out(connection: sqlite3.Connection) -> None:
    connection.execute("UPDATE facts SET hrr_vector = x'0102030405060708' WHERE fact_id = 13")
    view = HermesView(connection=connection, dim=256)
    assert 13 not in [it.fact_id for it in view.probe("Grace Hopper", limit=50)]
    assert len(view.probe("Grace Hopper", category="unknown", limit=50)) == 0

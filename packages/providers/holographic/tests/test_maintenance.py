"""Feedback, changes, rebuilding, and their commands (§6.3, §6.5)."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_provider_holographic import maintenance
from dsh_mnemon_provider_holographic.__main__ import main
from dsh_mnemon_provider_holographic._algebra import bundle, decode, fact_vector, similarity
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderConflict,
    ProviderNotFound,
    ProviderRejected,
)


def rows(path: Path, query: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


def clock() -> datetime:
    return datetime(2026, 6, 1, tzinfo=UTC)


@pytest.mark.requirement("holographic:feedback:trust")
def test_feedback_moves_trust_within_its_bounds(golden_db: Path) -> None:
    assert maintenance.feedback(golden_db, "holo-1", helpful=True, clock=clock) == 0.55
    query = "SELECT trust_score, helpful_count, updated_at FROM facts WHERE fact_id = 1"
    assert rows(golden_db, query) == [(0.55, 1, "2026-06-01 00:00:00")]
    for expected in (0.1, 0.0, 0.0):
        assert maintenance.feedback(golden_db, "holo-25", helpful=False) == expected


def bank_of(path: Path, category: str) -> Any:
    query = "SELECT vector FROM memory_banks WHERE bank_name = ?"
    with closing(sqlite3.connect(path)) as connection:
        return decode(connection.execute(query, (f"cat:{category}",)).fetchone()[0], 256)


def whole(path: Path, category: str) -> Any:
    query = f"SELECT hrr_vector FROM facts WHERE category = '{category}'"
    vectors = [decode(row[0], 256) for row in rows(path, query)]
    return bundle([vector for vector in vectors if vector is not None])


@pytest.mark.requirement("holographic:update:banks")
def test_a_moved_fact_changes_both_banks(golden_db: Path) -> None:
    identity = maintenance.update(
        golden_db,
        "holo-12",
        content=" Red Falcon needs three approvals. ",
        category="tool",
        tags=["a", "b"],
        trust_delta=0.9,
        entities=["approvals"],
        clock=clock,
    )
    assert identity == "holo-12"
    query = "SELECT content, category, tags, trust_score FROM facts WHERE fact_id = 12"
    expected = ("Red Falcon needs three approvals.", "tool", "a,b", 1.0)
    assert rows(golden_db, query) == [expected]
    query = "SELECT name FROM fact_entities JOIN entities USING (entity_id) WHERE fact_id = 12"
    assert {row[0] for row in rows(golden_db, query)} == {"approvals", "Red Falcon"}
    stored = decode(rows(golden_db, "SELECT hrr_vector FROM facts WHERE fact_id=12")[0][0], 256)
    assert stored is not None
    vector = fact_vector(expected[0], ["approvals", "Red Falcon"], 256)
    assert similarity(stored, vector) == pytest.approx(1.0)
    for category in ("project", "tool"):
        assert similarity(bank_of(golden_db, category), whole(golden_db, category)) == (
            pytest.approx(1.0)
        )


@pytest.mark.requirement("holographic:update:refused")
def test_a_change_that_does_not_fit_is_refused(golden_db: Path, tmp_path: Path) -> None:
    taken = rows(golden_db, "SELECT content FROM facts WHERE fact_id = 2")[0][0]
    cases: list[tuple[type[Exception], dict[str, Any]]] = [
        (ProviderConflict, {"content": taken}),
        (ProviderRejected, {"content": "  "}),
        (InputError, {"content": "\ud800"}),
    ]
    for kind, change in cases:
        with pytest.raises(kind):
            maintenance.update(golden_db, "holo-1", **change)
    for use in (maintenance.rebuild, lambda path: maintenance.update(path, "holo-1")):
        with pytest.raises(ProviderNotFound):
            use(tmp_path / "not-there.db")
    with pytest.raises(ProviderNotFound):
        maintenance.update(golden_db, "holo-99", content="New.")
    assert rows(golden_db, "SELECT count(*) FROM facts") == [(25,)]


@pytest.mark.requirement("holographic:rebuild:all")
def test_rebuilding_puts_every_vector_into_one_dimension(golden_db: Path) -> None:
    with closing(sqlite3.connect(golden_db)) as connection:
        connection.execute("UPDATE facts SET hrr_vector = NULL WHERE fact_id < 5")
        connection.execute("UPDATE facts SET hrr_vector = x'00' WHERE fact_id = 7")
        connection.execute("UPDATE memory_banks SET fact_count = 99")
        connection.commit()
    assert maintenance.rebuild(golden_db, dim=512) == 25
    assert rows(golden_db, "SELECT DISTINCT length(hrr_vector) FROM facts") == [(8 * 512,)]
    query = "SELECT bank_name, dim, fact_count FROM memory_banks ORDER BY 1"
    assert rows(golden_db, query) == [
        ("cat:general", 512, 8),
        ("cat:project", 512, 10),
        ("cat:tool", 512, 3),
        ("cat:user_pref", 512, 4),
    ]
    assert maintenance.rebuild(golden_db) == 25
    assert rows(golden_db, "SELECT DISTINCT dim FROM memory_banks") == [(512,)]


@pytest.mark.requirement("holographic:rebuild:all")
@pytest.mark.parametrize("dim", [8, 100, 8208])
def test_a_dimension_that_does_not_fit_is_refused(golden_db: Path, dim: int) -> None:
    with pytest.raises(ProviderRejected):
        maintenance.rebuild(golden_db, dim=dim)


@pytest.mark.requirement("holographic:maintenance:command")
def test_the_commands(golden_db: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rebuild", str(golden_db), "--dim", "64"]) == 0
    assert main(["feedback", str(golden_db), "holo-1", "helpful"]) == 0
    assert main(["feedback", str(golden_db), "holo-1", "unhelpful"]) == 0
    assert main(["feedback", str(golden_db), "holo-99", "helpful"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "25 facts were encoded anew",
        "the trust in holo-1 is now 0.55",
        "the trust in holo-1 is now 0.45",
    ]
    assert "holo-99" in said.err

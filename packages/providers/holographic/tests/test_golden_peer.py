"""A recorded store of the original, and what the original answers over it (§6.8).

The ranking is another one on purpose (§6.7), so what is compared is which facts are found.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.instant import parse_utc
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_provider_holographic._mapping import stamp
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ListRequest,
    RememberRequest,
    SearchRequest,
)

GOLDEN = Path(__file__).parent / "golden" / "holographic"
STORE: dict[str, Any] = json.loads((GOLDEN / "peer-store-v1.json").read_text(encoding="utf-8"))
RESULTS: dict[str, Any] = json.loads(
    (GOLDEN / "peer-store-v1-results.json").read_text(encoding="utf-8")
)


@pytest.fixture
def engine(tmp_path: Path, engine_of: Callable[..., Engine]) -> Engine:
    shutil.copy(GOLDEN / "peer-store-v1.json", tmp_path / "store.json")
    return engine_of("store.json", hrrDim=1024)


def contents(items: Iterable[Any]) -> list[str]:
    return [item.content if hasattr(item, "content") else item["content"] for item in items]


@pytest.mark.requirement("holographic:peer:golden")
def test_every_fact_is_there_under_its_old_id(engine: Engine) -> None:
    engine.discover()
    with engine.store.reading() as connection:
        assert connection is not None
        rows = connection.execute(
            "SELECT json_extract(m.json, '$.peerId'), content, category, tags, trust_score,"
            " created_at, updated_at FROM facts JOIN dsh_fact_meta m USING (fact_id)"
            " ORDER BY fact_id"
        ).fetchall()
    times = [
        [parse_utc(fact[key]) for key in ("createdAt", "updatedAt")] for fact in STORE["facts"]
    ]
    assert rows == [
        (
            fact["id"],
            fact["content"],
            fact["category"],
            ",".join(fact["tags"]),
            fact["trustScore"],
            *(stamp(moment) for moment in moments if moment is not None),
        )
        for fact, moments in zip(STORE["facts"], times, strict=True)
    ]
    for receipt in RESULTS["remember"]:
        assert receipt["id"] in [row[0] for row in rows]


@pytest.mark.requirement("holographic:peer:golden")
def test_it_is_listed_with_its_entities(engine: Engine) -> None:
    items = engine.list(ListRequest()).items
    assert sorted(contents(items)) == sorted(RESULTS["list"])
    expected = dict(zip(RESULTS["list"], RESULTS["entities"], strict=True))
    assert {item.content: list(item.entities or ()) for item in items} == expected


@pytest.mark.requirement("holographic:peer:golden")
@pytest.mark.parametrize("query", RESULTS["search"])
def test_what_the_original_finds_is_found(engine: Engine, query: str) -> None:
    expected = contents(RESULTS["search"][query])
    found = contents(engine.search(SearchRequest(query=query)).results)
    assert set(expected) <= set(found)


@pytest.mark.requirement("holographic:peer:golden")
def test_what_the_original_relates_is_related(engine: Engine) -> None:
    seed = RESULTS["remember"][0]["id"]
    found = contents(engine.related(seed, 1, "entity"))
    assert found == contents(RESULTS["related"])


@pytest.mark.requirement("holographic:peer:golden")
def test_a_known_content_is_skipped(engine: Engine) -> None:
    content = next(fact["content"] for fact in STORE["facts"] if fact["id"] == RESULTS["dup"]["id"])
    (receipt,) = engine.remember([RememberRequest(content=content)])
    assert receipt["action"] == RESULTS["dup"]["action"]
    assert receipt["provider"] == RESULTS["dup"]["provider"]


@pytest.mark.requirement("holographic:peer:golden")
def test_it_counts_the_same(engine: Engine) -> None:
    status, expected = engine.status(), RESULTS["status"]["stats"]
    stats = status.stats
    assert status.healthy == RESULTS["status"]["healthy"]
    assert stats is not None
    assert stats.total_insights == expected["totalInsights"]
    assert stats.deleted_insights == expected["deletedInsights"]
    assert stats.edge_count == expected["edgeCount"]
    assert stats.oplog_count == expected["oplogCount"]
    assert stats.by_category == expected["byCategory"]
    top = [{"entity": item.entity, "count": item.count} for item in stats.top_entities or ()]
    assert top == expected["topEntities"]

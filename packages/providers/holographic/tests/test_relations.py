"""Facts around a fact (§6.7)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic import _candidates
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_source_memory_spaces.provider_sdk import RememberRequest


@pytest.fixture
def engine(engine_of: Callable[..., Engine]) -> Engine:
    return engine_of()


@pytest.fixture
def golden(golden_db: Path, engine_of: Callable[..., Engine]) -> Engine:
    return engine_of(golden_db.name)


def keep(engine: Engine, *contents: str, **more: Any) -> None:
    engine.remember([RememberRequest(content=content, **more) for content in contents])


@pytest.fixture(params=[_candidates.SCORE_ALL, 0], ids=["every fact", "candidates"])
def score_all(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_candidates, "SCORE_ALL", request.param)


@pytest.mark.usefixtures("score_all")
@pytest.mark.requirement("holographic:related:score")
def test_shared_entities_relate(golden: Engine) -> None:
    found = golden.related("holo-16", 1, "entity")
    scores: list[Any] = [(item.id, item.score) for item in found]
    assert scores == [
        ("holo-5", pytest.approx(0.9 * 0.75)),
        ("holo-1", pytest.approx(0.9 * 0.75)),
        ("holo-3", pytest.approx(0.7 * 0.75)),
        ("holo-2", pytest.approx(0.7 * 0.7)),
    ]
    assert {(item.depth, item.edge_type) for item in found} == {(1, "entity")}


@pytest.mark.usefixtures("score_all")
@pytest.mark.requirement("holographic:related:score")
def test_words_and_structure_relate(golden: Engine) -> None:
    found = {item.id: item for item in golden.related("holo-16", 1, "semantic")}
    assert {item.edge_type for item in found.values()} == {"semantic"}
    assert {"holo-1", "holo-2", "holo-3", "holo-5"} <= set(found)
    assert found["holo-2"].score == pytest.approx(0.7, abs=0.15)


@pytest.mark.usefixtures("score_all")
@pytest.mark.requirement("holographic:related:score")
def test_both_edges_count_by_the_better_one(golden: Engine) -> None:
    found = golden.related("holo-16", 1, None)
    single = {
        edge: {item.id: item.score for item in golden.related("holo-16", 1, edge)}
        for edge in ("entity", "semantic")
    }
    for item in found:
        scores = {edge: known.get(item.id, 0.0) or 0.0 for edge, known in single.items()}
        assert item.edge_type == max(scores, key=lambda edge: scores[edge])
        assert item.score == max(scores.values())


@pytest.mark.requirement("holographic:related:depth")
def test_a_walk_goes_over_shared_entities(engine: Engine) -> None:
    for pair in ("ab", "bc", "cd", "de", "ef"):
        keep(engine, f"Step {pair}.", entities=tuple(f"entity {name}" for name in pair))
    found = engine.related("holo-1", 5, "entity")
    assert [(item.id, item.depth) for item in found] == [
        ("holo-2", 1),
        ("holo-3", 2),
        ("holo-4", 3),
    ]
    assert [item.score for item in found] == [
        pytest.approx(0.7 * 0.75 * 0.7**hop) for hop in range(3)
    ]


@pytest.mark.requirement("holographic:related:score")
def test_twenty_are_the_most(engine: Engine) -> None:
    keep(engine, *(f"Note {number} on it." for number in range(30)), entities=("it all",))
    assert len(engine.related("holo-1", 1, None)) == 20


@pytest.mark.requirement("holographic:related:unknown")
@pytest.mark.parametrize(
    ("identity", "edge"), [("holo-99", None), ("x", None), ("holo-1", "causal")]
)
def test_what_leads_nowhere_relates_nothing(
    golden: Engine, identity: str, edge: str | None
) -> None:
    assert golden.related(identity, 1, edge) == []


@pytest.mark.requirement("holographic:related:unknown")
@pytest.mark.usefixtures("score_all")
def test_a_fact_without_words_relates_nothing(engine: Engine) -> None:
    keep(engine, "?!", "Something.")
    assert engine.related("holo-1", 1, None) == []

"""Finding facts, on the database Hermes made and on others (§6.7, D63)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic import _candidates
from dsh_mnemon_provider_holographic._algebra import encode, fact_vector
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_provider_holographic._mapping import number_of
from dsh_mnemon_source_memory_spaces.provider_sdk import Insight, RememberRequest, SearchRequest

pytestmark = pytest.mark.usefixtures("score_all")


@pytest.fixture(params=[_candidates.SCORE_ALL, 0], ids=["every fact", "candidates"], autouse=True)
def score_all(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge every fact, and then only those an index names."""
    monkeypatch.setattr(_candidates, "SCORE_ALL", request.param)


@pytest.fixture
def golden(golden_db: Path, engine_of: Callable[..., Engine]) -> Engine:
    return engine_of(golden_db.name)


@pytest.fixture
def engine(engine_of: Callable[..., Engine]) -> Engine:
    return engine_of()


def find(engine: Engine, query: str, **more: Any) -> Sequence[Insight]:
    return engine.search(SearchRequest(query=query, **more)).results


def numbers(items: Sequence[Insight]) -> list[int | None]:
    return [number_of(item.id) for item in items]


def keep(engine: Engine, *contents: str, **more: Any) -> None:
    engine.remember([RememberRequest(content=content, **more) for content in contents])


@pytest.mark.requirement("holographic:search:order")
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what port does the billing-api listen on", [16, 2]),
        ("deploy approvals", [12]),
        ("备份", [18]),
        ("中文讨论", [17]),
        ("北极星", [20, 19]),
        ("Grace Hopper port", [16]),
        ("release tag nox", [8]),
        ("数据库备份", [18]),
        ("上海机房", [18]),
        ("billing-api", [16]),
    ],
)
def test_the_answer_comes_first(golden: Engine, query: str, first: list[int]) -> None:
    found = find(golden, query)
    assert numbers(found)[: len(first)] == first
    scores = [item.score for item in found if item.score is not None]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)


@pytest.mark.requirement("holographic:search:nothing")
@pytest.mark.parametrize("query", ["zebra", "cafe", "", "  ", "?!", "x"])
def test_a_query_that_matches_nothing_finds_nothing(golden: Engine, query: str) -> None:
    assert find(golden, query) == ()


@pytest.mark.requirement("holographic:search:terms")
def test_accents_do_not_matter(golden_db: Path, engine_of: Callable[..., Engine]) -> None:
    engine = engine_of(golden_db.name, minTrust=0.1)
    assert numbers(find(engine, "cafe")) == [25]
    assert numbers(find(engine, "Résumé")) == [25]


@pytest.mark.requirement("holographic:search:topic")
def test_a_shared_entity_alone_ranks_below_the_topic(golden: Engine) -> None:
    found = numbers(find(golden, "Grace Hopper port"))
    assert found.index(2) < found.index(1)
    assert found.index(2) < found.index(3)


@pytest.mark.requirement("holographic:search:topic")
def test_importance_alone_finds_nothing(engine: Engine) -> None:
    keep(engine, "Ada Lovelace likes tea.", "The vault opens at nine.", importance=5)
    keep(engine, "The report is due at ten.", importance=1)
    assert [item.content for item in find(engine, "report due")] == ["The report is due at ten."]


@pytest.mark.requirement("holographic:search:entities")
def test_an_alias_names_its_entity(engine: Engine) -> None:
    keep(engine, "It was reviewed.", entities=("Guido van Rossum",))
    with engine.store.writing() as connection:
        connection.execute("UPDATE entities SET aliases = 'BDFL, the boss'")
    assert [item.entities for item in find(engine, "bdfl")] == [("Guido van Rossum",)]
    keep(engine, "Something else.", entities=("the BOSS",))
    assert len(find(engine, "BDFL")) == 2


@pytest.mark.requirement("holographic:search:entities")
@pytest.mark.parametrize("query", ["going", "argon", "go-to"])
def test_a_name_inside_a_word_is_no_name(engine: Engine, query: str) -> None:
    keep(engine, "Nothing of it.", entities=("Go", "the"))
    found = find(engine, query)
    assert numbers(found) == ([1] if query == "go-to" else [])


@pytest.mark.requirement("holographic:search:entities")
def test_part_of_a_name_finds_what_is_linked_to_it(engine: Engine) -> None:
    keep(engine, "It was reviewed.", entities=("Grace Hopper",))
    keep(engine, "Nothing of the kind.", entities=("the",))
    assert numbers(find(engine, "was Hopper there")) == [1]


@pytest.mark.requirement("holographic:search:entities")
def test_a_fact_whose_vector_alone_holds_the_entity_is_a_candidate(engine: Engine) -> None:
    keep(engine, "Reviewed by Ada.", entities=("Ada Lovelace",))
    keep(engine, "An unlinked remark on parsers.")
    with engine.store.writing() as connection:
        vector = fact_vector("An unlinked remark on parsers.", ["Ada Lovelace"], 256)
        connection.execute("UPDATE facts SET hrr_vector = ? WHERE fact_id = 2", (encode(vector),))
        assert set(_candidates.members(connection, ["Ada Lovelace"], 256)) == {1, 2}
        assert _candidates.members(connection, [], 256) == {}
    assert numbers(find(engine, "Ada Lovelace parsers")) == [2, 1]


@pytest.mark.requirement("holographic:search:filters")
def test_filters(golden: Engine, engine: Engine) -> None:
    for category, expected in [("insight", [8, 7]), ("tool", [8, 7]), ("fact", []), (None, [8, 7])]:
        assert numbers(find(golden, "release tag nox", category=category)) == expected
    keep(engine, "A port of an agent.", source="agent")
    keep(engine, "A port of a user.", source="user")
    assert len(find(engine, "port", source="agent")) == 1
    assert len(find(engine, "port", source="external")) == 0
    assert len(find(golden, "port", source="external")) == 2


@pytest.mark.requirement("holographic:search:filters")
def test_general_is_whatever_has_no_other_name(engine: Engine) -> None:
    keep(engine, "A port.", "Another port.")
    with engine.store.writing() as connection:
        connection.execute("UPDATE facts SET category = 'of-a-fork' WHERE fact_id = 1")
        connection.execute("UPDATE facts SET category = NULL WHERE fact_id = 2")
    assert len(find(engine, "port", category="general")) == 2


@pytest.mark.requirement("holographic:search:filters")
def test_facts_of_little_trust_are_left_out(
    engine_of: Callable[..., Engine], engine: Engine
) -> None:
    keep(engine, "A port.", importance=1)
    assert len(find(engine, "port")) == 1
    assert find(engine_of(minTrust=0.31), "port") == ()


@pytest.mark.requirement("holographic:search:limit")
def test_at_most_fifty_are_found(engine: Engine) -> None:
    keep(engine, *(f"Port number {number}." for number in range(60)))
    assert len(find(engine, "port", limit=1000)) == 50
    assert len(find(engine, "port", limit=0)) == 1


@pytest.mark.requirement("holographic:search:decay")
def test_age_counts_when_it_is_asked_for(
    engine_of: Callable[..., Engine], engine: Engine, now: datetime
) -> None:
    keep(engine, "A port.")
    (fresh,) = find(engine_of(halfLifeDays=10), "port")
    (aged,) = find(engine_of(halfLifeDays=10, now=now + timedelta(days=20)), "port")
    (ageless,) = find(engine_of(now=now + timedelta(days=20)), "port")
    assert fresh.score is not None
    assert aged.score == pytest.approx(fresh.score / 4)
    assert ageless.score == fresh.score


@pytest.mark.requirement("holographic:search:dims")
@pytest.mark.parametrize("broken", ["another dimension", "nothing", "HRR1"])
def test_a_fact_without_a_fitting_vector_is_found_by_its_words(golden: Engine, broken: str) -> None:
    vector = fact_vector("x", [], 64 if broken == "another dimension" else 256)
    blob = {"nothing": None, "HRR1": b"HRR1" + vector.astype("<f4").tobytes()}
    with golden.store.writing() as connection:
        connection.execute(
            "UPDATE facts SET hrr_vector = ? WHERE fact_id = 12",
            (blob.get(broken, encode(vector)),),
        )
    answer = golden.search(SearchRequest(query="deploy approvals"))
    assert numbers(answer.results)[0] == 12
    assert (answer.hint is not None) == (broken == "another dimension")
    assert golden.status().error == answer.hint


@pytest.mark.requirement("holographic:search:reads")
def test_searching_changes_nothing(golden: Engine, golden_db: Path) -> None:
    before = golden_db.read_bytes()
    find(golden, "Grace Hopper port")
    assert golden_db.read_bytes() == before

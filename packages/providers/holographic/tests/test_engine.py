"""Keeping, listing, relating, drawing, forgetting (§1.2, §1.5, §6.5, §6.7)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_provider_holographic import _overview
from dsh_mnemon_provider_holographic._algebra import decode, encode, fact_vector, similarity
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ListRequest,
    ProviderNotFound,
    ProviderRejected,
    RememberRequest,
    SearchRequest,
)


@pytest.fixture
def engine(engine_of: Callable[..., Engine]) -> Engine:
    return engine_of()


@pytest.fixture
def golden(golden_db: Path, engine_of: Callable[..., Engine]) -> Engine:
    return engine_of(golden_db.name)


def keep(engine: Engine, *contents: str, **more: Any) -> Sequence[dict[str, Any]]:
    return engine.remember([RememberRequest(content=content, **more) for content in contents])


def rows(engine: Engine, query: str) -> list[Any]:
    with engine.store.reading() as connection:
        assert connection is not None
        return connection.execute(query).fetchall()


# -- keeping --------------------------------------------------------------------------------------


@pytest.mark.requirement("holographic:write:receipt")
def test_a_new_fact_is_stored_and_a_known_one_skipped(engine: Engine) -> None:
    (first,) = keep(engine, "  A fact of Ada Lovelace. ", importance=4, tags=("a", "b"))
    assert first == {
        "action": "stored",
        "provider": "holographic",
        "id": "holo-1",
        "summary": first["summary"],
        "contentSha256": hashlib.sha256(b"A fact of Ada Lovelace.").hexdigest(),
    }
    before = rows(engine, "SELECT * FROM facts")
    (again,) = keep(engine, "A fact of Ada Lovelace.", importance=1, category="decision")
    assert (again["action"], again["id"]) == ("skipped", "holo-1")
    assert rows(engine, "SELECT * FROM facts") == before
    assert before[0][1:5] == ("A fact of Ada Lovelace.", "general", "a,b", 0.6)


@pytest.mark.requirement("holographic:write:whole")
def test_a_fact_is_written_with_all_that_belongs_to_it(engine: Engine, now: datetime) -> None:
    keep(engine, "It met Alan Turing.", category="fact", entities=("Ada",), source="agent")
    assert rows(engine, "SELECT name FROM entities ORDER BY entity_id") == [
        ("Ada",),
        ("Alan Turing",),
    ]
    ((blob, created, updated),) = rows(
        engine, "SELECT hrr_vector, created_at, updated_at FROM facts"
    )
    vector = decode(blob, 256)
    assert vector is not None
    expected = fact_vector("It met Alan Turing.", ["Ada", "Alan Turing"], 256)
    assert similarity(vector, expected) == pytest.approx(1.0)
    assert created == updated == "2026-03-01 12:00:00"
    assert rows(engine, "SELECT bank_name, dim, fact_count FROM memory_banks") == [
        ("cat:fact", 256, 1)
    ]
    (item,) = engine.list(ListRequest()).items
    assert (item.importance, item.source, item.entities) == (3, "agent", ("Ada", "Alan Turing"))


@pytest.mark.requirement("holographic:write:exact")
def test_an_archived_original_keeps_its_ends(engine: Engine) -> None:
    keep(engine, " An original.\n", exact=True)
    assert rows(engine, "SELECT content FROM facts") == [(" An original.\n",)]


@pytest.mark.requirement("holographic:write:refused")
@pytest.mark.parametrize("exact", [True, False])
def test_a_blank_memory_is_refused(engine: Engine, exact: bool) -> None:
    with pytest.raises(ProviderRejected):
        keep(engine, "Fine.", "  ", exact=exact)
    assert engine.list(ListRequest()).items == ()
    assert keep(engine) == []


@pytest.mark.requirement("holographic:write:unicode")
@pytest.mark.parametrize("wrong", [{"content": "\ud800"}, {"content": "x", "tags": ("\ud800",)}])
def test_what_is_no_unicode_is_refused(engine: Engine, wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        engine.remember([RememberRequest(**wrong)])
    assert caught.value.code == "text-not-unicode"


@pytest.mark.requirement("holographic:write:entities")
def test_a_name_is_resolved_as_it_is_written(engine: Engine) -> None:
    keep(engine, "One.", entities=("100%", "A_B"))
    keep(engine, "Two.", entities=("100x", "AxB", "a_b"))
    names = rows(engine, "SELECT name FROM entities ORDER BY entity_id")
    assert names == [("100%",), ("A_B",), ("100x",), ("AxB",)]


@pytest.mark.requirement("holographic:write:dim")
def test_a_file_keeps_its_dimension(golden: Engine, golden_db: Path, engine_of: Any) -> None:
    wide = engine_of(golden_db.name, hrrDim=1024)
    keep(wide, "A fact for another dimension.")
    assert rows(golden, "SELECT DISTINCT length(hrr_vector) FROM facts") == [(8 * 256,)]
    hint = wide.status().error
    assert hint is not None
    assert "256" in hint
    assert golden.status().error is None


@pytest.mark.requirement("holographic:bank:kept")
def test_banks_follow_all_writers(engine: Engine) -> None:
    keep(engine, "One.", "Two.", category="fact")
    keep(engine, "Three.", category="fact")
    engine.forget("holo-2")
    check_bank(engine, "fact", ["One.", "Three."])
    engine.store._close()  # as if another process had written meanwhile
    keep(engine, "Four.", category="fact")
    check_bank(engine, "fact", ["One.", "Three.", "Four."])
    for number in (1, 3, 4):
        engine.forget(f"holo-{number}")
    assert rows(engine, "SELECT * FROM memory_banks") == []


@pytest.mark.requirement("holographic:bank:kept")
def test_a_bank_holds_vectors_of_one_dimension(engine: Engine) -> None:
    keep(engine, "One.", category="fact")
    with engine.store.writing() as connection:
        other = encode(fact_vector("Two.", [], 64))
        connection.execute(
            "INSERT INTO facts (content, category, hrr_vector) VALUES ('Two.', 'fact', ?)", (other,)
        )
        connection.execute(
            "INSERT INTO facts (content, category, hrr_vector) VALUES ('Three.', 'fact', 'x')"
        )
    engine.store._close()
    keep(engine, "Four.", category="fact")
    check_bank(engine, "fact", ["One.", "Four."])
    engine.forget("holo-2")
    engine.forget("holo-3")
    check_bank(engine, "fact", ["One.", "Four."])


def check_bank(engine: Engine, category: str, contents: Sequence[str]) -> None:
    from dsh_mnemon_provider_holographic._algebra import bundle

    query = f"SELECT vector, fact_count FROM memory_banks WHERE bank_name = 'cat:{category}'"
    ((blob, count),) = rows(engine, query)
    bank = decode(blob, 256)
    assert bank is not None
    expected = bundle([fact_vector(content, [], 256) for content in contents])
    assert count == len(contents)
    assert similarity(bank, expected) == pytest.approx(1.0)


# -- forgetting -----------------------------------------------------------------------------------


@pytest.mark.requirement("holographic:forget:hard")
def test_a_forgotten_fact_is_gone_and_its_entities_stay(engine: Engine) -> None:
    keep(engine, "A secret of Ada Lovelace.")
    result = engine.forget("holo-1")
    assert (result["action"], result["id"]) == ("deleted", "holo-1")
    for table in ("facts", "fact_entities", "dsh_fact_meta", "memory_banks"):
        assert rows(engine, f"SELECT * FROM {table}") == []
    assert rows(engine, "SELECT rowid FROM facts_fts WHERE facts_fts MATCH 'secret'") == []
    assert rows(engine, "SELECT name FROM entities") == [("Ada Lovelace",)]
    assert engine.search(SearchRequest(query="Ada Lovelace")).results == ()


@pytest.mark.requirement("holographic:forget:unknown")
@pytest.mark.parametrize("identity", ["holo-9", "holo-", "", "x" * 500])
def test_an_unknown_fact_is_not_found(engine: Engine, identity: str) -> None:
    keep(engine, "Stays.")
    with pytest.raises(ProviderNotFound):
        engine.forget(identity)
    assert len(engine.list(ListRequest()).items) == 1


# -- listing --------------------------------------------------------------------------------------


@pytest.mark.requirement("holographic:list:order")
def test_the_newest_change_comes_first(golden: Engine) -> None:
    items = golden.list(ListRequest()).items
    assert [item.id for item in items] == [f"holo-{number}" for number in range(24, 0, -1)]


@pytest.mark.requirement("holographic:list:cursor")
@pytest.mark.parametrize("query", [None, "billing Hopper 北极星 port deploy"])
def test_pages_are_the_whole_list(golden: Engine, query: str | None) -> None:
    whole = [item.id for item in golden.list(ListRequest(query=query)).items]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = golden.list(ListRequest(query=query, limit=5, cursor=cursor))
        seen += [item.id for item in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == whole
    assert len(whole) > 5


@pytest.mark.requirement("holographic:list:cursor")
def test_a_cursor_belongs_to_its_question(golden: Engine, golden_db: Path, engine_of: Any) -> None:
    cursor = golden.list(ListRequest(limit=1)).next_cursor
    strict = engine_of(golden_db.name, minTrust=0.6)
    for engine, request in [
        (golden, ListRequest(category="fact", cursor=cursor)),
        (golden, ListRequest(query="port", cursor=cursor)),
        (strict, ListRequest(cursor=cursor)),
    ]:
        with pytest.raises(InputError) as caught:
            engine.list(request)
        assert caught.value.code == "cursor-invalid"


@pytest.mark.requirement("holographic:list:order")
def test_a_category_is_the_one_that_is_shown(golden: Engine) -> None:
    items = golden.list(ListRequest(category="preference")).items
    assert {item.id for item in items} == {"holo-3", "holo-14", "holo-15", "holo-17"}
    assert {item.category for item in items} == {"preference"}


# -- the whole ------------------------------------------------------------------------------------


@pytest.mark.requirement("holographic:graph:pages")
def test_a_graph_has_facts_and_entities(golden: Engine) -> None:
    graph = golden.graph(None)
    colors = {node.id: node.color for node in graph.nodes}
    assert colors["holo-1"] == "#6574d9"
    assert colors["entity:Grace%20Hopper"] == "#2ecc71"
    assert colors["entity:%E5%8C%97%E6%9E%81%E6%98%9F"] == "#2ecc71"
    joined = {(edge.source_id, edge.target_id) for edge in graph.edges}
    assert ("holo-1", "entity:billing-api") in joined
    assert len(graph.edges) == 23
    assert {(edge.label, edge.type) for edge in graph.edges} == {("entity", "entity")}
    assert graph.next_cursor is None
    assert graph.generated_at == "2026-03-01T12:00:00.000Z"


@pytest.mark.requirement("holographic:graph:pages")
@pytest.mark.parametrize(("page", "most"), [(7, 1_000), (500, 9)])
def test_a_large_graph_comes_in_pages(
    golden: Engine, monkeypatch: pytest.MonkeyPatch, page: int, most: int
) -> None:
    whole = {node.id for node in golden.graph(None).nodes}
    monkeypatch.setattr(_overview, "GRAPH_PAGE", page)
    monkeypatch.setattr(_overview, "_MOST_NODES", most)
    seen: set[str] = set()
    cursor: str | None = None
    pages = 0
    while pages == 0 or cursor is not None:
        graph = golden.graph(cursor)
        assert len(graph.nodes) <= most
        ids = {node.id for node in graph.nodes}
        assert all(edge.source_id in ids and edge.target_id in ids for edge in graph.edges)
        seen |= ids
        cursor, pages = graph.next_cursor, pages + 1
    assert (seen, pages > 2) == (whole, True)


@pytest.mark.requirement("holographic:status:stats")
def test_status_counts(golden: Engine, golden_db: Path) -> None:
    status = golden.status()
    stats = status.stats
    assert status.healthy
    assert stats is not None
    assert (stats.total_insights, stats.deleted_insights, stats.oplog_count) == (25, 0, 0)
    assert (stats.edge_count, stats.db_size_bytes) == (23, golden_db.stat().st_size)
    assert stats.by_category == {"general": 8, "fact": 10, "preference": 4, "insight": 3}
    top = [(item.entity, item.count) for item in stats.top_entities or ()]
    assert top[:3] == [("billing-api", 4), ("Grace Hopper", 4), ("Alan Turing", 2)]
    assert golden.entities(2) == list(stats.top_entities or ())[:2]


@pytest.mark.requirement("holographic:status:stats")
def test_no_file_is_an_empty_healthy_store(engine: Engine) -> None:
    status = engine.status()
    assert status.healthy
    assert status.stats is not None
    assert (status.stats.total_insights, status.stats.db_size_bytes) == (0, 0)
    assert engine.list(ListRequest(query="x")).items == ()
    assert engine.related("holo-1", 1, None) == []
    assert not engine.store.path.exists()


@pytest.mark.requirement("holographic:status:unhealthy")
def test_a_damaged_store_is_unhealthy(engine: Engine) -> None:
    engine.store.path.write_bytes(b"nonsense " * 200)
    status = engine.status()
    assert not status.healthy
    assert status.error is not None
    assert str(engine.store.path) in status.error


@pytest.mark.requirement("holographic:map:foreign")
def test_values_of_other_programs_are_read(engine: Engine, now: datetime) -> None:
    keep(engine, "One.", "Two.")
    with engine.store.writing() as connection:
        connection.execute(
            "UPDATE facts SET trust_score = NULL, category = NULL, tags = NULL, updated_at = NULL"
            " WHERE fact_id = 1"
        )
        connection.execute("UPDATE facts SET trust_score = 7, tags = ' a,, b ' WHERE fact_id = 2")
        connection.execute("UPDATE dsh_fact_meta SET json = 'no json' WHERE fact_id = 1")
        connection.execute("UPDATE dsh_fact_meta SET json = '[]' WHERE fact_id = 2")
    two, one = engine.list(ListRequest()).items
    assert (one.category, one.tags, one.source) == ("general", (), "external")
    assert two.tags == ("a", "b")
    (found,) = engine.search(SearchRequest(query="two")).results
    assert found.score == pytest.approx(1.0)
    assert engine.related("no such peer id", 1, None) == []

"""Taking over the JSON store of the original (§6.8)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic._engine import Engine
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ListRequest,
    ProviderNotFound,
    ProviderProtocol,
    RememberRequest,
)

FACT = {
    "id": "holo-aaaa",
    "content": "A fact of Ada.",
    "category": "fact",
    "tags": ["a, b", "c"],
    "entities": ["Ada"],
    "trustScore": 0.4,
    "createdAt": "2026-01-02T03:04:05.678+02:00",
    "updatedAt": "2026-01-03T03:04:05Z",
}


@pytest.fixture
def engine(engine_of: Callable[..., Engine]) -> Engine:
    return engine_of("store.json")


@pytest.fixture
def peer(tmp_path: Path) -> Callable[..., Path]:
    def put(*facts: Any, version: int = 1) -> Path:
        path = tmp_path / "store.json"
        path.write_text(json.dumps({"version": version, "facts": facts}), encoding="utf-8")
        return path

    return put


def rows(engine: Engine, query: str) -> list[Any]:
    with engine.store.reading() as connection:
        assert connection is not None
        return connection.execute(query).fetchall()


@pytest.mark.requirement("holographic:peer:values")
def test_a_fact_keeps_what_it_had(engine: Engine, peer: Callable[..., Path]) -> None:
    path = peer(FACT)
    before = path.read_bytes()
    (item,) = engine.list(ListRequest()).items
    assert (item.id, item.content, item.category) == ("holo-1", "A fact of Ada.", "fact")
    assert (item.tags, item.entities) == (("a b", "c"), ("Ada",))
    assert rows(engine, "SELECT trust_score, created_at, updated_at FROM facts") == [
        (0.4, "2026-01-02 01:04:05", "2026-01-03 03:04:05")
    ]
    assert rows(engine, "SELECT fact_count FROM memory_banks") == [(1,)]
    assert rows(engine, "PRAGMA user_version") == [(0,)]
    ((taken,),) = rows(engine, "SELECT value FROM dsh_meta WHERE key = 'imported_from'")
    assert list(json.loads(taken)) == ["store.json"]
    assert path.read_bytes() == before


@pytest.mark.requirement("holographic:peer:once")
def test_it_is_taken_over_once(
    engine: Engine, peer: Callable[..., Path], engine_of: Callable[..., Engine]
) -> None:
    peer(FACT)
    engine.forget("holo-aaaa")
    peer(FACT, {**FACT, "id": "later", "content": "Written later."})
    engine.store.taken.clear()
    assert engine.list(ListRequest()).items == ()
    assert engine_of("store.db").list(ListRequest()).items == ()


@pytest.mark.requirement("holographic:peer:aliases")
def test_the_first_of_equal_facts_wins_and_the_others_are_aliases(
    engine: Engine, peer: Callable[..., Path]
) -> None:
    same = [{**FACT, "id": name, "trustScore": trust} for name, trust in [("x", 1.0), ("y", 0.9)]]
    peer(FACT, *same, {**FACT, "id": "other", "content": "Of Ada, too."})
    assert len(engine.list(ListRequest()).items) == 2
    for name in ("holo-aaaa", "x", "y", "holo-1"):
        assert [item.id for item in engine.related(name, 1, "entity")] == ["holo-2"]
    engine.forget("y")
    with pytest.raises(ProviderNotFound):
        engine.forget("x")


@pytest.mark.requirement("holographic:peer:aliases")
def test_a_fact_that_is_there_already_gets_the_old_id(
    engine: Engine, peer: Callable[..., Path], engine_of: Callable[..., Engine]
) -> None:
    engine_of("store.db").remember([RememberRequest(content="A fact of Ada.", importance=5)])
    peer(FACT)
    (item,) = engine.list(ListRequest()).items
    assert item.importance == 5
    engine.forget("holo-aaaa")


@pytest.mark.requirement("holographic:peer:once")
def test_a_file_that_comes_later_is_taken_over_then(
    engine: Engine, peer: Callable[..., Path]
) -> None:
    assert engine.list(ListRequest()).items == ()
    engine.remember([RememberRequest(content="First.")])
    peer(FACT)
    assert len(engine.list(ListRequest()).items) == 2


@pytest.mark.requirement("holographic:peer:refused")
@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 2, "facts": []},
        {"facts": []},
        {"version": 1},
        {"version": 1, "facts": [{**FACT, "content": " "}]},
        {"version": 1, "facts": [FACT, {**FACT, "updatedAt": "yesterday"}]},
        {"version": 1, "facts": [{**FACT, "trustScore": "high"}]},
        {"version": 1, "facts": [{**FACT, "content": "\ud800"}]},
        "no json",
        [],
    ],
)
def test_anything_else_is_refused_whole(engine: Engine, tmp_path: Path, wrong: Any) -> None:
    path = tmp_path / "store.json"
    text = wrong if isinstance(wrong, str) else json.dumps(wrong)
    path.write_text(text, encoding="utf-8")
    for use in (
        lambda: engine.list(ListRequest()),
        lambda: engine.remember([RememberRequest(content="x")]),
        engine.discover,
    ):
        with pytest.raises(ProviderProtocol) as caught:
            use()
        assert caught.value.details["file"] == str(path)
    assert not engine.status().healthy
    assert [item.name for item in tmp_path.iterdir()] == ["store.json"]


@pytest.mark.requirement("holographic:peer:refused")
def test_a_huge_file_is_not_read(
    engine: Engine, peer: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dsh_mnemon_provider_holographic import _peer

    peer(FACT)
    monkeypatch.setattr(_peer, "_MOST_BYTES", 10)
    with pytest.raises(ProviderProtocol):
        engine.list(ListRequest())

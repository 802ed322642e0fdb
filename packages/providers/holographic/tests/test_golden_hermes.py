"""Recordings of the Hermes plugin: its vectors, its answers, its way of writing (§6.3–§6.6)."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic import _algebra as algebra
from dsh_mnemon_provider_holographic._client import Store
from dsh_mnemon_provider_holographic._entities import hermes_entities
from dsh_mnemon_provider_holographic._writing import Change, Draft, Writer
from dsh_mnemon_provider_holographic.compat import HermesView, Scored, match_expression

GOLDEN = Path(__file__).parent / "golden" / "holographic"
TRANSCRIPT: dict[str, Any] = json.loads((GOLDEN / "transcript.json").read_text(encoding="utf-8"))
DIM: int = TRANSCRIPT["hrr_dim"]
TIME = "2026-01-02 03:04:05"


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


def numbered(name: str) -> list[Any]:
    return [
        pytest.param(case, id=f"{number}-{case['op']}")
        for number, case in enumerate(TRANSCRIPT[name])
    ]


# -- vectors --------------------------------------------------------------------------------------

ROLES = {
    "role_content": "__hrr_role_content__",
    "role_entity": "__hrr_role_entity__",
    "empty": "__hrr_empty__",
}


def vector_named(name: str) -> algebra.Vector:
    expression, _, _ = name.partition("[")
    if expression.startswith("atom dim"):
        dim, _, word = expression.removeprefix("atom dim").partition(" of ")
        return algebra.atom(word, int(dim))
    if expression in ROLES:
        return algebra.atom(ROLES[expression], DIM)
    return built(expression)


def built(expression: str) -> algebra.Vector:
    kind, _, word = expression.removesuffix(")").partition("(")
    return algebra.atom(word, DIM) if kind == "atom" else algebra.text_vector(word, DIM)


@pytest.mark.requirement("holographic:algebra:golden")
@pytest.mark.parametrize("name", TRANSCRIPT["vectors"])
def test_a_vector_is_the_recorded_one(name: str) -> None:
    expected = TRANSCRIPT["vectors"][name]
    if name.startswith("sim("):
        first, _, second = name.removeprefix("sim(").removesuffix(")").partition("),")
        found = algebra.similarity(built(f"{first})"), built(second))
        assert found == close(expected)
    else:
        recorded = vector_named(name)
        start, _, end = name.partition("[")[2].removesuffix("]").partition(":")
        places = slice(int(start or 0), int(end) if end else len(expected))
        assert list(recorded[places]) == [close(value) for value in expected]


# -- answers --------------------------------------------------------------------------------------


@pytest.fixture
def view(golden_db: Path) -> Any:
    with closing(sqlite3.connect(golden_db)) as connection:
        yield HermesView(connection=connection, dim=DIM)


def shown(found: Any) -> list[Any]:
    return [
        (it.fact_id, close(it.score), close(it.trust)) if isinstance(it, Scored) else it
        for it in found
    ]


@pytest.mark.requirement("holographic:compat:golden")
@pytest.mark.parametrize("case", numbered("queries"))
def test_hermes_would_answer_as_recorded(case: dict[str, Any], view: HermesView) -> None:
    operation, arguments = case["op"], case["args"]
    if "match" in case:
        assert match_expression(arguments["query"]) == case["match"]
    if operation == "list":
        trust = [(row["fact_id"], close(row["trust_score"])) for row in case["results"]]
        assert view.listing(**arguments) == trust
    elif operation == "contradict":
        found = [
            {
                "a": it.a,
                "b": it.b,
                "entity_overlap": it.entity_overlap,
                "content_similarity": it.content_similarity,
                "contradiction_score": it.contradiction_score,
                "shared_entities": list(it.shared_entities),
            }
            for it in view.contradict(**arguments)
        ]
        assert found == case["results"]
    else:
        found = getattr(view, operation)(**arguments)
        expected = [
            (row["fact_id"], close(row["score"]), close(row["trust_score"]))
            for row in case["results"]
        ]
        assert [(it.fact_id, it.score, it.trust) for it in found] == expected


# -- writing --------------------------------------------------------------------------------------


def perform(writer: Writer, case: dict[str, Any]) -> None:
    operation, arguments = case["op"], dict(case.get("args", {}))
    if operation in ("add", "add_duplicate"):
        content = case["content"].strip()
        draft = Draft(
            content=content,
            category=case.get("category", "general"),
            tags=[tag for tag in case.get("tags", "").split(",") if tag],
            trust=TRANSCRIPT["default_trust"],
            entities=hermes_entities(content),
            created_at=TIME,
            updated_at=TIME,
        )
        assert writer.add(draft) == (case["fact_id"], operation == "add")
        return
    identity = f"holo-{arguments.pop('fact_id')}"
    if operation == "feedback":
        _, trust = writer.feedback(identity, **arguments)
        assert trust == close(case["result"]["new_trust"])
    elif operation == "update":
        content = arguments.get("content")
        tags = arguments.pop("tags", None)
        change = Change(
            **arguments,
            tags=None if tags is None else tags.split(","),
            entities=hermes_entities(content or ""),
        )
        writer.update(identity, change)
    elif operation == "remove":
        writer.forget(identity)
    else:
        pytest.fail(f"an operation {operation} is not known")


@pytest.fixture
def replayed(tmp_path: Path, store_of: Callable[[Path], Store]) -> Any:
    store = store_of(tmp_path / "replayed.db")
    for case in TRANSCRIPT["operations"]:
        with store.writing() as connection:
            writer = Writer(connection, store.banks, wanted_dim=DIM, now=TIME)
            perform(writer, case)
            writer.finish()
    with store.reading() as connection:
        yield connection


@pytest.fixture
def recorded(golden_db: Path) -> Any:
    with closing(sqlite3.connect(golden_db)) as connection:
        yield connection


def rows(connection: sqlite3.Connection, query: str) -> list[Any]:
    return connection.execute(query).fetchall()


@pytest.mark.requirement("holographic:write:golden")
def test_the_same_writes_make_the_same_entities_and_links(
    replayed: sqlite3.Connection,
) -> None:
    entities = rows(
        replayed, "SELECT entity_id, name, entity_type, aliases FROM entities ORDER BY entity_id"
    )
    links = rows(replayed, "SELECT fact_id, entity_id FROM fact_entities ORDER BY 1, 2")
    assert entities == [tuple(row.values()) for row in TRANSCRIPT["entities"]]
    assert links == [tuple(pair) for pair in TRANSCRIPT["links"]]


@pytest.mark.requirement("holographic:write:golden")
def test_the_same_writes_make_the_same_facts_and_vectors(
    replayed: sqlite3.Connection, recorded: sqlite3.Connection
) -> None:
    query = "SELECT fact_id, content, category, tags, helpful_count FROM facts ORDER BY fact_id"
    assert rows(replayed, query) == rows(recorded, query)
    query = "SELECT fact_id, hrr_vector FROM facts ORDER BY fact_id"
    for ours, theirs in zip(rows(replayed, query), rows(recorded, query), strict=True):
        assert_alike(ours[1], theirs[1])


@pytest.mark.requirement("holographic:bank:golden")
def test_the_same_writes_make_the_same_banks(
    replayed: sqlite3.Connection, recorded: sqlite3.Connection
) -> None:
    query = "SELECT bank_name, dim, fact_count, vector FROM memory_banks ORDER BY bank_name"
    for ours, theirs in zip(rows(replayed, query), rows(recorded, query), strict=True):
        assert ours[:3] == theirs[:3]
        assert_alike(ours[3], theirs[3])


def assert_alike(ours: bytes, theirs: bytes) -> None:
    """Compare angles; the two ends of the circle are the same."""
    one, other = algebra.decode(ours, DIM), algebra.decode(theirs, DIM)
    assert one is not None
    assert other is not None
    assert algebra.similarity(one, other) == close(1.0)


@pytest.mark.requirement("holographic:schema:golden")
def test_the_tables_are_those_of_hermes(
    replayed: sqlite3.Connection, recorded: sqlite3.Connection
) -> None:
    own = {"dsh_meta", "dsh_fact_meta", "sqlite_autoindex_dsh_meta_1"}
    own.add("sqlite_autoindex_dsh_fact_meta_1")
    ours = {name for (name,) in rows(replayed, "SELECT name FROM sqlite_master")} - own
    assert ours == {name for (name,) in rows(recorded, "SELECT name FROM sqlite_master")}
    for table in ("facts", "entities", "fact_entities", "memory_banks", "facts_fts"):
        query = f"SELECT * FROM pragma_table_info('{table}')"
        assert rows(replayed, query) == rows(recorded, query)
    for connection in (replayed, recorded):
        assert rows(connection, "PRAGMA user_version") == [(0,)]

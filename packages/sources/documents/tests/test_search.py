"""Searching a folder that changes, with an index that may be of no use."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import anyio
import pytest
from dsh_mnemon_source_documents import _search
from dsh_mnemon_source_documents._format import render
from dsh_mnemon_source_documents._index import State, state_of
from dsh_mnemon_source_documents._inputs import Mutation
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._ranking import IndexLost, Ranking
from dsh_mnemon_source_documents._score import prepare
from dsh_mnemon_source_documents._search import Request, Searcher
from dsh_mnemon_source_documents._store import DocumentStore
from dsh_mnemon_source_documents.contracts import DocumentRecord

BODIES = [f"Body {number} of the gateway" for number in range(8)]


class Steady:
    """A steady clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def any_age(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files of this very moment be indexed: a test writes them once in a tick."""
    monkeypatch.setattr(_search, "_TICK", -1)


@pytest.fixture
def steady() -> Steady:
    """The clock of the searcher."""
    return Steady()


@pytest.fixture
def state(make_record: Callable[..., DocumentRecord], write_store: Callable[..., None]) -> State:
    """Eight documents on disk."""
    records = [make_record(f"id-{n}", body) for n, body in enumerate(BODIES)]
    write_store(list(zip(records, BODIES, strict=True)))
    return state_of(records)


@pytest.fixture
def searcher(tmp_path: Path, steady: Steady) -> Searcher:
    """A searcher that indexes everything."""
    return Searcher(DocumentStore(tmp_path).bodies, tail=0, monotonic=steady)


@pytest.fixture
def index(folder: Path) -> Path:
    """The index file."""
    return folder / ".search" / "index.db"


def find(searcher: Searcher, state: State, query: str, **more: Any) -> Sequence[str]:
    results = searcher.search(state, Request(query=query, **more), lambda: None)
    return [item.record.id for item in results.found]


def indexed(index: Path) -> int:
    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM documents").fetchone()
    connection.close()
    return int(count)


@pytest.mark.requirement("documents:search:index-file")
def test_few_documents_need_no_index(tmp_path: Path, state: State, index: Path) -> None:
    searcher = Searcher(DocumentStore(tmp_path).bodies)
    assert find(searcher, state, "body 3") == ["id-3", *[f"id-{n}" for n in range(8) if n != 3]]
    assert not index.exists()


@pytest.mark.requirement("documents:search:index-file")
def test_the_index_is_private_and_used_by_the_next_searcher(
    tmp_path: Path, state: State, searcher: Searcher, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(find(searcher, state, "gateway")) == 8
    assert index.stat().st_mode & 0o777 == 0o600
    assert indexed(index) == 8
    searcher.close()
    assert [path.name for path in index.parent.iterdir()] == ["index.db"]
    monkeypatch.setattr(_search, "score", None)
    another = Searcher(DocumentStore(tmp_path).bodies, tail=0)
    assert find(another, state, "body 3", limit=1) == ["id-3"]
    another.close()


@pytest.mark.requirement("documents:search:index-file")
def test_a_changed_body_is_read_and_indexed_anew(
    folder: Path, state: State, searcher: Searcher, index: Path
) -> None:
    find(searcher, state, "gateway")
    record = state.records[2]
    (folder.parent / record.relative_path).write_bytes(render(record, "Something else"))
    assert find(searcher, state, "something") == ["id-2"]
    assert "id-2" not in find(searcher, state, "gateway")
    assert indexed(index) == 9


@pytest.mark.requirement("documents:search:index-file")
def test_among_very_many_an_edit_in_place_is_noticed_within_a_second(
    folder: Path,
    state: State,
    searcher: Searcher,
    steady: Steady,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_search, "_SURVEYED", 3)
    find(searcher, state, "gateway")
    record = state.records[2]
    path = folder.parent / record.relative_path
    path.write_bytes(render(record, "Something else"))
    # What is found is looked at again, so nothing outdated is shown.
    assert "id-2" not in find(searcher, state, "gateway")
    path.write_bytes(render(record, "A third text"))
    assert find(searcher, state, "third") == []
    steady.now += 1.0
    assert find(searcher, state, "third") == ["id-2"]
    # A file that is replaced is noticed at once.
    aside = path.with_suffix(".aside")
    aside.write_bytes(render(record, "A fourth text"))
    os.replace(aside, path)
    assert find(searcher, state, "fourth") == ["id-2"]


@pytest.mark.requirement("documents:search:index-file")
@pytest.mark.parametrize("damage", [b"", b"no database at all " * 99, None])
def test_a_damaged_index_is_made_again(
    tmp_path: Path, state: State, searcher: Searcher, index: Path, damage: bytes | None
) -> None:
    find(searcher, state, "gateway")
    searcher.close()
    if damage is None:
        with closing(sqlite3.connect(index, isolation_level=None)) as connection:
            connection.execute("UPDATE meta SET value = 'old' WHERE key = 'version'")
        connection.close()
    else:
        index.write_bytes(damage)
    another = Searcher(DocumentStore(tmp_path).bodies, tail=0)
    assert len(find(another, state, "gateway")) == 8
    assert len(find(another, state, "gateway")) == 8
    assert indexed(index) == 8
    another.close()


@pytest.mark.requirement("documents:search:index-file")
def test_an_index_that_breaks_while_it_is_asked_costs_nothing(
    state: State, searcher: Searcher, index: Path
) -> None:
    find(searcher, state, "gateway")
    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        connection.execute("UPDATE postings SET chunks = x'00'")
    connection.close()
    assert len(find(searcher, state, "gateway")) == 8
    with closing(sqlite3.connect(index, isolation_level=None)) as connection:
        connection.execute("DROP TABLE postings")
    connection.close()
    for _ in range(2):
        assert len(find(searcher, state, "gateway")) == 8
    assert indexed(index) == 8


@pytest.mark.requirement("documents:search:index-file")
def test_without_a_place_for_the_index_everything_is_read(
    folder: Path, state: State, searcher: Searcher
) -> None:
    (folder / ".search").write_bytes(b"in the way")
    for _ in range(2):
        assert len(find(searcher, state, "gateway")) == 8


@pytest.mark.requirement("documents:search:index-file")
def test_an_index_that_is_locked_is_left_alone(
    state: State, searcher: Searcher, index: Path
) -> None:
    find(searcher, state, "gateway")
    other = sqlite3.connect(index, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    changed = state_of([*state.records[:7]])
    record = state.records[0]
    (index.parents[1].parent / record.relative_path).write_bytes(render(record, "New gateway"))
    assert len(find(searcher, changed, "gateway")) == 7
    other.execute("ROLLBACK")
    other.close()
    assert indexed(index) == 8


@pytest.mark.requirement("documents:search:index-file")
def test_a_batch_that_cannot_be_written_leaves_no_trace(
    state: State, searcher: Searcher, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as context:
        context.setattr(searcher._index, "_write_documents", full)
        assert len(find(searcher, state, "gateway")) == 8
    assert len(find(searcher, state, "gateway")) == 8
    assert indexed(index) == 8


@pytest.mark.requirement("documents:search:index-file")
def test_what_another_process_indexes_is_used(
    tmp_path: Path, state: State, searcher: Searcher, index: Path
) -> None:
    another = Searcher(DocumentStore(tmp_path).bodies, tail=0)
    assert len(find(another, state, "gateway")) == 8
    assert len(find(searcher, state, "gateway")) == 8
    assert indexed(index) == 8
    record = state.records[0]
    (tmp_path / record.relative_path).write_bytes(render(record, "Other"))
    assert find(another, state, "other") == ["id-0"]
    assert find(searcher, state, "other") == ["id-0"]
    assert indexed(index) == 9
    another.close()


@pytest.mark.requirement("documents:search:index-file")
def test_an_index_of_the_past_starts_over(
    tmp_path: Path,
    state: State,
    searcher: Searcher,
    index: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents._search_index._PAST", 5)
    record = state.records[0]
    counts: list[int] = []
    for number in range(30):
        (tmp_path / record.relative_path).write_bytes(render(record, f"Version {number}"))
        assert find(searcher, state, f"version {number}")[0] == "id-0"
        counts.append(indexed(index))
    assert max(counts) < 30
    assert len(find(searcher, state, "gateway")) == 7


@pytest.mark.requirement("documents:search:index-file")
def test_a_large_vocabulary_is_left_on_disk(
    tmp_path: Path, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents._search_index._KEPT_CHARACTERS", 3)
    searcher = Searcher(DocumentStore(tmp_path).bodies, tail=0)
    for _ in range(2):
        assert len(find(searcher, state, "gatew")) == 8
    searcher.close()


@pytest.mark.requirement("documents:search:index-file")
def test_indexing_takes_its_time_over_several_searches(
    state: State, searcher: Searcher, index: Path, steady: Steady, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dsh_mnemon_source_documents._batch.CAPACITY", 2)

    def tick() -> None:
        steady.now += 0.04

    counts: list[int] = []
    for _ in range(2):
        results = searcher.search(state, Request(query="gateway"), tick)
        assert len(results.found) == 8
        counts.append(indexed(index))
    assert counts == [2, 8]


@pytest.mark.requirement("documents:search:index-file")
async def test_many_changes_bring_the_index_up_to_date(
    make_library: Callable[..., Library], workspace: str, index: Path
) -> None:
    library = make_library(tail=3)
    for number in range(6):
        step = library.steps(workspace).mutate(
            Mutation(action="create", title=f"Note {number}", content="Text")
        )
        await library.change(workspace, step)
    assert indexed(index) == 4
    await library.close()


@pytest.mark.requirement("documents:search:interrupt")
async def test_a_search_can_be_given_up(state: State, make_library: Callable[..., Library]) -> None:
    library = make_library()
    with anyio.CancelScope() as scope:
        scope.cancel()
        await library.search(Request(query="gateway"))
    assert scope.cancelled_caught

    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        Searcher(library.store.bodies).search(state, Request(query="x"), stop)


@pytest.mark.requirement("documents:health:isolated")
def test_a_body_that_cannot_be_decoded_is_reported_at_once(
    folder: Path, state: State, searcher: Searcher
) -> None:
    path = folder.parent / state.records[1].relative_path
    path.write_bytes(b"\xff")
    for _ in range(2):
        results = searcher.search(state, Request(query="gateway"), lambda: None)
        assert len(results.found) == 7
        assert [(item.id, item.reason) for item in results.unhealthy] == [("id-1", "not-unicode")]


@pytest.mark.requirement("documents:search:index-file")
def test_a_file_that_never_rests_is_shown_as_it_was_last(
    folder: Path, state: State, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = state.records[0]
    path = folder.parent / record.relative_path
    real, count = searcher._bodies.signatures, [0]

    def restless() -> dict[str, Any]:
        found = real()
        count[0] += 1
        path.write_bytes(render(record, f"Gateway {count[0]}" + "x" * count[0]))
        return found

    monkeypatch.setattr(searcher._bodies, "signatures", restless)
    results = searcher.search(state, Request(query="gateway"), lambda: None)
    assert "id-0" in [item.record.id for item in results.found]
    assert count[0] == _search._ATTEMPTS


@pytest.mark.requirement("documents:search:index-file")
def test_a_file_that_goes_while_it_is_searched_is_left_out(
    folder: Path, state: State, searcher: Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    find(searcher, state, "gateway")
    path = folder.parent / state.records[0].relative_path
    real = searcher._bodies.signatures

    def stale() -> dict[str, Any]:
        found = real()
        path.unlink(missing_ok=True)
        return found

    monkeypatch.setattr(searcher._bodies, "signatures", stale)
    results = searcher.search(state, Request(query="gateway"), lambda: None)
    assert "id-0" not in [item.record.id for item in results.found]
    assert [item.reason for item in results.unhealthy] == ["missing"]


@pytest.mark.requirement("documents:search:ranking")
def test_ranking_gives_up_on_an_index_of_no_use() -> None:
    class Useless:
        def sets(self, token: str) -> None:
            return None

        def all_of(self, terms: set[str], field: int) -> None:
            return None

        def holding(self, field: int, text: str, slots: int) -> None:
            return None

    for query in ("token", "x" * 200, "!"):
        with pytest.raises(IndexLost):
            Ranking(Useless(), prepare(query), 1)
    assert Ranking(Useless(), prepare(""), 1).best(5, [0]) == [(0, 1)]

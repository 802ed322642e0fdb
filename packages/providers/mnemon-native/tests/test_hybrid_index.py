"""``index.db``: always right, never needed, made anew when it is not."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_provider_mnemon_native._index import checking, schema
from dsh_mnemon_provider_mnemon_native._index.schema import FILE
from dsh_mnemon_provider_mnemon_native._store.opening import open_to_write
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._write.links import forget

from .index_cases import NOW, TIME, Opener, hits, keep, live, opening, put

pytestmark = [
    pytest.mark.requirement("native:index"),
    pytest.mark.requirement("native:index:derived"),
]


@pytest.fixture
def opened(path: Path) -> Iterator[Opener]:
    """Open sessions on the test's file with the quick index; all are closed at the end."""
    with opening(path) as opener:
        yield opener


def test_nothing_is_added_to_the_store(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "Redis keeps the cache")
    names = {name for (name,) in session.connection.execute("SELECT name FROM sqlite_schema")}
    assert {name for name in names if not name.startswith(("idx_", "sqlite_"))} == {
        "insights",
        "edges",
        "oplog",
        "set_insight_stored_at",
    }
    assert (path.parent / FILE).is_file()


def test_a_missing_index_is_made_anew(opened: Opener, path: Path) -> None:
    first = opened()
    keep(first, "alpha", "beta")
    first.index.close()
    schema.discard(path.parent / FILE)
    assert hits(opened(), "beta") == ["i2"]


def test_a_damaged_index_is_made_anew(opened: Opener, path: Path) -> None:
    keep(opened(), "alpha", "beta")
    opened().index.close()
    (path.parent / FILE).write_bytes(b"no database at all" * 400)
    for name in ("-wal", "-shm"):
        path.with_name(FILE + name).unlink(missing_ok=True)
    assert hits(opened(), "beta") == ["i2"]


def test_an_index_damaged_in_use_is_replaced(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "alpha", "beta")
    live(session).connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    file = path.parent / FILE
    data = bytearray(file.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    file.write_bytes(bytes(data))
    other = opened()
    assert hits(other, "beta") == ["i2"]
    assert hits(other, "alpha") == ["i1"]


def test_an_index_of_another_revision_is_made_anew(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = opened()
    keep(first, "alpha", "beta")
    first.index.close()
    monkeypatch.setattr(schema, "SCHEMA", 99)
    again = opened()
    assert hits(again, "beta") == ["i2"]
    found = live(again).connection.execute("SELECT value FROM facts WHERE name = 'revision'")
    assert found.fetchone()[0].startswith("99/")


def test_an_index_of_another_store_is_made_anew(opened: Opener, path: Path) -> None:
    first = opened()
    keep(first, "alpha", "beta")
    first.index.close()
    first.connection.close()
    for file in path.parent.glob("mnemon.db*"):
        file.unlink()
    second = opened()
    keep(second, "gamma", "delta")
    second.index.close()
    third = opened()
    assert hits(third, "alpha") == []
    assert hits(third, "delta") == ["i4"]


def test_a_store_with_fewer_forgotten_rows_is_another_one(opened: Opener) -> None:
    session = opened()
    keep(session, "alpha", "beta")
    with session.writing() as writing:
        forget(writing, "i1", NOW)
    session.index.close()
    session.connection.execute("UPDATE insights SET deleted_at = NULL")
    assert hits(session, "alpha") == ["i1"]


def _foreign(path: Path, statement: str, *parameters: Any) -> None:
    connection = open_to_write(path, NOW)
    connection.execute(statement, parameters)
    connection.close()


INSERT = "INSERT INTO insights (id, content, created_at, updated_at) VALUES (?, ?, ?, ?)"


def test_writes_of_the_command_line_tool_are_noticed(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "alpha one")
    _foreign(path, INSERT, "f1", "alpha two", TIME, TIME)
    assert sorted(hits(session, "alpha")) == ["f1", "i1"]
    _foreign(path, "UPDATE insights SET deleted_at = ? WHERE id = 'i1'", TIME)
    assert hits(session, "alpha") == ["f1"]
    with session.reading():
        assert live(session).columns.count == 1


BY_HAND = {
    "UPDATE insights SET content = 'gamma' WHERE id = 'i1'": ("gamma", ["i1"]),
    "UPDATE insights SET tags = '[\"gamma\"]' WHERE id = 'i2'": ("gamma", ["i2"]),
    "UPDATE insights SET deleted_at = NULL": ("alpha", ["i1", "i2", "i3"]),
    "UPDATE insights SET deleted_at = 'x' WHERE id = 'i1'": ("alpha", ["i2"]),
    "UPDATE insights SET deleted_at = iif(id = 'i3', NULL, 'x')": ("alpha", ["i3"]),
    "UPDATE insights SET id = 'new' WHERE id = 'i2'": ("alpha", ["i1", "new"]),
    "DELETE FROM insights WHERE id = 'i2'": ("alpha", ["i1"]),
    "UPDATE insights SET content = x'00' WHERE id = 'i1'": ("alpha", ["i2"]),
}


@pytest.mark.requirement("native:byhand")
@pytest.mark.parametrize("statement", BY_HAND)
@pytest.mark.parametrize("running", [True, False])
def test_rows_changed_by_hand_are_found_as_they_are(
    opened: Opener, path: Path, statement: str, running: bool
) -> None:
    session = opened()
    keep(session, "alpha one", "alpha two", "alpha three")
    with session.writing() as writing:
        forget(writing, "i3", NOW)
    assert sorted(hits(session, "alpha")) == ["i1", "i2"]
    if not running:
        session.index.close()
    _foreign(path, statement)
    text, ids = BY_HAND[statement]
    assert sorted(hits(session, text)) == ids
    # What was mended stays so, and a row that is put right is found again.
    _foreign(path, "UPDATE insights SET content = 'delta ' || rowid, deleted_at = NULL")
    assert len(hits(session, "delta")) == len(hits(session, "delta")) >= 2
    with session.reading():
        assert session.index.unreadable() == 0
    written = keep(session, "epsilon")
    assert hits(session, "epsilon") == [written[0].id]


@pytest.mark.requirement("native:byhand")
def test_swapped_ids_are_no_obstacle(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "alpha", "beta")
    for old, new in (("i1", "x"), ("i2", "i1"), ("x", "i2")):
        _foreign(path, "UPDATE insights SET id = ? WHERE id = ?", new, old)
    assert (hits(session, "alpha"), hits(session, "beta")) == (["i2"], ["i1"])
    assert live(session).connection.execute("PRAGMA database_list").fetchone()[2]


@pytest.mark.requirement("native:byhand")
def test_contents_changed_by_hand_are_looked_for_part_by_part(
    opened: Opener, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checking, "PART", 2)
    monkeypatch.setattr(checking, "randbelow", lambda count: 0)
    session = opened()
    keep(session, *("alpha" for _ in range(7)))
    assert len(hits(session, "alpha")) == 7
    _foreign(path, "UPDATE insights SET content = 'beta'")
    found = [len(hits(session, "beta")) for _ in range(5)]
    assert found == [2, 4, 6, 7, 7]
    # Which rows there are is known at once.
    _foreign(path, "UPDATE insights SET deleted_at = 'x' WHERE rowid IN (1, 7)")
    assert len(hits(session, "beta")) == 5
    _foreign(path, "UPDATE insights SET deleted_at = NULL")
    assert len(hits(session, "beta")) == 7


def test_vectors_computed_by_the_command_line_tool_are_noticed(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "alpha")
    with session.reading():
        assert session.index.nearest([1.0, 2.0], limit=3, above=0.1) == []
    blob = b"\0\0\x80?\0\0\0@"
    _foreign(path, "UPDATE insights SET embedding = ?", blob)
    _foreign(path, "INSERT INTO oplog (operation, created_at) VALUES ('embed:backfill', ?)", TIME)
    with session.reading():
        (found,) = session.index.nearest([1.0, 2.0], limit=3, above=0.1)
    assert found.id == "i1"
    assert found.score == pytest.approx(1.0)


def test_unreadable_vectors_are_left_out(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "alpha")
    _foreign(path, "UPDATE insights SET embedding = x'0102'")
    session.index.close()
    with session.reading():
        assert session.index.nearest([1.0, 2.0], limit=3, above=0.1) == []


def test_forgotten_insights_leave_nothing_behind(opened: Opener) -> None:
    session = opened()
    keep(session, "secret word", tags=("hidden",), entities=("Someone",))
    with session.writing() as writing:
        forget(writing, "i1", NOW)
    index = live(session).connection
    for table in ("docs", "names", "terms"):
        assert index.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    index.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, terms, row)")
    assert index.execute("SELECT count(*) FROM temp.words").fetchone() == (0,)


def test_a_crash_between_the_two_commits_only_makes_it_behind(opened: Opener) -> None:
    session = opened()
    keep(session, "alpha")
    live(session).committed = lambda: None
    keep(session, "beta")
    session.index.close()
    assert hits(opened(), "beta") == ["i2"]


def test_two_writers_share_one_index(opened: Opener) -> None:
    one, other = opened(), opened()
    keep(one, "alpha one")
    keep(other, "alpha two")
    keep(one, "alpha three")
    assert len(hits(one, "alpha")) == len(hits(other, "alpha")) == 3


def test_a_locked_index_delays_but_refuses_nothing(
    opened: Opener, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "_BUSY_MS", 10)
    session = opened()
    keep(session, "alpha")
    blocker = sqlite3.connect(path.parent / FILE, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        keep(session, "beta")
        assert hits(session, "beta") == ["i2"]
        assert hits(opened(), "alpha") == ["i1"]
    finally:
        blocker.close()
    assert hits(opened(), "beta") == ["i2"]


def test_failing_inside_a_transaction_goes_on_in_memory_and_rolls_back(opened: Opener) -> None:
    session = opened()
    keep(session, "alpha")
    with pytest.raises(KeyError):
        _fail_in_the_middle(session)
    assert hits(session, "beta") == []
    assert hits(session, "alpha") == ["i1"]


def _fail_in_the_middle(session: Session) -> None:
    with session.writing() as writing:
        put(writing, "beta one")
        live(session).connection.execute("DROP TABLE terms")
        put(writing, "beta two")
        found = session.index.keyword(frozenset({"beta"}), limit=5)
        assert [one.id for one in found] == ["i2", "i3"]
        raise KeyError


def test_a_commit_the_index_cannot_keep_leaves_it_behind(opened: Opener) -> None:
    session = opened()
    keep(session, "alpha")
    with session.writing() as writing:
        put(writing, "beta")
        live(session).connection.execute("ROLLBACK")
    assert hits(session, "beta") == ["i2"]


def test_a_rollback_after_the_index_lost_its_transaction(opened: Opener) -> None:
    session = opened()
    keep(session, "alpha")
    with pytest.raises(KeyError):
        _lose_the_transaction(session)
    assert hits(session, "alpha") == ["i1"]


def _lose_the_transaction(session: Session) -> None:
    with session.writing() as writing:
        put(writing, "beta")
        live(session).connection.execute("ROLLBACK")
        raise KeyError


def test_a_folder_in_the_way_of_the_file_is_no_obstacle(opened: Opener, path: Path) -> None:
    (path.parent / FILE).mkdir()
    session = opened()
    keep(session, "alpha")
    assert hits(session, "alpha") == ["i1"]


def test_reading_only_writes_nothing(opened: Opener, path: Path) -> None:
    keep(opened(), "alpha")
    schema.discard(path.parent / FILE)
    reader = opened(read_only=True)
    assert hits(reader, "alpha") == ["i1"]
    assert not (path.parent / FILE).exists()


def test_reading_only_uses_an_index_that_is_there(opened: Opener, path: Path) -> None:
    writer = opened()
    keep(writer, "alpha")
    reader = opened(read_only=True)
    assert hits(reader, "alpha") == ["i1"]
    live(writer).committed = lambda: None
    keep(writer, "beta")
    writer.index.close()
    # Behind and not to be written: a copy in memory is brought up to date.
    assert hits(reader, "beta") == ["i2"]


def test_reading_only_does_without_an_index_of_another_revision(
    opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(opened(), "alpha")
    monkeypatch.setattr(schema, "SCHEMA", 99)
    assert hits(opened(read_only=True), "alpha") == ["i1"]


def test_the_signature_survives_new_entities(opened: Opener) -> None:
    session = opened()
    with session.writing() as writing:
        row = put(writing, "alpha", [1.0, -1.0])
        session.index.changed(attrs.evolve(row, entities=("Go",)))
    with session.reading():
        assert [one.id for one in session.index.nearest([1.0, -1.0], limit=1, above=0.5)] == ["i1"]
        assert session.index.known(["Go"]) == {"Go"}


def test_many_vectors_are_narrowed_by_their_signs(opened: Opener) -> None:
    session = opened()
    picked = random.Random(5)
    vectors = [[picked.gauss(0, 1) for _ in range(64)] for _ in range(800)]
    with session.writing() as writing:
        for number, vector in enumerate(vectors):
            put(writing, f"memory {number}", vector)
    with session.reading():
        for vector in vectors[::80]:
            near = [value + picked.gauss(0, 0.3) for value in vector]
            (found,) = session.index.nearest(near, limit=1, above=0.5)
            assert found.id == f"i{vectors.index(vector) + 1}"


def test_turns_of_a_conversation_are_neighbours(opened: Opener) -> None:
    session = opened()
    keep(session, "Ann: one", "Bob: two", source="a")
    keep(session, "Ann: three", source="b")
    keep(session, "a fact", source="a")
    keep(session, "Ann: four", source="a", created_at="2026-12-03T12:00:00Z")
    with session.reading():
        columns = live(session).columns
        assert columns.after[1] == 2
        assert columns.before[2] == 1
        assert not any(columns.after[doc] for doc in (2, 3, 4, 5))
    keep(session, "Bob: between", source="a", created_at="2026-11-30T12:00:01Z")
    with session.reading():
        columns = live(session).columns
        assert columns.before[6] == 0, "the fact stands between them"
    with session.writing() as writing:
        forget(writing, "i4", NOW)
    with session.reading():
        assert live(session).columns.before[6] == 2


def test_a_damaged_file_is_thrown_away_for_the_next_one(opened: Opener, path: Path) -> None:
    session = opened()
    keep(session, "alpha")
    failures = [sqlite3.DatabaseError("malformed")]

    def read() -> int:
        if failures:
            raise failures.pop()
        return live(session).connection.execute("SELECT count(*) FROM docs").fetchone()[0]

    assert live(session).attempt(read) == 1
    assert not (path.parent / FILE).exists()
    assert hits(opened(), "alpha") == ["i1"]


def test_a_reader_whose_index_is_gone_makes_one_in_memory(opened: Opener) -> None:
    keep(opened(), "alpha")
    reader = opened(read_only=True)
    assert hits(reader, "alpha") == ["i1"]
    live(reader).connection.close()
    assert hits(reader, "alpha") == ["i1"]


def test_a_row_noted_twice_in_one_transaction_is_what_it_was_last(opened: Opener) -> None:
    session = opened()
    with session.writing() as writing:
        row = put(writing, "alpha", tags=("old",))
        assert session.index.keyword(frozenset({"old"}), limit=1)
        session.index.refresh()
        session.index.changed(attrs.evolve(row, tags=("new",)))
        assert not session.index.keyword(frozenset({"old"}), limit=1)
        assert session.index.keyword(frozenset({"new"}), limit=1)


def test_noting_opens_the_index(opened: Opener) -> None:
    session = opened()
    with session.writing() as writing:
        session.index.close()
        put(writing, "alpha")
    assert hits(session, "alpha") == ["i1"]


def test_committing_and_rolling_back_nothing_is_no_fault(opened: Opener) -> None:
    session = opened()
    session.index.committed()
    session.index.rolled_back()
    session.index.close()
    assert hits(session, "alpha") == []


@pytest.mark.parametrize("broken", ["backup", "schema"])
def test_a_copy_that_fails_leaves_no_connection_open(
    monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    made: list[sqlite3.Connection] = []
    connect = schema._connect

    def noting(target: str) -> sqlite3.Connection:
        made.append(connect(target))
        return made[-1]

    monkeypatch.setattr(schema, "_connect", noting)
    closed: sqlite3.Connection | None = None
    if broken == "backup":
        closed = sqlite3.connect(":memory:")
        closed.close()
    else:
        monkeypatch.setattr(schema, "_TABLES", "CREATE NONSENSE")
    with pytest.raises(sqlite3.Error):
        schema.in_memory(closed)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        made[0].execute("SELECT 1")


def test_a_file_that_is_no_index_leaves_no_connection_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[sqlite3.Connection] = []
    connect = schema._connect

    def noting(target: str) -> sqlite3.Connection:
        made.append(connect(target))
        return made[-1]

    monkeypatch.setattr(schema, "_connect", noting)
    file = tmp_path / FILE
    file.write_bytes(b"no database at all" * 100)
    assert schema.open_to_read(file) is None
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        made[0].execute("SELECT 1")

"""The file: made, shared, locked, damaged, replaced (§6.2)."""

from __future__ import annotations

import os
import sqlite3
import stat
import tempfile
from collections.abc import Callable, Generator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from dsh_mnemon_provider_holographic import _client
from dsh_mnemon_provider_holographic._client import Store
from dsh_mnemon_source_memory_spaces.provider_sdk import (
    ProviderBusy,
    ProviderError,
    ProviderForbidden,
    ProviderProtocol,
    ProviderRejected,
    ProviderServerError,
    ProviderUnavailable,
    WriteOutcomeUnknown,
)

INSERT = "INSERT INTO facts (content) VALUES ('A fact.')"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "facts.db"


@pytest.fixture
def store(path: Path, store_of: Callable[[Path], Store]) -> Store:
    return store_of(path)


def write(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(INSERT)


def facts(store: Store) -> int:
    with store.reading() as connection:
        if connection is None:
            return -1
        count: int = connection.execute("SELECT count(*) FROM facts").fetchone()[0]
        return count


def refused(store: Store, kind: type[ProviderError], reason: str) -> None:
    """Check that reading and writing are refused by name, and that nothing was written."""
    before = store.path.read_bytes()
    for use in (facts, write):
        with pytest.raises(kind) as caught:
            use(store)
        assert caught.value.details == {"file": str(store.path), "reason": reason}
        assert str(store.path) in caught.value.message
    assert store.path.read_bytes() == before
    assert {item.name for item in store.path.parent.iterdir()} == {store.path.name}


# -- making and sharing ---------------------------------------------------------------------------


@pytest.mark.requirement("holographic:file:made")
def test_reading_makes_no_file(store: Store) -> None:
    assert facts(store) == -1
    assert not store.path.parent.exists()
    assert store.size() == 0


@pytest.mark.requirement("holographic:file:made")
@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
def test_a_file_is_made_private_and_in_wal_mode(store: Store) -> None:
    write(store)
    modes = {item.name: stat.S_IMODE(item.stat().st_mode) for item in store.path.parent.iterdir()}
    assert set(modes) == {"facts.db", "facts.db-wal", "facts.db-shm"}
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE(store.path.parent.stat().st_mode) == 0o700
    assert store.size() > store.path.stat().st_size
    with store.reading() as connection:
        assert connection is not None
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)
        assert connection.execute("PRAGMA busy_timeout").fetchone() == (10_000,)


@pytest.mark.requirement("holographic:file:foreign-files")
def test_the_permissions_of_an_existing_file_stay(
    golden_db: Path, store_of: Callable[[Path], Store]
) -> None:
    golden_db.chmod(0o640)
    write(store_of(golden_db))
    assert stat.S_IMODE(golden_db.stat().st_mode) == 0o640


@pytest.mark.requirement("holographic:file:one-connection")
def test_a_path_is_one_store_however_it_is_spelled(
    store: Store, path: Path, tmp_path: Path, store_of: Callable[[Path], Store]
) -> None:
    write(store)
    link = tmp_path / "link.db"
    link.symlink_to(path)
    assert store_of(link) is store
    assert store_of(path.parent / ".." / "deep" / "facts.db") is store
    assert facts(store_of(link)) == 1


@pytest.mark.requirement("holographic:file:one-connection")
def test_the_last_use_closes_the_file(path: Path) -> None:
    one, other = _client.open_store(path), _client.open_store(path)
    write(one)
    one.close()
    assert facts(other) == 1
    other.close()
    assert {item.name for item in path.parent.iterdir()} == {"facts.db"}
    again = _client.open_store(path)
    assert again is not one
    again.close()


@pytest.mark.requirement("holographic:file:snapshot")
def test_a_reader_sees_one_snapshot_while_others_write(store: Store, path: Path) -> None:
    write(store)
    with store.reading() as connection, closing(sqlite3.connect(path)) as hermes:
        assert connection is not None
        hermes.execute("INSERT INTO facts (content) VALUES ('Another.')")
        hermes.commit()
        assert connection.execute("SELECT count(*) FROM facts").fetchone() == (1,)
    assert facts(store) == 2


@pytest.mark.requirement("holographic:file:whole")
def test_an_error_undoes_everything(store: Store) -> None:
    write(store)

    def fail() -> None:
        with store.writing() as connection:
            connection.execute("INSERT INTO facts (content) VALUES ('Half.')")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert facts(store) == 1
    with store.reading() as connection:
        assert connection is not None
        query = "SELECT count(*) FROM facts_fts WHERE facts_fts MATCH 'half'"
        assert connection.execute(query).fetchone() == (0,)


@pytest.mark.requirement("holographic:file:replaced")
def test_a_replaced_file_is_opened_anew(store: Store, path: Path, golden_db: Path) -> None:
    write(store)
    os.replace(golden_db, path)
    for leftover in path.parent.glob("*-*"):
        leftover.unlink()
    assert facts(store) == 25
    path.unlink()
    assert facts(store) == -1
    write(store)
    assert facts(store) == 1


# -- what Hermes and its forks leave --------------------------------------------------------------


@pytest.mark.requirement("holographic:file:made")
def test_an_empty_file_is_a_new_store(path: Path, store: Store) -> None:
    path.parent.mkdir()
    path.touch()
    assert facts(store) == -1
    write(store)
    assert facts(store) == 1


@pytest.mark.requirement("holographic:file:foreign-files")
@pytest.mark.parametrize(
    "script", ["CREATE TABLE notes (x)", "CREATE TABLE facts (x)", "CREATE TABLE facts (content)"]
)
def test_a_foreign_database_is_left_alone(path: Path, store: Store, script: str) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as other:
        other.execute(script)
    refused(store, ProviderProtocol, "foreign")


# -- faults ---------------------------------------------------------------------------------------


@pytest.mark.requirement("holographic:file:damaged")
def test_a_file_that_is_no_database_is_refused(path: Path, store: Store) -> None:
    path.parent.mkdir()
    path.write_bytes(b"Something else entirely. " * 100)
    refused(store, ProviderProtocol, "no-database")


@pytest.mark.requirement("holographic:file:damaged")
@pytest.mark.parametrize("kept", [0.9, 0.3])
def test_a_truncated_file_is_refused(
    golden_db: Path, path: Path, store: Store, kept: float
) -> None:
    path.parent.mkdir()
    whole = golden_db.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept) // 4096 * 4096])
    refused(store, ProviderProtocol, "damaged")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_client, "BUSY_TIMEOUT", 0.2)
    monkeypatch.setattr(_client, "_STEP", 0.05)


@pytest.mark.usefixtures("impatient")
@pytest.mark.requirement("holographic:file:locked")
def test_a_locked_file_is_refused_and_left(golden_db: Path, path: Path, store: Store) -> None:
    path.parent.mkdir()
    golden_db.rename(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        for use in (facts, write):
            with pytest.raises(ProviderBusy) as caught:
                use(store)
            assert caught.value.details == {"file": str(path), "reason": "locked"}
            assert caught.value.retryable
        other.execute("ROLLBACK")
    write(store)
    assert facts(store) == 26


@pytest.mark.requirement("holographic:file:locked")
def test_who_waits_may_give_up(store: Store, path: Path) -> None:
    class GaveUp(BaseException):
        pass

    calls: list[int] = []

    def checkpoint() -> None:
        calls.append(1)
        if len(calls) > 2:
            raise GaveUp

    write(store)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(GaveUp), store.writing(checkpoint):
            pytest.fail("the lock was held by somebody else")
        assert facts(store) == 1


@pytest.fixture
def as_nobody() -> Generator[Path]:
    """A folder of an ordinary user, and to be one: root may write everywhere."""
    folder = Path(tempfile.mkdtemp())
    try:
        with suppress(AttributeError, PermissionError):
            os.chown(folder, 65534, -1)
            os.seteuid(65534)
        yield folder
    finally:
        with suppress(AttributeError, PermissionError):
            os.seteuid(0)
        folder.chmod(0o700)
        for item in folder.iterdir():
            item.unlink()
        folder.rmdir()


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
@pytest.mark.requirement("holographic:file:read-only")
def test_a_read_only_file_is_read_and_not_written(
    golden_db: Path, as_nobody: Path, store_of: Callable[[Path], Store]
) -> None:
    golden = (Path(__file__).parent / "golden" / "holographic" / "memory_store.db").read_bytes()
    path = as_nobody / "facts.db"
    path.write_bytes(golden)
    path.chmod(0o400)
    store = store_of(path)
    assert facts(store) == 25
    with pytest.raises(ProviderForbidden) as caught:
        write(store)
    assert caught.value.details == {"file": str(path), "reason": "read-only"}
    assert path.read_bytes() == golden
    assert [item.name for item in as_nobody.iterdir()] == ["facts.db"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no permission bits")
@pytest.mark.requirement("holographic:file:read-only")
def test_a_folder_that_cannot_be_written_is_told(
    as_nobody: Path, store_of: Callable[[Path], Store]
) -> None:
    as_nobody.chmod(0o555)
    with pytest.raises(ProviderUnavailable) as caught:
        write(store_of(as_nobody / "facts.db"))
    assert caught.value.details["reason"] == "input-output"


@pytest.mark.requirement("holographic:file:read-only")
def test_a_folder_is_no_file(path: Path, store: Store) -> None:
    path.mkdir(parents=True)
    with pytest.raises(ProviderForbidden) as caught:
        facts(store)
    assert caught.value.details["reason"] == "cannot-open"


@pytest.mark.requirement("holographic:file:full")
def test_a_full_disk_undoes_the_write(store: Store) -> None:
    write(store)
    with store.reading() as connection:
        assert connection is not None
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(ProviderUnavailable) as caught, store.writing() as connection:
        connection.execute("INSERT INTO facts (content) VALUES (?)", ("long " * 50_000,))
    assert caught.value.details["reason"] == "full"
    assert facts(store) == 1


@pytest.mark.requirement("holographic:file:full")
def test_a_commit_that_fails_leaves_the_outcome_open(store: Store) -> None:
    write(store)

    def deny_commit(action: int, first: str | None, *_: object) -> int:
        denied = action == sqlite3.SQLITE_TRANSACTION and first == "COMMIT"
        return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK

    with store.reading() as connection:
        assert connection is not None
        connection.set_authorizer(deny_commit)
    with pytest.raises(WriteOutcomeUnknown) as caught, store.writing() as writing:
        writing.execute("INSERT INTO facts (content) VALUES ('Perhaps.')")
    connection.set_authorizer(None)
    assert caught.value.details["file"] == str(store.path)
    assert facts(store) == 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.requirement("holographic:file:locked")
def test_a_commit_that_others_hold_up_is_undone(store: Store, golden_db: Path, path: Path) -> None:
    path.parent.mkdir()
    golden_db.rename(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        # Somebody who reads keeps the journal of the old kind, and then the commit waits for them.
        other.execute("BEGIN")
        other.execute("SELECT * FROM facts").fetchone()
        with pytest.raises(ProviderBusy):
            write(store)
        other.execute("ROLLBACK")
    assert facts(store) == 25


@pytest.mark.requirement("holographic:file:rules")
def test_a_rule_of_a_fork_is_respected(store: Store) -> None:
    with store.writing() as connection:
        connection.execute(
            "CREATE TRIGGER no AFTER INSERT ON facts BEGIN SELECT RAISE(ABORT, 'never'); END"
        )
    with pytest.raises(ProviderRejected) as caught:
        write(store)
    assert caught.value.details["reason"] == "constraint"


@pytest.mark.requirement("holographic:file:rules")
def test_an_unexpected_error_names_the_file(store: Store) -> None:
    write(store)
    with pytest.raises(ProviderServerError) as caught, store.writing() as connection:
        connection.execute("SELECT of_a_fork FROM facts")
    assert caught.value.details == {"file": str(store.path), "reason": "unexpected"}

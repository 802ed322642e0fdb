"""Files that cannot be used are refused by name, and not touched (spec/mnemon-native.md §2)."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native import errors
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._store import opening
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderError

pytestmark = pytest.mark.requirement("native:refused")


def read(path: Path) -> bytes:
    return path.read_bytes()


def exists(path: Path) -> bool:
    return path.exists()


def empty(path: Path) -> None:
    path.write_bytes(b"")


def remove(path: Path) -> None:
    path.unlink()


def folder(path: Path) -> None:
    path.mkdir()


NOTE = NewInsight(content="a note")


def run(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


async def made(store: MnemonStore) -> None:
    await store.remember(NOTE)
    await store.aclose()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8192])


def stub(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:60])


def other(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04 no database" * 100)


def foreign(path: Path) -> None:
    path.unlink()
    run(path, "CREATE TABLE books (title TEXT)")


def strange(path: Path) -> None:
    path.unlink()
    run(path, "CREATE TABLE insights (id TEXT PRIMARY KEY, words TEXT)")


def marked(path: Path) -> None:
    run(path, "PRAGMA application_id = 77")


def newer(path: Path) -> None:
    run(path, "PRAGMA user_version = 2")


def torn(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[4096 : 4096 * 30] = b"\xff" * (4096 * 29)
    path.write_bytes(bytes(data))


FAULTS = [
    (cut, errors.StoreDamaged),
    (stub, errors.StoreDamaged),
    (other, errors.StoreDamaged),
    (foreign, errors.StoreForeign),
    (strange, errors.StoreForeign),
    (marked, errors.StoreForeign),
    (newer, errors.StoreTooNew),
    (torn, errors.StoreDamaged),
]


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(("fault", "kind"), FAULTS)
async def test_a_file_that_cannot_be_used_is_named_and_left_alone(
    make_store: Callable[..., MnemonStore],
    path: Path,
    fault: Callable[[Path], None],
    kind: type[ProviderError],
    read_only: bool,
) -> None:
    await made(make_store())
    for file in path.parent.glob("index.db*"):
        file.unlink()
    fault(path)
    before = read(path)
    store = make_store(read_only=read_only)
    with pytest.raises(kind) as raised:
        await (store.list(limit=5) if read_only else store.remember(NewInsight(content="new")))
    assert str(path) in raised.value.message
    assert raised.value.details["file"] == str(path)
    assert raised.value.code == kind.code_of
    await store.aclose()
    assert read(path) == before


async def test_an_empty_file_becomes_a_store_and_is_none_to_read(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    empty(path)
    with pytest.raises(errors.StoreForeign):
        await make_store(read_only=True).status()
    assert (await make_store().remember(NOTE)).outcome.action == "added"


async def test_a_store_that_is_not_there_is_missing(
    make_store: Callable[..., MnemonStore], tmp_path: Path, path: Path
) -> None:
    nowhere = tmp_path / "data" / "nowhere" / "mnemon.db"
    with pytest.raises(errors.StoreMissing):
        await make_store(path=nowhere).remember(NOTE)
    with pytest.raises(errors.StoreMissing):
        await make_store(read_only=True).status()
    assert not nowhere.parent.exists()
    assert not exists(path)


async def test_a_lock_of_another_process_is_waited_for_and_then_named(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    await made(make_store())
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    store = make_store(patience_ms=50)
    # Opening a complete store asks for no lock, and reading does not either.
    assert (await store.status()).total_insights == 1
    with pytest.raises(errors.StoreLocked) as raised:
        await store.remember(NewInsight(content="new"))
    assert raised.value.retryable
    assert str(path) in raised.value.message
    patient = make_store(patience_ms=5_000)
    await patient.status()
    release = threading.Timer(0.1, lambda: other.execute("ROLLBACK"))
    release.start()
    assert (await patient.remember(NewInsight(content="new"))).outcome.action == "added"
    release.join()
    other.close()


@pytest.fixture
def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the right to write from everything, for root as well."""
    access = opening.os.access  # type: ignore[attr-defined]
    monkeypatch.setattr(
        opening.os,  # type: ignore[attr-defined]
        "access",
        lambda file, mode: mode != opening.os.W_OK and access(file, mode),  # type: ignore[attr-defined]
    )


@pytest.mark.usefixtures("unwritable")
async def test_a_read_only_file_is_read_and_not_written(
    make_store: Callable[..., MnemonStore], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as granted:
        granted.setattr(opening.os, "access", lambda *_: True)  # type: ignore[attr-defined]
        await made(make_store())
    run(path, "PRAGMA journal_mode = DELETE")
    before = read(path)
    store = make_store()
    assert (await store.status()).total_insights == 1
    assert [row.content for row, _ in await store.search("note")] == ["a note"]
    with pytest.raises(errors.StoreReadOnly) as raised:
        await store.remember(NewInsight(content="new"))
    assert str(path) in raised.value.message
    await store.aclose()
    assert read(path) == before
    remove(path)
    with pytest.raises(errors.StoreReadOnly):
        await make_store().status()


async def test_a_file_that_may_not_be_read_is_named(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    folder(path)
    with pytest.raises(errors.StoreReadOnly) as raised:
        await make_store().status()
    assert str(path) in raised.value.message


async def test_a_full_disk_is_named(path: Path) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    found = errors.store_error(error, path)
    assert isinstance(found, errors.StoreUnwritable)
    assert found.details == {"file": str(path), "reason": "SQLITE_FULL"}
    assert errors.store_error(sqlite3.Error("other"), path).details["reason"] == "Error"


@pytest.mark.requirement("native:readonly")
async def test_a_live_log_is_honoured_when_reading_only(
    make_store: Callable[..., MnemonStore],
) -> None:
    writer, reader = make_store(), make_store(read_only=True)
    await writer.remember(NOTE)
    assert (await reader.status()).total_insights == 1
    await writer.remember(NewInsight(content="another"))
    assert (await reader.status()).total_insights == 2
    await reader.search("note")
    assert [entry.operation for entry in await reader.log()] == ["remember", "remember"]


async def test_a_store_that_was_replaced_is_opened_anew(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    store = make_store()
    await store.remember(NOTE)
    for file in path.parent.iterdir():
        file.unlink()
    assert (await store.remember(NOTE)).outcome.action == "added"
    assert (await store.status()).total_insights == 1
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    with pytest.raises(errors.StoreMissing):
        await store.status()

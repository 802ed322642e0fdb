"""Files that cannot be used are refused by name, and not touched (spec/mnemon-native.md §2)."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from dsh_mnemon_provider_mnemon_native import errors
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore
from dsh_mnemon_provider_mnemon_native._ranking import Query
from dsh_mnemon_provider_mnemon_native._store import opening
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight, ProviderError

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
    assert raised.value.message.startswith("default/mnemon.db ")
    assert str(path.parent.parent) not in raised.value.message
    assert raised.value.details["file"] == str(path)
    assert raised.value.code == kind.code_of
    await store.aclose()
    assert read(path) == before


CALLS: dict[str, Callable[[MnemonStore], Awaitable[object]]] = {
    "status": lambda store: store.status(),
    "recall": lambda store: store.recall(Query(text="note")),
    "search": lambda store: store.search("note"),
    "list": lambda store: store.list(limit=5),
    "graph": lambda store: store.graph(limit=5),
    "remember": lambda store: store.remember(NOTE),
    "import": lambda store: store.import_draft(checked([DraftInsight(content="new")])),
    "forget": lambda store: store.forget("n1"),
}


@pytest.mark.requirement("native:missing")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("indexed", [False, True])
async def test_a_store_is_never_made_anew_in_place_of_one_that_is_gone(
    make_store: Callable[..., MnemonStore],
    path: Path,
    call: str,
    indexed: bool,
) -> None:
    if indexed:
        await made(make_store())
        index = read(path.parent / "index.db")
        remove(path)
    store = make_store(filled=False)
    with pytest.raises(errors.StoreMissing) as missing:
        await CALLS[call](store)
    assert missing.value.message.startswith("default/mnemon.db is not there; restore it")
    assert not exists(path)
    empty(path)
    with pytest.raises(errors.StoreDamaged) as damaged:
        await CALLS[call](store)
    assert damaged.value.message.startswith("default/mnemon.db is empty; restore it")
    assert damaged.value.details == {"file": str(path), "size": 0}
    assert read(path) == b""
    run(path, "CREATE TABLE passing (thing)", "DROP TABLE passing")
    before = read(path)
    with pytest.raises(errors.StoreDamaged, match="holds no tables"):
        await CALLS[call](store)
    assert read(path) == before
    if indexed:
        assert read(path.parent / "index.db") == index


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("name", ["mnemon.db", "index.db"])
async def test_a_pipe_is_not_opened(
    make_store: Callable[..., MnemonStore], path: Path, name: str, read_only: bool
) -> None:
    await made(make_store())
    for file in path.parent.glob("index.db*"):
        remove(file)
    store, pipe = make_store(read_only=read_only), path.with_name(name)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    with anyio.fail_after(5):
        if name == "index.db":
            # It is derived: the store answers without it.
            assert [row.id for row, _ in await store.search("note")] == ["n1"]
            return
        with pytest.raises(errors.StoreNoFile) as raised:
            await store.search("note")
    assert raised.value.code == "store-not-a-file"
    assert "default/mnemon.db is a pipe" in raised.value.message


async def test_a_folder_one_may_not_look_into_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", refuse)
    with pytest.raises(errors.StoreReadOnly, match="Permission denied"):
        opening.is_file(path)
    monkeypatch.undo()
    opening.create_file(path)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(errors.StoreReadOnly, match="Permission denied"):
        opening.open_to_read(path)


async def test_a_store_that_is_not_there_is_missing(
    make_store: Callable[..., MnemonStore], tmp_path: Path, path: Path
) -> None:
    nowhere = tmp_path / "data" / "nowhere" / "mnemon.db"
    with pytest.raises(errors.StoreMissing) as raised:
        await make_store(path=nowhere, filled=False).remember(NOTE)
    assert raised.value.message.startswith("nowhere/mnemon.db is not there; ")
    assert "`dsh-mnemon spaces delete`" in raised.value.message
    assert raised.value.details == {"file": str(nowhere)}
    with pytest.raises(errors.StoreMissing):
        await make_store(read_only=True, filled=False).status()
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
    assert raised.value.message.startswith("default/mnemon.db ")
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
    assert raised.value.message.startswith("default/mnemon.db ")
    await store.aclose()
    assert read(path) == before
    remove(path)
    with pytest.raises(errors.StoreReadOnly):
        opening.create_file(path)
    assert not exists(path)


async def test_a_folder_of_that_name_is_no_store(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    folder(path)
    with pytest.raises(errors.StoreNoFile) as raised:
        await make_store().status()
    assert raised.value.message.startswith("default/mnemon.db is a folder")


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


async def backed_up(store: MnemonStore, path: Path) -> Path:
    """Keep the store as it is in a file of its own, as SQLite's own backup does."""
    copy = path.with_name("backup")
    with closing(sqlite3.connect(path)) as live, closing(sqlite3.connect(copy)) as kept:
        live.backup(kept)
    return copy


async def listed(store: MnemonStore) -> set[str]:
    return {row.content for row in (await store.list(limit=9)).rows}


@pytest.mark.requirement("native:replaced")
async def test_a_store_that_was_replaced_is_opened_anew(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    store, other = make_store(), make_store()
    await store.remember(NOTE)
    backup = await backed_up(store, path)
    await store.remember(NewInsight(content="after the backup"))
    assert await listed(other) == {"a note", "after the backup"}
    old = path.with_name("old")
    old.hardlink_to(path)
    backup.replace(path)
    # The log of the old file must not be replayed over the new one.
    assert await listed(store) == {"a note"}
    assert [row.content for row, _ in await store.search("backup")] == []
    await store.remember(NewInsight(content="since then"))
    assert await listed(other) == {"a note", "since then"}
    assert await listed(store) == {"a note", "since then"}
    await other.aclose()
    await store.aclose()
    with closing(sqlite3.connect(old)) as connection:
        found = connection.execute("SELECT content FROM insights ORDER BY rowid").fetchall()
    assert found == [("a note",), ("after the backup",)]
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


async def test_a_reader_notices_that_the_store_was_replaced(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    await made(make_store())
    reader = make_store(read_only=True)
    backup = await backed_up(reader, path)
    run(path, "UPDATE insights SET content = 'changed'")
    assert await listed(reader) == {"changed"}
    backup.replace(path)
    assert await listed(reader) == {"a note"}


async def test_a_replaced_store_that_is_in_use_is_not_mixed_up(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    store = make_store(patience_ms=50)
    await store.remember(NOTE)
    backup = await backed_up(store, path)
    await store.remember(NewInsight(content="after the backup"))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM insights").fetchall()
    await store.remember(NewInsight(content="and another"))
    backup.replace(path)
    with pytest.raises(errors.StoreLocked, match="was replaced"):
        await store.status()
    other.execute("ROLLBACK")
    other.close()
    assert await listed(store) == {"a note"}


@pytest.mark.requirement("native:missing")
async def test_a_store_that_was_removed_is_missing(
    make_store: Callable[..., MnemonStore], path: Path
) -> None:
    store = make_store()
    await store.remember(NOTE)
    for file in path.parent.iterdir():
        file.unlink()
    with pytest.raises(errors.StoreMissing):
        await store.remember(NOTE)
    assert not exists(path)
    for file in path.parent.iterdir():
        file.unlink()
    path.parent.rmdir()
    with pytest.raises(errors.StoreMissing):
        await store.status()


async def test_a_folder_that_is_closed_meanwhile_is_a_typed_refusal(
    make_store: Callable[..., MnemonStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = make_store()
    await store.remember(NOTE)

    def denied(path: object, *_arguments: object, **_options: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(os, "stat", denied)
        with pytest.raises(errors.StoreReadOnly, match=r"mnemon\.db cannot be read: Permission"):
            await store.remember(NewInsight(content="lost"))

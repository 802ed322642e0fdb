"""Fixtures of the tests: stores in a temporary folder, with a clock that stands still."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._store.opening import create_file

NOW = datetime(2026, 11, 30, 12, 0, 0, 500_000, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@attrs.define
class Clock:
    """A clock that is set by hand."""

    time: datetime = NOW

    def __call__(self) -> datetime:
        return self.time

    def advance(self, **delta: float) -> None:
        self.time += timedelta(**delta)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the store of a test lies; its folder exists."""
    file = tmp_path / "data" / "default" / "mnemon.db"
    file.parent.mkdir(parents=True)
    return file


@pytest.fixture
async def make_store(
    anyio_backend: str, path: Path, clock: Clock
) -> AsyncGenerator[Callable[..., MnemonStore]]:
    """Make stores on the test's file; ids are n1, n2, …; all are closed at the end.

    The file is made before, unless ``filled`` is false.
    """
    del anyio_backend
    made: list[MnemonStore] = []
    numbers = itertools.count(1)

    def make(*, filled: bool = True, **options: Any) -> MnemonStore:
        defaults = {"clock": clock, "new_id": lambda: f"n{next(numbers)}", "patience_ms": 200}
        file = options.pop("path", path)
        if filled and not file.exists():
            create_file(file)
        store = MnemonStore(file, StoreOptions(**{**defaults, **options}))
        made.append(store)
        return store

    yield make
    for store in made:
        await store.aclose()


@pytest.fixture
def store(make_store: Callable[..., MnemonStore]) -> MnemonStore:
    """One store on the test's file."""
    return make_store()


@pytest.fixture
def read_file(path: Path) -> Callable[[str], list[Any]]:
    """Ask the test's file apart from the engine."""

    def read(query: str) -> list[Any]:
        connection = sqlite3.connect(path)
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    return read


@pytest.fixture
def write_lock(path: Path) -> Callable[[], AbstractContextManager[None]]:
    """Hold the write lock of the test's file, as another process would."""

    @contextmanager
    def held() -> Generator[None]:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
        connection.close()

    return held

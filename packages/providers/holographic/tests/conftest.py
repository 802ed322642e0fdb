"""Fixtures of the Holographic Provider's tests."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_holographic._client import Store, open_store
from dsh_mnemon_provider_holographic._config import settings_of
from dsh_mnemon_provider_holographic._engine import Engine

GOLDEN = Path(__file__).parent / "golden" / "holographic"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture
def now() -> datetime:
    """The time that every clock shows."""
    return NOW


@pytest.fixture
def golden_db(tmp_path: Path) -> Path:
    """A copy of the database that Hermes made."""
    return Path(shutil.copy(GOLDEN / "memory_store.db", tmp_path / "hermes.db"))


@pytest.fixture
def store_of() -> Generator[Callable[[Path], Store]]:
    """Open stores that are closed at the end."""
    opened: list[Store] = []

    def open_one(path: Path) -> Store:
        opened.append(open_store(path))
        return opened[-1]

    yield open_one
    for store in opened:
        store.close()


@pytest.fixture
def engine_of(tmp_path: Path, store_of: Callable[[Path], Store]) -> Callable[..., Engine]:
    """Build an engine over a file of ``tmp_path``; keywords are settings, spelled as saved."""

    def make(name: str = "memory_store.db", now: datetime = NOW, **settings: Any) -> Engine:
        read = settings_of({"hrrDim": 256, **settings, "dataPath": name}, tmp_path, environment={})
        return Engine(store=store_of(read.place.database), settings=read, now=now)

    return make

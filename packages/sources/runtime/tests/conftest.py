"""Fixtures of the Runtime Source's tests."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_core.identity import Provenance
from dsh_mnemon_core.sdk import SourceContext
from dsh_mnemon_source_runtime import Config, RuntimeSource, runtime_source
from dsh_mnemon_source_runtime._memory import RuntimeMemory
from dsh_mnemon_source_runtime._store import RuntimeStore
from dsh_mnemon_source_runtime.contracts import Limits

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture
def now() -> datetime:
    """The time that every clock shows unless a test says otherwise."""
    return NOW


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The ``runtime`` folder of the default root; it does not exist yet."""
    return tmp_path / "runtime"


@pytest.fixture
def make_memory(tmp_path: Path) -> Callable[..., RuntimeMemory]:
    """Build a memory over ``tmp_path`` with limits and roots of the test's choice."""

    def make(
        root: Path = tmp_path,
        user_root: Path | None = None,
        *,
        limits: Limits | None = None,
        clock: Callable[[], datetime] = lambda: NOW,
        timing: LockTiming | None = None,
    ) -> RuntimeMemory:
        return RuntimeMemory(
            root, user_root or root, limits=limits or Limits(), clock=clock, timing=timing
        )

    return make


@pytest.fixture
def make_store(tmp_path: Path) -> Callable[..., RuntimeStore]:
    """Build the store of a root that waits for no lock."""

    def make(root: Path = tmp_path) -> RuntimeStore:
        return RuntimeStore(root, clock=lambda: NOW, timing=LockTiming(guard=0.0, file=0.0))

    return make


@pytest.fixture
def store(make_store: Callable[..., RuntimeStore]) -> RuntimeStore:
    """The store of ``tmp_path``."""
    return make_store()


@pytest.fixture
def make_source(tmp_path: Path) -> Callable[..., RuntimeSource]:
    """Mount a source over ``tmp_path``, configured like a profile row."""

    def make(
        config: dict[str, Any] | None = None,
        *,
        host: dict[str, Any] | None = None,
        key: str = "source:mnemon-source-runtime",
        **options: Any,
    ) -> RuntimeSource:
        row = Config.model_validate({"dataDir": str(tmp_path)} if config is None else config)
        definition = runtime_source(row, **{"clock": lambda: NOW, **options})
        context = SourceContext(
            source_instance_key=key,
            provenance=Provenance(
                package_name="dsh-mnemon-source-runtime", entry_id="mnemon-source-runtime"
            ),
            configuration=host or {},
        )
        source = definition.create(context)
        assert isinstance(source, RuntimeSource)
        return source

    return make

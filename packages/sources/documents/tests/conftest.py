"""Fixtures of the Documents Source's tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from uuid import UUID

import attrs
import pytest
from dsh_mnemon_core.files import LockTiming
from dsh_mnemon_core.scope import OperationScope
from dsh_mnemon_source_documents import Config, documents_source
from dsh_mnemon_source_documents._format import filename, render
from dsh_mnemon_source_documents._index import FILE, encode, place
from dsh_mnemon_source_documents._library import Library
from dsh_mnemon_source_documents._search import Searcher
from dsh_mnemon_source_documents._store import DocumentStore
from dsh_mnemon_source_documents._text import sha256
from dsh_mnemon_source_documents.contracts import DocumentRecord
from dsh_mnemon_testing import RunningSource
from dsh_mnemon_testing.running import start_source

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
AT = "2026-03-01T12:00:00.000Z"


class Clock:
    """A clock that shows what a test sets."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio."""
    return "asyncio"


@pytest.fixture
def clock() -> Clock:
    """The clock of everything a test makes."""
    return Clock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The ``documents`` folder of the default root; it does not exist yet."""
    return tmp_path / "documents"


@pytest.fixture
def workspace(tmp_path: Path) -> str:
    """An existing workspace."""
    path = tmp_path / "workspace"
    path.mkdir()
    return str(path)


@pytest.fixture
def new_id() -> Callable[[], str]:
    """Ids that are counted: ``00000001-…``, ``00000002-…``."""
    numbers = count(1)
    return lambda: str(UUID(int=next(numbers) << 96 | 4 << 76 | 1 << 63))


@pytest.fixture
def make_library(tmp_path: Path, clock: Clock, new_id: Callable[[], str]) -> Callable[..., Library]:
    """Build a library over ``tmp_path``."""

    def make(
        root: Path = tmp_path,
        *,
        limit_bytes: int = 10_000_000,
        tail: int | None = None,
        **more: Any,
    ) -> Library:
        if tail is not None:
            more["searcher"] = Searcher(DocumentStore(root).bodies, tail=tail)
        return Library(
            root,
            limit_bytes=limit_bytes,
            clock=clock,
            **{"timing": LockTiming(guard=5.0, file=0.0), "new_id": new_id, **more},
        )

    return make


@pytest.fixture
def library(make_library: Callable[..., Library]) -> Library:
    """The library of ``tmp_path``."""
    return make_library()


@pytest.fixture
def make_record() -> Callable[..., DocumentRecord]:
    """Build a record whose fields agree with each other unless a test says otherwise."""

    def make(document_id: str, body: str = "Body", **fields: Any) -> DocumentRecord:
        title = fields.pop("title", document_id)
        status = fields.pop("status", "active")
        name = fields.pop("filename", filename(title, document_id))
        record = DocumentRecord(
            **{
                "id": document_id,
                "title": title,
                "description": "",
                "status": status,
                "filename": name,
                "relative_path": place(status, name),
                "source_paths": (),
                "session_ids": (),
                "created_at": AT,
                "updated_at": AT,
                "last_accessed_at": AT,
                "revision": 1,
                "content_hash": sha256(body),
                "size_bytes": 0,
                **fields,
            }
        )
        if "size_bytes" in fields:
            return record
        return attrs.evolve(record, size_bytes=len(render(record, body)))

    return make


@pytest.fixture
def write_store(folder: Path) -> Callable[..., None]:
    """Write index and bodies as they are, without a library."""

    def write(documents: Sequence[tuple[DocumentRecord, str]]) -> None:
        for status in ("active", "archived"):
            (folder / status).mkdir(parents=True, exist_ok=True)
        for record, body in documents:
            (folder.parent / record.relative_path).write_bytes(render(record, body))
        (folder / FILE).write_bytes(encode([record for record, _ in documents]))

    return write


@pytest.fixture
def run_source(tmp_path: Path, clock: Clock, workspace: str) -> Callable[..., RunningSource]:
    """Mount a source over ``tmp_path``, to be asked as Core asks it."""

    def run(*, workspace_id: str | None = workspace, **config: Any) -> RunningSource:
        row = Config.model_validate({"dataDir": str(tmp_path), **config})
        return start_source(
            documents_source(row, clock=clock),
            key="source:mnemon-source-documents",
            folder=tmp_path,
            scope=OperationScope(storage="custom", workspace_id=workspace_id),
            configuration={},
            secrets={},
        )

    return run


@pytest.fixture
def source(run_source: Callable[..., RunningSource]) -> RunningSource:
    """A mounted source over ``tmp_path``."""
    return run_source()


@pytest.fixture
def settle(folder: Path) -> Callable[[], None]:
    """Make all files look as if nobody had written to them lately; only such ones are indexed."""

    def age() -> None:
        for path in folder.rglob("*.md"):
            status = path.stat()
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns - 1_000_000_000))

    return age

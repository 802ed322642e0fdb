"""Sessions with the quick index, and what tests put into them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._store.sessions import open_session
from dsh_mnemon_provider_mnemon_native._store.transaction import Session, Transaction
from dsh_mnemon_provider_mnemon_native._tokens import tokens

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TIME = "2026-11-30T12:00:00Z"
Opener = Callable[..., Session]


@contextmanager
def opening(path: Path) -> Iterator[Opener]:
    """Open sessions on the test's file with the quick index; all are closed at the end."""
    sessions: list[Session] = []
    numbers = itertools.count(1)

    def opener(**options: Any) -> Session:
        defaults = {
            "index": QuickIndex,
            "clock": lambda: NOW,
            "new_id": lambda: f"i{next(numbers)}",
        }
        if not path.exists():
            create_file(path)
        session = open_session(path, **{**defaults, **options})
        sessions.append(session)
        return session

    yield opener
    for session in sessions:
        session.index.close()
        session.connection.close()


def put(
    writing: Transaction, content: str, vector: Sequence[float] | None = None, **values: Any
) -> Row:
    row = Row(
        **{
            "rowid": 0,
            "id": writing.session.new_id(),
            "content": content,
            "category": "general",
            "importance": 3,
            "tags": (),
            "entities": (),
            "source": "user",
            "access_count": 0,
            "created_at": TIME,
            "updated_at": TIME,
            **values,
        }
    )
    return writing.insert(row, vector)


def keep(session: Session, *contents: str, **values: Any) -> list[Row]:
    with session.writing() as writing:
        return [put(writing, content, **values) for content in contents]


def live(session: Session) -> Any:
    assert isinstance(session.index, QuickIndex)
    return session.index.live


def hits(session: Session, text: str) -> list[str]:
    with session.reading():
        return [found.id for found in session.index.keyword(tokens(text), limit=50)]

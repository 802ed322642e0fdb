"""The index answers exactly as a scan of the whole store does."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dsh_mnemon_provider_mnemon_native._index.columns import Columns
from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._ranking import Scope
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction
from dsh_mnemon_provider_mnemon_native._tokens import tokens

from .index_cases import TIME, Opener, keep, live, opening, put
from .scan_index import ScanIndex

pytestmark = [
    pytest.mark.requirement("native:index"),
    pytest.mark.requirement("native:index:derived"),
]


@pytest.fixture
def opened(path: Path) -> Iterator[Opener]:
    """Open sessions on the test's file with the quick index; all are closed at the end."""
    with opening(path) as opener:
        yield opener


class Both:
    """Asks the quick index and the scan, and fails where they differ."""

    def __init__(self, store: sqlite3.Connection, folder: Path, read_only: bool) -> None:
        self.quick = QuickIndex(store, folder, read_only)
        self._scan = ScanIndex(store)

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            expected = getattr(self._scan, name)(*arguments, **options)
            found = getattr(self.quick, name)(*arguments, **options)
            assert _plain(found) == _plain(expected), (name, arguments, options)
            return found

        return call


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, frozenset) else value if value is None else [*value]


WORDS = [
    "alpha",
    "beta",
    "go",
    "redis",
    "the",
    "and",
    "naïve",
    "Straße",
    "数据库",
    "机器学习",
    "库",
    "Al:",
    "Bo:",
    "Al:",
    "Bo:",
]


def _ask(index: Any, picked: random.Random) -> None:
    assert index.quick.live.columns.count >= 0, "kept in step from here on"
    scope = picked.choice([Scope(), Scope(source="a"), Scope(category="fact", source="b")])
    words = tokens(" ".join(picked.choices(WORDS, k=picked.randint(1, 4))))
    if words:
        index.keyword(words, limit=picked.randint(1, 5), scope=scope)
        index.overlapping(words, limit=3, floor=0.1, exclude=f"i{picked.randint(1, 50)}")
    index.naming(frozenset(picked.sample(["go", "x y", "redis"], 2)), limit=4, scope=scope)
    index.known(["Go", "go", "x y"])
    index.holders("Go", limit=2, exclude=f"i{picked.randint(1, 50)}")
    index.newest(limit=4, scope=scope)
    index.same_content(picked.choice(WORDS))
    vector = [picked.gauss(0, 1) for _ in range(8)]
    index.nearest(vector, limit=3, above=0.1, scope=scope, exclude=f"i{picked.randint(1, 50)}")


def _change(writing: Transaction, picked: random.Random, ids: list[str]) -> None:
    row = put(
        writing,
        " ".join(picked.choices(WORDS, k=picked.randint(1, 6))),
        [picked.gauss(0, 1) for _ in range(8)] if picked.random() < 0.5 else None,
        category=picked.choice(["fact", "general"]),
        importance=picked.randint(1, 5),
        tags=tuple(picked.sample(["x", "数据库"], picked.randint(0, 2))),
        entities=tuple(picked.sample(["Go", "go", "x y"], picked.randint(0, 2))),
        source=picked.choice("ab"),
        created_at=f"2026-01-{picked.randint(1, 9):02d}T0{picked.randint(0, 9)}:00:00Z",
    )
    ids.append(row.id)
    if picked.random() < 0.3:
        writing.forget(picked.choice(ids), TIME)


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_index_answers_as_the_scan_does(opened: Opener, seed: int) -> None:
    session = opened(index=Both)
    picked, ids = random.Random(seed), list[str]()
    for _ in range(60):
        try:
            with session.writing() as writing:
                _ask(session.index, picked)
                _change(writing, picked, ids)
                _ask(session.index, picked)
                if picked.random() < 0.2:
                    raise KeyError
        except KeyError:
            pass
        with session.reading():
            _ask(session.index, picked)
        if picked.random() < 0.1:
            session.index.quick.close()
    with session.reading():
        kept = session.index.quick.live.columns
        fresh = Columns(session.index.quick.live.connection)
    assert kept.count == fresh.count
    for name in ("before", "after", "mass", "traits", "words"):
        shortest = min(len(getattr(kept, name)), len(getattr(fresh, name)))
        assert getattr(kept, name)[:shortest] == getattr(fresh, name)[:shortest]


def _chinese(picked: random.Random) -> str:
    letters = "数据库机器学习模型训练中文のひらカナ한글a1 ，。"
    return "".join(picked.choices(letters, k=picked.randint(1, 14)))


@pytest.mark.requirement("native:hybrid:terms")
def test_short_chinese_words_are_found_exactly_where_they_stand(opened: Opener) -> None:
    picked = random.Random(11)
    texts = list(dict.fromkeys(_chinese(picked) for _ in range(700)))
    session = opened()
    keep(session, *texts)
    with session.reading():
        postings = live(session).postings
        for _ in range(600):
            word = "".join(
                picked.choices("数据库机器学习模型训练中文のひらカナ한글", k=picked.randint(1, 2))
            )
            docs = postings.docs("stems", word, begins=len(word) == 1)
            assert [texts[doc - 1] for doc in docs] == [text for text in texts if word in text]

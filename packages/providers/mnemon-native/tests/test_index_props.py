"""The quick index answers as a scan of all rows does (spec/README.md D47)."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from dsh_mnemon_provider_mnemon_native._index.postings import Postings
from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._index.tally import Counts, Tally, bits_of, docs_of
from dsh_mnemon_provider_mnemon_native._ranking import Index, Scope
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._store.sessions import open_session
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._tokens import tokens
from hypothesis import given
from hypothesis import strategies as st

from .scan_index import ScanIndex

pytestmark = pytest.mark.requirement("native:index")

WORDS = ["red", "green", "blue", "数据库", "库", "cache", "cash", "the", "naïve", "atlas", "slow"]
NAMES = ["Atlas", "atlas", "Kafka", "数据", "WAL"]
CATEGORIES = ["fact", "decision", "general"]
START = datetime(2026, 1, 1, tzinfo=UTC)


class Stores:
    """One file, seen by a quick index and by a scan, with random writes."""

    def __init__(self, path: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        numbers = itertools.count(1)
        create_file(path)
        self.session: Session = open_session(
            path,
            index=QuickIndex,
            clock=lambda: START,
            new_id=lambda: f"i{next(numbers):04}",
        )
        self.scan = ScanIndex(self.session.connection)

    def text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=self.chance.randint(1, 7)))

    def row(self) -> Row:
        time = (START + timedelta(hours=self.chance.randint(0, 40))).isoformat()
        names = self.chance.sample(NAMES, self.chance.choice([0, 0, 1, 2]))
        return Row(
            rowid=0,
            id=self.session.new_id(),
            content=self.text(),
            category=self.chance.choice(CATEGORIES),
            importance=self.chance.randint(1, 5),
            tags=tuple(self.chance.choices(WORDS, k=self.chance.choice([0, 1]))),
            entities=tuple(names),
            source=self.chance.choice(["user", "agent"]),
            access_count=0,
            created_at=time,
            updated_at=time,
            stored_at=time,
        )

    def write(self, count: int, *, fail: bool = False) -> None:
        """Add and forget in one transaction, asking in between; ``fail`` takes all back."""
        try:
            with self.session.writing() as writing:
                self.scan.refresh()
                for _ in range(count):
                    vector = [self.chance.uniform(-1, 1) for _ in range(4)]
                    row = writing.insert(self.row(), vector if self.chance.random() < 0.5 else None)
                    self.scan.changed(row)
                    if self.chance.random() < 0.3:
                        gone = f"i{self.chance.randint(1, int(row.id[1:])):04}"
                        if writing.forget(gone, "2026-01-01T00:00:00Z"):
                            self.scan.removed(gone)
                self.compare()
                if fail:
                    raise RuntimeError("taken back")
            self.scan.committed()
        except RuntimeError:
            self.scan.rolled_back()

    def ask(self, index: Index, seed: int) -> list[object]:
        chance = random.Random(seed)
        words = tokens(" ".join(chance.choices(WORDS, k=chance.randint(0, 6))))
        scope = chance.choice(
            [Scope(), Scope(category="fact"), Scope(source="user"), Scope(category="x")]
        )
        limit = chance.choice([1, 3, 5, 20])
        exclude = f"i{chance.randint(1, 60):04}"
        names = chance.sample(NAMES, chance.randint(0, 3))
        vector = [chance.uniform(-1, 1) for _ in range(chance.choice([4, 4, 3]))]
        near = index.nearest(vector, limit=limit, above=0.1, scope=scope, exclude=exclude)
        return [
            list(index.keyword(words, limit=limit, scope=scope)),
            list(index.overlapping(words, limit=limit, floor=0.1, exclude=exclude)),
            list(index.naming(frozenset(map(str.lower, names)), limit=limit, scope=scope)),
            list(index.newest(limit=limit, scope=scope)),
            [(one.id, round(one.score, 6)) for one in near],
            index.known([*names, "red"]),
            [index.holders(name, limit=limit, exclude=exclude) for name in NAMES],
            [index.same_content(content) for content in ("red", "数据库", self.session.path.name)],
        ]

    def compare(self) -> None:
        for _ in range(4):
            seed = self.chance.randint(0, 10**9)
            assert self.ask(self.session.index, seed) == self.ask(self.scan, seed)

    def check(self) -> None:
        with self.session.reading():
            self.scan.refresh()
            self.compare()

    def close(self) -> None:
        self.session.index.close()
        self.session.connection.close()


@pytest.fixture
def stores(path: Path) -> Callable[[int], Stores]:
    return lambda seed: Stores(path, seed)


@pytest.mark.parametrize("seed", range(12))
def test_both_indexes_answer_alike_after_any_writes(
    stores: Callable[[int], Stores], seed: int
) -> None:
    with closing(stores(seed)) as one:
        for step in range(8):
            one.write(one.chance.randint(1, 12), fail=step % 3 == 2)
            one.check()


def test_both_indexes_see_what_another_connection_wrote(path: Path) -> None:
    with closing(Stores(path, 1)) as here, closing(Stores(path, 2)) as there:
        there.session.new_id = here.session.new_id
        for _ in range(5):
            here.write(4)
            here.check()
            there.check()
            there.write(4)
            there.check()
            here.check()


@given(st.lists(st.integers(0, 3_000), unique=True))
def test_bits_and_documents_are_the_same_thing(docs: list[int]) -> None:
    assert list(docs_of(bits_of(docs))) == sorted(docs)


@given(st.lists(st.sets(st.integers(1, 200)), max_size=40), st.sets(st.integers(1, 200)))
def test_counting_by_digits_counts(held: list[set[int]], among: set[int]) -> None:
    counts = Counts()
    for docs in held:
        counts.add(bits_of(sorted(docs)))
    found = {
        doc: count
        for count, docs in counts.descending(bits_of(sorted(among)))
        for doc in docs_of(docs)
    }
    expected = {doc: sum(doc in docs for docs in held) for doc in among}
    assert found == {doc: count for doc, count in expected.items() if count}
    order = [count for count, _ in counts.descending(bits_of(sorted(among)))]
    assert order == sorted(order, reverse=True)


class Fixed(Postings):
    """Terms with known documents."""

    def __init__(self) -> None:
        self.reads = 0

    def docs(self, field: str, term: str, *, begins: bool = False) -> list[int]:  # type: ignore[override]
        self.reads += 1
        return [doc for doc in range(1, 400) if doc % int(term) == 0] if field == "words" else []


def test_a_tally_reads_a_term_once_until_it_keeps_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    postings = Fixed()
    tally = Tally(postings, {5: list(range(1, 400))})

    def top(*terms: str) -> list[int]:
        count, docs = next(tally.counts(terms, "words").descending(tally.alive))
        assert count == len(terms)
        return list(docs_of(docs))

    assert top("100", "2") == [100, 200, 300]
    assert top("2", "100") == [100, 200, 300]
    assert postings.reads == 2
    for doc in range(400, 480, 2):
        tally.added(doc, 3, {"words": ["2", "100"]})
    tally.dropped(300)
    tally.dropped(300)
    assert top("100", "2")[-1] == 478
    assert 300 not in top("100")
    assert dict(tally.by_size(5))[3] == bits_of(range(400, 480, 2))
    monkeypatch.setattr("dsh_mnemon_provider_mnemon_native._index.tally._KEPT_TERMS", 1)
    assert len(top("3")) == 132
    assert postings.reads == 3

"""How well recall finds: ``python -m tools.bench recall [--locomo PATH] [--vectors]``."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Final, TypeAlias

import anyio
import attrs
from dsh_mnemon_provider_mnemon_native._compatible import CompatibleRanking
from dsh_mnemon_provider_mnemon_native._embedding import Embedder
from dsh_mnemon_provider_mnemon_native._engine import MnemonStore, StoreOptions
from dsh_mnemon_provider_mnemon_native._hybrid import SIGNALS, HybridRanking, Signal
from dsh_mnemon_provider_mnemon_native._index.quick import QuickIndex
from dsh_mnemon_provider_mnemon_native._ranking import Query, Ranked, Ranking
from dsh_mnemon_provider_mnemon_native._store.opening import create_file
from dsh_mnemon_provider_mnemon_native._store.sessions import open_session
from dsh_mnemon_provider_mnemon_native._store.transaction import Session
from dsh_mnemon_provider_mnemon_native._write.drafts import checked
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftInsight, EmbeddingSettings

from tools.bench.bm25 import PlainBm25
from tools.bench.embedding import serving
from tools.bench.sets import CATEGORIES, Collection, Question, chinese, locomo

DEPTHS: Final = (1, 4, 6, 10)
"""The k of recall@k."""

_FETCHED: Final = 30
"""What the Source asks for when it wants ten (candidate multiplier 3)."""
_LOW, _HIGH, _MEDIUM = 0.25, 0.6, 4
"""The Source's default quality policy, strict-v1."""

Vector: TypeAlias = tuple[float, ...] | None
NO_VECTORS: Final[Mapping[str, Vector]] = {}

Found: TypeAlias = Callable[[int], Sequence[str]]
"""Names of the memories an answer of at most so many holds, best first."""

Asker: TypeAlias = Callable[[Question], Found]


@attrs.define
class Tally:
    """Recall at each depth, summed by group."""

    sums: dict[object, list[float]] = attrs.field(
        factory=lambda: defaultdict[object, list[float]](lambda: [0.0] * len(DEPTHS))
    )
    counts: dict[object, int] = attrs.field(factory=lambda: defaultdict[object, int](int))

    def add(self, question: Question, found: Found) -> None:
        """Count one question, in its category and in all."""
        for group in ("all", question.category):
            self.counts[group] += 1
            for place, depth in enumerate(DEPTHS):
                hits = question.evidence & {*found(depth)}
                self.sums[group][place] += len(hits) / len(question.evidence)

    def line(self, name: str) -> str:
        """Return one line: recall at each depth over all, then at 6 and 10 by category."""
        cells = "".join(f"{value:7.3f}" for value in self._means("all"))
        for category in CATEGORIES:
            if self.counts[category]:
                _, _, six, ten = self._means(category)
                cells += f"   {six:.3f} {ten:.3f}"
        return f"{name:<28}{cells}"

    def _means(self, group: object) -> list[float]:
        return [value / max(self.counts[group], 1) for value in self.sums[group]]


@attrs.frozen
class Filled:
    """A store that holds a collection; ``names`` by the ids the store gave."""

    collection: Collection
    session: Session
    names: Mapping[str, str]


async def _import(path: Path, collection: Collection, endpoint: str) -> Mapping[str, str]:
    """Import a collection, by the way every import takes; return its names by id."""
    insights = [DraftInsight(content=said, created_at=at) for _, said, at in collection.memories]
    draft = checked(insights, diff=False)
    embedder = _embedder(endpoint)
    # Ids in order, so that ties are settled alike in every run.
    ids = map("{:08d}".format, count())
    create_file(path)
    store = MnemonStore(path, StoreOptions(embedder=embedder, new_id=lambda: next(ids)))
    try:
        written = (await store.import_draft(draft)).results
    finally:
        await store.aclose()
        await embedder.aclose()
    return {written[n].id: name for n, (name, _, _) in enumerate(collection.memories)}


def _embedder(endpoint: str) -> Embedder:
    return Embedder(EmbeddingSettings(enabled=bool(endpoint), endpoint=endpoint, protocol="openai"))


@contextmanager
def filled(collection: Collection, endpoint: str = "") -> Generator[Filled]:
    """Import a collection into a store of its own, with vectors of an endpoint if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mnemon.db"
        names = anyio.run(_import, path, collection, endpoint)
        session = open_session(
            path,
            index=QuickIndex,
            clock=lambda: datetime.now(UTC),
            new_id=lambda: str(uuid.uuid4()),
        )
        try:
            yield Filled(collection, session, names)
        finally:
            session.index.close()
            session.connection.close()


def through_source(rows: Sequence[Ranked], depth: int) -> list[Ranked]:
    """Return what the Source's policy lets through: high first, then at most four medium."""
    fetched = rows[: depth * 3]
    high = [row for row in fetched if row.score >= _HIGH]
    medium = [row for row in fetched if _LOW <= row.score < _HIGH]
    return (high + medium[:_MEDIUM])[:depth]


def _asking(
    filled: Filled, ranking: Ranking, vectors: Mapping[str, Vector], *, policy: bool
) -> Asker:
    def ask(question: Question) -> Found:
        vector = vectors.get(question.text)
        rows = ranking.recall(Query(text=question.text, limit=_FETCHED, vector=vector)).rows

        def found(depth: int) -> Sequence[str]:
            chosen = through_source(rows, depth) if policy else rows[:depth]
            return [filled.names[row.id] for row in chosen]

        return found

    return ask


def _by_bm25(collection: Collection) -> Asker:
    ranking = PlainBm25([content for _, content, _ in collection.memories])

    def ask(question: Question) -> Found:
        places = ranking.rank(question.text, DEPTHS[-1])
        return lambda depth: [collection.memories[place][0] for place in places[:depth]]

    return ask


def _measure(
    stores: Iterable[Filled],
    name: str,
    make: Callable[[Session], Ranking],
    *,
    policy: bool = False,
    vectors: Mapping[str, Vector] = NO_VECTORS,
) -> str:
    tally = Tally()
    for one in stores:
        with one.session.reading():
            ask = _asking(one, make(one.session), vectors, policy=policy)
            for question in one.collection.questions:
                tally.add(question, ask(question))
    return tally.line(name)


def _index(session: Session) -> QuickIndex:
    assert isinstance(session.index, QuickIndex)  # noqa: S101 - opened with it
    return session.index


def _hybrid(*without: Signal) -> Callable[[Session], Ranking]:
    kept = SIGNALS.difference(without)
    return lambda session: HybridRanking(session.connection, _index(session), kept)


def _compatible(session: Session) -> Ranking:
    return CompatibleRanking(session.connection, _index(session))


def _header(categories: bool) -> str:
    line = f"{'recall at':<28}" + "".join(f"{f'k={depth}':>7}" for depth in DEPTHS)
    return line + "".join(f"   {name:>11}" for name in CATEGORIES.values()) if categories else line


def _table(collections: Sequence[Collection], *, ablation: bool) -> Iterator[str]:
    with ExitStack() as stack:
        stores = [stack.enter_context(filled(one)) for one in collections]
        yield _measure(stores, "hybrid", _hybrid())
        yield _measure(stores, "hybrid, through the Source", _hybrid(), policy=True)
        yield _measure(stores, "compatible", _compatible)
        tally = Tally()
        for one in collections:
            ask = _by_bm25(one)
            for question in one.questions:
                tally.add(question, ask(question))
        yield tally.line("plain BM25")
        ablated = SIGNALS.difference(("vectors", "words"))
        for signal in sorted(ablated) if ablation else ():
            yield _measure(stores, f"  hybrid without {signal}", _hybrid(signal))


async def _asked(collections: Sequence[Collection], endpoint: str) -> dict[str, Vector]:
    """Return the vectors of all questions."""
    embedder = _embedder(endpoint)
    texts = [question.text for one in collections for question in one.questions]
    try:
        return {text: await embedder.vector(text) for text in texts}
    finally:
        await embedder.aclose()


def _with_vectors(collections: Sequence[Collection]) -> Iterator[str]:
    with ExitStack() as stack:
        model, endpoint = stack.enter_context(serving())
        yield f"vectors by {model}, served on loopback"
        stores = [stack.enter_context(filled(one, endpoint)) for one in collections]
        vectors = anyio.run(_asked, collections, endpoint)
        yield _measure(stores, "hybrid with vectors", _hybrid(), vectors=vectors)
        through = "hybrid with vectors, Source"
        yield _measure(stores, through, _hybrid(), vectors=vectors, policy=True)
        yield _measure(stores, "  vectors without words", _hybrid("words"), vectors=vectors)


def report(path: Path | None, *, vectors: bool, quick: bool) -> Iterator[str]:
    """Yield the tables, line by line; ``quick`` asks little, to see that everything runs."""
    yield f"cores {os.cpu_count()}, Python {sys.version.split()[0]}"
    own = [chinese()]
    yield f"Chinese set: {len(own[0].memories)} memories, {len(own[0].questions)} questions"
    yield _header(categories=False)
    yield from _table(own, ablation=not quick)
    if vectors:
        yield from _with_vectors(own)
    if path is None or not path.is_file():
        yield f"LoCoMo: SKIPPED, there is no file {path or ''} (--locomo PATH)".replace("  ", " ")
        return
    digest, talks = locomo(path)
    talks = talks[:1] if quick else talks
    turns = sum(len(one.memories) for one in talks)
    asked = sum(len(one.questions) for one in talks)
    yield f"LoCoMo {digest}: {len(talks)} conversations, {turns} turns, {asked} questions"
    yield _header(categories=True)
    yield from _table(talks, ablation=not quick)
    if vectors:
        yield from _with_vectors(talks)

"""The search index changes nothing: results are those of the rule, whatever is searched."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import pytest
from dsh_mnemon_source_documents._format import render, split
from dsh_mnemon_source_documents._index import State, state_of
from dsh_mnemon_source_documents._score import Hit, best, prepare, score
from dsh_mnemon_source_documents._search import Request, Searcher
from dsh_mnemon_source_documents._store import DocumentStore
from dsh_mnemon_source_documents._text import normalize
from dsh_mnemon_source_documents.contracts import DocumentRecord
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

# Few characters of every kind that matters, so that much of it occurs again and again.
LETTERS = "abAB1é_-ßİǅﬁ数据库迁々〇カタ한글ก็😀𠀀 \u3000\n.,+%。「\0"
WORDS = ("the", "gateway", "api", "数据库", "迁移", "of", "x", "re-use", "don't", "ＡＰＩ", "i̇")
SEPARATORS = (" ", " ", " ", "", ", ", "。", "\n", "-")


def texts(size: int) -> st.SearchStrategy[str]:
    loose = st.text(st.sampled_from(LETTERS), max_size=size)
    spoken = st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(SEPARATORS)), max_size=size)
    joined = spoken.map(lambda parts: "".join(word + gap for word, gap in parts))
    return st.one_of(loose, joined)


documents = st.lists(
    st.tuples(texts(6), texts(6), texts(40), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=30,
)


def naive(state: State, bodies: Sequence[str], request: Request) -> list[tuple[str, int]]:
    query = prepare(request.query)
    hits: list[Hit] = []
    for position, (record, body) in enumerate(zip(state.records, bodies, strict=True)):
        fields = [normalize(text) for text in (record.title, record.description, body)]
        points = score(query, fields)
        if request.admits(record) and points:
            hits.append(Hit(record, points, position))
    limit = min(max(request.limit, 1), 50)
    return [(hit.record.id, hit.score) for hit in best(hits, limit)]


def write(root: Path, make: Callable[..., DocumentRecord], rows: Sequence[Any]) -> State:
    records: list[DocumentRecord] = []
    for number, (title, description, body, active, day) in enumerate(rows):
        status = "active" if active else "archived"
        record = make(
            f"id-{number}",
            title=title,
            description=description,
            status=status,
            filename=f"{number}.md",
            updated_at=f"2026-01-0{day + 1}T00:00:00.000Z",
        )
        path = root / record.relative_path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(render(record, body))
        records.append(record)
    return state_of(records)


def check(searcher: Searcher, state: State, root: Path, request: Request) -> None:
    bodies = [split((root / r.relative_path).read_bytes().decode())[1] for r in state.records]
    found = searcher.search(state, request, lambda: None).found
    assert [(item.record.id, item.score) for item in found] == naive(state, bodies, request)
    assert all(item.body == bodies[state.records.index(item.record)] for item in found)


@pytest.mark.requirement("documents:search:index")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    rows=documents,
    queries=st.lists(
        st.tuples(texts(8), st.integers(-1, 60), st.booleans(), st.booleans()),
        min_size=1,
        max_size=8,
    ),
    changed=st.lists(st.tuples(st.integers(0, 29), texts(20)), max_size=4),
)
def test_the_index_changes_no_result(
    make_record: Callable[..., DocumentRecord],
    monkeypatch: pytest.MonkeyPatch,
    rows: Any,
    queries: Any,
    changed: Any,
) -> None:
    # Files of this very moment may be indexed: nothing else writes them in the same tick.
    monkeypatch.setattr("dsh_mnemon_source_documents._search._TICK", -1)
    with TemporaryDirectory() as folder:
        root = Path(folder)
        state = write(root, make_record, rows)
        searcher = Searcher(DocumentStore(root).bodies, tail=0)
        allowed = frozenset(record.id for record in state.records[::2])
        for query, limit, archived, narrowed in queries:
            request = Request(
                query=query,
                limit=limit,
                include_archived=archived,
                allowed=allowed if narrowed else None,
            )
            check(searcher, state, root, request)
            check(searcher, attrs.evolve(state), root, request)
        for number, body in changed:
            record = state.records[number % len(state.records)]
            (root / record.relative_path).write_bytes(render(record, body + " changed"))
            check(searcher, state, root, Request(query=body, include_archived=True))
        assert len(searcher._index.entries) == len(rows)
        searcher.close()


@pytest.mark.requirement("documents:search:index")
def test_many_documents_of_few_words(
    tmp_path: Path,
    make_record: Callable[..., DocumentRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every document holds nearly every word, so that whole queries decide."""
    monkeypatch.setattr("dsh_mnemon_source_documents._search._TICK", -1)
    chance = random.Random(7)
    words = [
        chance.choice("bcdf") + chance.choice("aeiou") + chance.choice("klmn") for _ in "x" * 9
    ]
    words += ["数据", "迁移", "部署", "c++", "z" * 200]
    rows = [
        (
            " ".join(chance.choices(words, k=2)),
            " ".join(chance.choices(words, k=3)),
            "".join(word + chance.choice(SEPARATORS) for word in chance.choices(words, k=60)),
            True,
            chance.randrange(3),
        )
        for _ in range(600)
    ]
    state = write(tmp_path, make_record, rows)
    searcher = Searcher(DocumentStore(tmp_path).bodies, tail=10, monotonic=lambda: 0.0)
    searcher.search(state, Request(query="x"), lambda: None)
    for _ in range(60):
        length = chance.randrange(1, 5)
        query = chance.choice(SEPARATORS).join(chance.choices(words, k=length))
        start = chance.randrange(3)
        check(searcher, state, tmp_path, Request(query=query[start:] + chance.choice(["", "?"])))
    searcher.close()

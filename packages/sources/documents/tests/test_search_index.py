"""The index file itself: what it holds, how large it is."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest
from dsh_mnemon_source_documents import _bits
from dsh_mnemon_source_documents._batch import CAPACITY, Batch, BatchRow
from dsh_mnemon_source_documents._search_index import SearchIndex


def batch(bodies: Sequence[str], first: int = 0) -> Batch:
    made = Batch()
    for number, body in enumerate(bodies, first):
        made.add(BatchRow(f"id-{number}", (number, 0, 0, 0), 0, ("title", "about", body)))
    return made


@pytest.mark.requirement("documents:search:index")
@pytest.mark.parametrize("before", [1, 3, 8, 255])
def test_full_batches_are_found_to_the_last_slot(folder: Path, before: int) -> None:
    index = SearchIndex(folder)
    assert index.add(batch(["other"] * before))
    edges = ["edge"] + ["middle"] * (CAPACITY - 2) + ["edge"]
    assert index.add(batch(edges, before))
    sets = index.sets("title"), index.sets("edge"), index.sets("middle")
    assert None not in sets
    found = [[list(_bits.members(bits)) for bits in item or ()] for item in sets]
    last = before + CAPACITY - 1
    assert found[0] == [list(range(last + 1)), [], []]
    assert found[1] == [[], [], [before, last]]
    assert found[2] == [[], [], list(range(before + 1, last))]
    index.close()


@pytest.mark.requirement("documents:search:index-file")
def test_the_index_is_less_than_twice_as_large_as_the_texts(folder: Path) -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("etaoinshrdlu", k=chance.randint(2, 9))) for _ in range(3000)]
    bodies = [" ".join(chance.choices(words, k=500)) for _ in range(3 * CAPACITY)]
    index = SearchIndex(folder)
    for first in range(0, len(bodies), CAPACITY):
        assert index.add(batch(bodies[first : first + CAPACITY], first))
    index.close()
    assert index.path.stat().st_size < 2 * sum(map(len, bodies))


@pytest.mark.requirement("documents:search:index-file")
def test_a_body_that_cannot_be_unpacked_makes_the_index_useless(folder: Path) -> None:
    index = SearchIndex(folder)
    assert index.add(batch(["one text", "another text"]))
    assert index.holding(2, "one text", 0b11) == 0b01
    index.close()
    with closing(sqlite3.connect(index.path, isolation_level=None)) as connection:
        connection.execute("UPDATE bodies SET body = x'00'")
    connection.close()
    assert index.holding(2, "one text", 0b11) is None

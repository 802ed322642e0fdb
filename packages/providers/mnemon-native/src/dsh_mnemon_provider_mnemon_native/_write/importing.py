"""Writing many insights: a draft, or archived originals (spec/mnemon-native.md §11, D38)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import islice, pairwise
from typing import Final, Literal, TypeAlias, TypeVar

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftEdge

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._records import Row
from dsh_mnemon_provider_mnemon_native._store.transaction import Transaction, compact
from dsh_mnemon_provider_mnemon_native._write.decay import weigh
from dsh_mnemon_provider_mnemon_native._write.drafts import Entry
from dsh_mnemon_provider_mnemon_native._write.edges import (
    causal_edges,
    entity_edges,
    neighbours_of,
    semantic_edges,
    write_backbone,
)
from dsh_mnemon_provider_mnemon_native._write.remember import insert_insight, repeat_of

__all__ = ("Step", "Written", "explicit_edges", "finishing", "write_entry")

T = TypeVar("T")

Step: TypeAlias = Callable[[Transaction], None]
"""A small part of a long piece of work."""

_DEFAULT_WEIGHT: Final = 0.5
_PART: Final = 100


@attrs.frozen(kw_only=True)
class Written:
    """What became of one insight; a skipped one has the id of the insight it repeats."""

    id: str
    content: str
    action: Literal["added", "skipped"]
    row: Row | None = None


def write_entry(
    writing: Transaction, entry: Entry, vector: Sequence[float] | None, now: datetime
) -> Written:
    """Write one insight of a batch; `finishing` chains and weighs it."""
    insight, content = entry.insight, entry.insight.content
    if insight.diff and (same := repeat_of(writing, insight)) is not None:
        writing.log("import-skip", same, content)
        return Written(id=same, content=content, action="skipped")
    time = stamp(now)
    row = insert_insight(
        writing,
        insight,
        writing.session.new_id(),
        now,
        created_at=entry.created_at,
        vector=vector,
    )
    entity_edges(writing, row, time)
    causal_edges(writing, row, neighbours_of(writing, row), time)
    if vector is not None:
        semantic_edges(writing, row, vector, time)
    writing.log("import", row.id, content)
    return Written(id=row.id, content=content, action="added", row=row)


def finishing(
    written: Mapping[int, Written], edges: Sequence[DraftEdge], time: str
) -> Iterator[Step]:
    """Yield what remains to be done, in steps; each step runs before the next one is asked for.

    Explicit edges are written, the chains in time are mended, what was touched is weighed.
    """
    touched = {one.row.id for one in written.values() if one.row is not None}
    for part in _parts(list(explicit_edges(written, edges))):
        touched.update(end for edge in part for end in edge[:2])
        yield partial(_join, part, time)
    added = [one.row for one in written.values() if one.row is not None]
    for source in dict.fromkeys(row.source for row in added):
        new = [row for row in added if row.source == source]
        chain: list[str] = []
        yield partial(_read_stretch, chain, source, [row.created_at for row in new])
        ids = {row.id for row in new}
        for pairs in _parts(_around(chain, ids)):
            yield partial(_cut, pairs)
        fresh = [(old, young) for old, young in pairwise(chain) if old in ids or young in ids]
        for pairs in _parts(fresh):
            touched.update(end for pair in pairs for end in pair)
            yield partial(_chain, pairs, time)
    for ids_part in _parts(sorted(touched)):
        yield partial(_weigh, ids_part)


def explicit_edges(
    written: Mapping[int, Written], edges: Iterable[DraftEdge]
) -> Iterator[tuple[str, str, str, float, str]]:
    """Yield the edges of a draft with the ids their ends got: ends, type, weight, metadata."""
    for edge in edges:
        source, target = written[edge.source_index].id, written[edge.target_index].id
        # Two insights of a draft may both repeat the same stored one.
        if source != target:
            reason = compact({"reason": edge.reason} if edge.reason else {})
            yield source, target, edge.edge_type, edge.weight or _DEFAULT_WEIGHT, reason


def _parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[start : start + _PART] for start in range(0, len(items), _PART))


def _join(
    edges: Sequence[tuple[str, str, str, float, str]], time: str, writing: Transaction
) -> None:
    for edge in edges:
        writing.edge(*edge, time)


def _cut(pairs: Sequence[tuple[str, str]], writing: Transaction) -> None:
    for left, right in pairs:
        writing.cut(left, right, "temporal")


def _chain(pairs: Sequence[tuple[str, str]], time: str, writing: Transaction) -> None:
    for old, young in pairs:
        write_backbone(writing, old, young, time)


def _weigh(ids: Sequence[str], writing: Transaction) -> None:
    for row in writing.rows.many(ids).values():
        weigh(writing, row, writing.now())


def _read_stretch(
    chain: list[str], source: str, times: Collection[str], writing: Transaction
) -> None:
    """Read a source's active ids by time and rowid, from one before the new ones to one after."""
    select = writing.rows.select
    tail = "WHERE deleted_at IS NULL AND source = ? AND created_at"
    first, last = min(times), max(times)
    before = select(f"{tail} < ? ORDER BY created_at DESC, rowid DESC", (source, first))
    between = select(f"{tail} BETWEEN ? AND ? ORDER BY created_at, rowid", (source, first, last))
    after = select(f"{tail} > ? ORDER BY created_at, rowid", (source, last))
    parts = (islice(before, 1), between, islice(after, 1))
    chain += [row.id for part in parts for row in part]


def _around(chain: Sequence[str], new: Collection[str]) -> list[tuple[str, str]]:
    """Return the pairs of old neighbours that new ones now stand between."""
    old = [(place, id) for place, id in enumerate(chain) if id not in new]
    return [(left, right) for (at, left), (to, right) in pairwise(old) if to > at + 1]

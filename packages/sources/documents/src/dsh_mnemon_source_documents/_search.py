"""Finding documents: the index for what it knows, the rule itself for everything else (§3.6, D43).

A document whose indexed version is not the one on disk is read and scored directly, so results
never depend on the index; once many documents are read that way, they are indexed on the way.
Everything blocks, and one search at a time is for the caller to see to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from dsh_mnemon_source_documents import _bits
from dsh_mnemon_source_documents._batch import Batch, BatchRow, named
from dsh_mnemon_source_documents._files import Signature
from dsh_mnemon_source_documents._folder import BodyFolder
from dsh_mnemon_source_documents._index import State
from dsh_mnemon_source_documents._ranking import IndexLost, Ranking
from dsh_mnemon_source_documents._score import Hit, Query, best, prepare, score
from dsh_mnemon_source_documents._search_index import Indexed, SearchIndex
from dsh_mnemon_source_documents._text import normalize
from dsh_mnemon_source_documents.contracts import DocumentRecord, Unhealthy

MAX_RESULTS: Final = 50
"""Results of one search at most."""

TAIL: Final = 64
"""Documents that are read for every search rather than indexed."""

_FIRST_SECONDS: Final = 0.1
_LATER_SECONDS: Final = 3.0
"""How long the first search, and each later one, may go on indexing."""

_SURVEYED: Final = 2000
_SURVEY_SECONDS: Final = 1.0
_ATTEMPTS: Final = 4

# A file changed again within one tick of its clock may keep its signature.
_TICK: Final = 50_000_000


@attrs.frozen(kw_only=True)
class Request:
    """What to look for.

    Attributes:
        query: Any text; blank lists the documents updated last.
        limit: Results wanted, clamped to 1..50.
        include_archived: Whether archived documents count.
        allowed: Ids that may be found; ``None`` is every one.
    """

    query: str
    limit: int = 20
    include_archived: bool = False
    allowed: frozenset[str] | None = None

    def admits(self, record: DocumentRecord) -> bool:
        """Tell whether a document may be found at all."""
        return (record.is_active or self.include_archived) and (
            self.allowed is None or record.id in self.allowed
        )


@attrs.frozen(kw_only=True)
class Result:
    """A document that was found: record, body as it is now, score."""

    record: DocumentRecord
    body: str
    score: int


@attrs.frozen(kw_only=True)
class Results:
    """What a search found, best first, and what could not be looked at.

    Attributes:
        found: The documents that match best.
        unhealthy: Documents whose body cannot be read.
        unindexed: Number of Markdown files that no record names.
    """

    found: tuple[Result, ...]
    unhealthy: tuple[Unhealthy, ...]
    unindexed: int = 0


@attrs.frozen(kw_only=True, eq=False)
class _Split:
    """Which documents the index knows as they are, which must be read, which cannot be."""

    state: State
    survey: Mapping[str, Signature]
    version: int
    slots: Mapping[str, int]
    positions: Sequence[int]
    order: Sequence[int]
    active: int
    archived: int
    tail: tuple[int, ...]
    unhealthy: tuple[Unhealthy, ...]


class Searcher:
    """Search over one managed folder.

    Args:
        bodies: The bodies.
        monotonic: Seconds of a steady clock.
        tail: See `TAIL`.
    """

    def __init__(
        self,
        bodies: BodyFolder,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        tail: int = TAIL,
    ) -> None:
        self._bodies = bodies
        self._index = SearchIndex(bodies.path)
        self._monotonic = monotonic
        self._tail = tail
        self._survey: dict[str, Signature] = {}
        self._surveyed_at = float("-inf")
        self._stamps: tuple[tuple[int, int], ...] = ()
        self._split: _Split | None = None
        self._indexing_seconds = _FIRST_SECONDS
        self._changes = 0

    def search(self, state: State, request: Request, interrupt: Callable[[], None]) -> Results:
        """Find the documents that match best.

        Args:
            state: The index of documents.
            request: What to look for.
            interrupt: Called between documents; may raise to stop.
        """
        query = prepare(request.query)
        limit = min(max(request.limit, 1), MAX_RESULTS)
        results = Results(found=(), unhealthy=())
        lost = False
        for _ in range(_ATTEMPTS):
            split = self._unindexed(state) if lost else self._splitted(state)
            hits = [*self._scan(split, query, request, interrupt)]
            try:
                hits += self._ranked(split, query, request, limit)
            except IndexLost:
                self._index.discard()
                lost = True
                continue
            found, changed = self._bodies_of(best(hits, limit), split)
            seen = split if self._split is split else self._splitted(state)
            results = Results(found=found, unhealthy=_unhealthy(seen, request))
            if not changed:
                break
            self._surveyed_at = float("-inf")
        return results

    def changed(self, state: State) -> None:
        """Learn of a change; every so often the index is brought up to date."""
        self._changes += 1
        if self._changes > self._tail:
            self._changes = 0
            split = self._splitted(state)
            nothing = Request(query="", allowed=frozenset())
            list(self._scan(split, prepare(""), nothing, lambda: None))

    def close(self) -> None:
        """Release the index file; it is opened again when it is needed."""
        self._index.close()
        self._split = None

    # -- which documents are where -----------------------------------------------------------------

    def _splitted(self, state: State) -> _Split:
        self._index.refresh()
        survey = self._current_survey(len(state.records))
        split = self._split
        if (
            split is None
            or split.state is not state
            or split.survey is not survey
            or split.version != self._index.version
        ):
            entries, size = self._index.entries, self._index.size
            split = self._split = self._partition(state, survey, entries, size)
        return split

    def _unindexed(self, state: State) -> _Split:
        """Return a split that asks nothing of the index."""
        return self._partition(state, self._current_survey(len(state.records)), {}, 0)

    def _current_survey(self, count: int) -> Mapping[str, Signature]:
        """Return the signatures of all files.

        Among very many documents one that is edited in place is noticed within a second, every
        other change at once; the documents that are found are looked at again in any case.
        """
        now, stamps = self._monotonic(), self._bodies.stamps()
        lately = now - self._surveyed_at < _SURVEY_SECONDS
        if count > _SURVEYED and lately and stamps == self._stamps:
            return self._survey
        survey = self._bodies.signatures()
        if survey != self._survey:
            self._survey = survey
        self._surveyed_at, self._stamps = now, stamps
        return self._survey

    def _partition(
        self,
        state: State,
        survey: Mapping[str, Signature],
        entries: Mapping[str, Indexed],
        size: int,
    ) -> _Split:
        slots: dict[str, int] = {}
        positions = [-1] * size
        groups: tuple[list[int], list[int]] = ([], [])
        tail: list[int] = []
        unhealthy: list[Unhealthy] = []
        for position, record in enumerate(state.records):
            signature = survey.get(record.relative_path)
            if signature is None or self._bodies.is_bad(record.relative_path, signature):
                unhealthy.append(self._report(record))
                continue
            entry = entries.get(record.id)
            if entry and entry.signature == signature and entry.named == named(record):
                slots[record.id] = entry.slot
                positions[entry.slot] = position
                groups[record.is_active].append(entry.slot)
            else:
                tail.append(position)
        return _Split(
            state=state,
            survey=survey,
            version=self._index.version,
            slots=slots,
            positions=positions,
            order=_order(state, positions),
            active=_bits.of(groups[True], size),
            archived=_bits.of(groups[False], size),
            tail=tuple(tail),
            unhealthy=tuple(unhealthy),
        )

    def _report(self, record: DocumentRecord) -> Unhealthy:
        reason = self._bodies.look(record).reason or "unreadable"
        return Unhealthy(id=record.id, title=record.title, reason=reason)

    # -- what matches ------------------------------------------------------------------------------

    def _ranked(self, split: _Split, query: Query, request: Request, limit: int) -> Iterator[Hit]:
        allowed = split.active | (split.archived if request.include_archived else 0)
        if request.allowed is not None and not request.allowed >= split.slots.keys():
            given = (split.slots[item] for item in request.allowed if item in split.slots)
            allowed &= _bits.of(given, len(split.positions))
        if not allowed:
            return
        for slot, points in Ranking(self._index, query, allowed).best(limit, split.order):
            position = split.positions[slot]
            yield Hit(split.state.records[position], points, position)

    def _scan(
        self, split: _Split, query: Query, request: Request, interrupt: Callable[[], None]
    ) -> Iterator[Hit]:
        """Read and score what is not indexed; index it if there is much of it."""
        many = len(split.tail) > self._tail
        until = self._monotonic() + self._indexing_seconds if many else float("-inf")
        batch = Batch()
        for position in split.tail:
            interrupt()
            record = split.state.records[position]
            indexing = self._monotonic() < until
            wanted = request.admits(record)
            if not wanted and not indexing:
                continue
            found = self._bodies.look(record)
            if found.text is None or found.signature is None:
                # The next look at the files tells what is the matter.
                self._split, self._surveyed_at = None, float("-inf")
                continue
            fields = (
                normalize(record.title),
                normalize(record.description),
                normalize(found.text),
            )
            if indexing and time.time_ns() - found.signature[0] > _TICK:
                batch.add(BatchRow(record.id, found.signature, named(record), fields))
            if wanted and (points := score(query, fields)):
                yield Hit(record, points, position)
            if batch.is_full:
                batch, until = self._indexed(batch, until)
        if many:
            self._indexed(batch, until)
            self._indexing_seconds = _LATER_SECONDS

    def _indexed(self, batch: Batch, until: float) -> tuple[Batch, float]:
        """Write a batch; return an empty one and until when to go on."""
        return Batch(), until if self._index.add(batch) else float("-inf")

    def _bodies_of(self, hits: Sequence[Hit], split: _Split) -> tuple[tuple[Result, ...], bool]:
        """Read what was found; tell whether anything of it changed since it was looked at."""
        found: list[Result] = []
        changed = False
        for hit in hits:
            body = self._bodies.look(hit.record)
            changed |= body.signature != split.survey.get(hit.record.relative_path)
            if body.text is None:
                changed = True
            else:
                found.append(Result(record=hit.record, body=body.text, score=hit.score))
        return tuple(found), changed


def _unhealthy(split: _Split, request: Request) -> tuple[Unhealthy, ...]:
    by_id = split.state.by_id
    return tuple(
        item for item in split.unhealthy if by_id[item.id].is_active or request.include_archived
    )


def _order(state: State, positions: Sequence[int]) -> list[int]:
    """Return for each slot its place among equals: the latest updated first, then index order."""
    records = state.records
    ranked = sorted(
        range(len(records)), key=lambda position: records[position].updated_at, reverse=True
    )
    places = [0] * len(records)
    for place, position in enumerate(ranked):
        places[position] = place
    return [places[position] if position >= 0 else -1 for position in positions]

"""The transactions of a batch: a draft in many, archived originals in one (§11, D38)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from time import monotonic
from typing import Final

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import ProviderError

from dsh_mnemon_provider_mnemon_native._instants import stamp
from dsh_mnemon_provider_mnemon_native._store.transaction import Session, Transaction
from dsh_mnemon_provider_mnemon_native._write.drafts import Draft, Entry
from dsh_mnemon_provider_mnemon_native._write.importing import (
    Step,
    Written,
    explicit_edges,
    finishing,
    write_entry,
)
from dsh_mnemon_provider_mnemon_native._write.limits import NewInsight
from dsh_mnemon_provider_mnemon_native._write.retention import Retention, prune

__all__ = ("ImportFault", "Imported", "Importing", "Vectors", "write_exactly")

Vectors = Sequence[Sequence[float] | None]
"""The vector of each insight, where there is one."""

_HELD_SECONDS: Final = 1.0
"""How long one transaction of an import goes on: others wait for the write lock."""


@attrs.frozen(kw_only=True)
class ImportFault:
    """Why an insight, by its place in the draft, was not imported."""

    index: int
    error: ProviderError


@attrs.frozen(kw_only=True)
class Imported:
    """What became of a draft.

    Attributes:
        results: By place; a place that failed is missing.
        edges_inserted: Explicit edges.
        brought_back: How many of the added ones had been forgotten.
    """

    results: dict[int, Written]
    faults: tuple[ImportFault, ...] = ()
    edges_inserted: int = 0
    pruned: tuple[str, ...] = ()
    brought_back: int = 0

    def count(self, action: str) -> int:
        """Count the insights that were ``added`` or ``skipped``."""
        return sum(written.action == action for written in self.results.values())


class Importing:
    """A draft on its way into a store, one transaction after the other."""

    def __init__(self, draft: Draft, vectors: Vectors, retention: Retention) -> None:
        self._draft, self._vectors, self._retention = draft, vectors, retention
        self._results: dict[int, Written] = {}
        self._pending: dict[int, Written] = {}
        self._pruned: tuple[str, ...] = ()
        self._steps: Iterator[Step] | None = None
        self._forgotten: frozenset[str] = frozenset()

    def advance(self, session: Session) -> bool:
        """Do one transaction's worth of the work; tell whether there is more.

        Raises:
            ProviderError: This transaction failed; those before hold.
        """
        self._pending = {}
        with session.roomy(), session.writing() as writing:
            if self._steps is None:
                self._steps = self._all_steps(stamp(writing.now()))
            end, more = monotonic() + _HELD_SECONDS, False
            for step in self._steps:
                step(writing)
                if more := monotonic() >= end:
                    break
        self._results |= self._pending
        return more

    def imported(self, error: ProviderError | None = None) -> Imported:
        """Return what became of the draft; with an error, how far it came."""
        if error is None:
            edges = len(list(explicit_edges(self._results, self._draft.edges)))
            return Imported(
                results=self._results,
                edges_inserted=edges,
                pruned=self._pruned,
                brought_back=self._brought_back(),
            )
        if not self._results:
            raise error
        places = range(len(self._draft.entries))
        missing = [place for place in places if place not in self._results]
        # All insights may be there, and only edges or weights be missing.
        faults = tuple(ImportFault(index=place, error=error) for place in missing or [0])
        return Imported(results=self._results, faults=faults, brought_back=self._brought_back())

    def _brought_back(self) -> int:
        """Count the added ones whose content a forgotten row holds; each such content once."""
        added = {one.content for one in self._results.values() if one.action == "added"}
        return len(added & self._forgotten)

    def _all_steps(self, time: str) -> Iterator[Step]:
        yield self._read_forgotten
        for place in range(len(self._draft.entries)):
            yield partial(self._write, place)
        yield from finishing({**self._results, **self._pending}, self._draft.edges, time)
        yield self._prune

    def _read_forgotten(self, writing: Transaction) -> None:
        """Note which contents of the draft are forgotten now; one scan of the forgotten rows."""
        contents = {entry.insight.content for entry in self._draft.entries}
        rows = writing.session.connection.execute(
            "SELECT content FROM insights WHERE deleted_at NOTNULL"
        )
        self._forgotten = frozenset(content for (content,) in rows if content in contents)

    def _write(self, place: int, writing: Transaction) -> None:
        entry, vector = self._draft.entries[place], self._vectors[place]
        self._pending[place] = write_entry(writing, entry, vector, writing.now())

    def _prune(self, writing: Transaction) -> None:
        self._pruned = tuple(prune(writing, self._retention, writing.now()))


def write_exactly(
    session: Session, insights: Sequence[NewInsight], vectors: Vectors, retention: Retention
) -> list[Written]:
    """Write archived originals, all or none; one outcome for each, in order."""
    with session.writing() as writing:
        results = {
            place: write_entry(writing, Entry(insight=insight), vectors[place], writing.now())
            for place, insight in enumerate(insights)
        }
        for step in finishing(results, (), stamp(writing.now())):
            step(writing)
        prune(writing, retention, writing.now())
    return list(results.values())

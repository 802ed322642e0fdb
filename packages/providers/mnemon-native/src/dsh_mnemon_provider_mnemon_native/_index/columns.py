"""What is looked up for thousands of insights a recall, as arrays in memory: 12 bytes each."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from dsh_mnemon_provider_mnemon_native._index.keeping import SPOKEN

__all__ = ("PAUSE_SECONDS", "Columns")

PAUSE_SECONDS: Final = 86_400.0
"""Turns further apart do not continue one conversation; the store's own notion of nearness in time
is 24 hours, too (spec/mnemon-native.md §5.1)."""

_GROWTH: Final = 1024
_AT_ONCE: Final = 4096


class Columns:
    """Properties by document number; 0 stands for no document.

    Only turns of conversations have neighbours: a turn leans on what was said around it, a fact
    stands for itself.

    Attributes:
        before: The turn before this one in the same source.
        after: The turn after it.
        mass: About how many distinct words say something, 0..255.
        traits: `keeping.ASKS`, `keeping.DATED`, `keeping.SPOKEN`.
        words: How many distinct tokens its content has.
        count: How many documents there are.
    """

    def __init__(self, index: sqlite3.Connection) -> None:
        self._index = index
        self.before, self.after = array("i"), array("i")
        self.mass, self.traits = array("B"), array("B")
        self.words = array("H")
        self.count = 0
        for docs, mass, traits, words in _parts(index):
            self.count += len(docs)
            self._reach(docs[-1])
            for doc, one, two, three in zip(docs, mass, traits, words, strict=True):
                self.mass[doc], self.traits[doc], self.words[doc] = one, two, three
        # The index on (source, created, doc) gives each source's documents in order of time.
        self._string(index.execute("SELECT source, doc, created FROM docs ORDER BY 1, 3, 2"))

    def _reach(self, doc: int) -> None:
        missing = doc + 1 - len(self.mass)
        if missing > 0:
            for column in (self.before, self.after, self.mass, self.traits, self.words):
                column.frombytes(bytes((missing + _GROWTH) * column.itemsize))

    def _string(self, turns: Iterable[tuple[str, int, float]]) -> None:
        traits, last, source, time = self.traits, 0, "", 0.0
        for own, doc, later in turns:
            together = own == source and later - time <= PAUSE_SECONDS
            if together and traits[last] & traits[doc] & SPOKEN:
                self.after[last], self.before[doc] = doc, last
            last, source, time = doc, own, later

    def _neighbour(self, source: str, time: float, doc: int, *, later: bool) -> int:
        """Return the turn before or after a place in time, if it belongs to it."""
        way, order = (">", "") if later else ("<", " DESC")
        query = (
            f"SELECT doc, created FROM docs WHERE source = ? AND (created, doc) {way} (?, ?)"  # noqa: S608 - constant parts
            f" ORDER BY created{order}, doc{order} LIMIT 1"
        )
        found = self._index.execute(query, (source, time, doc)).fetchone()
        if found is None or not self.traits[found[0]] & SPOKEN:
            return 0
        return int(found[0]) if abs(found[1] - time) <= PAUSE_SECONDS else 0

    def _link(self, before: int, after: int) -> None:
        self.after[before], self.before[after] = after, before
        self.after[0] = self.before[0] = 0

    def added(self, doc: int) -> None:
        """Take in a document that has been indexed."""
        source, created, mass, traits, words = self._index.execute(
            "SELECT source, created, mass, traits, words FROM docs WHERE doc = ?", (doc,)
        ).fetchone()
        self._reach(doc)
        self.mass[doc], self.traits[doc], self.words[doc] = mass, traits, words
        self.count += 1
        before = self._neighbour(source, created, doc, later=False)
        after = self._neighbour(source, created, doc, later=True)
        if not traits & SPOKEN:
            # What is no turn parts the turns around it.
            self.after[before] = self.before[after] = 0
            before = after = 0
        self._link(before, doc)
        self._link(doc, after)

    def dropping(self, doc: int) -> None:
        """Leave out a document that is about to be dropped from the index."""
        query = "SELECT source, created FROM docs WHERE doc = ?"
        found = self._index.execute(query, (doc,)).fetchone()
        if found is None:
            return
        source, created = found
        self._link(self.before[doc], 0)
        self._link(0, self.after[doc])
        self.before[doc] = self.after[doc] = 0
        self.mass[doc] = self.traits[doc] = self.words[doc] = 0
        self.count -= 1
        before = self._neighbour(source, created, doc, later=False)
        after = self._neighbour(source, created, doc, later=True)
        if before and after and self._together(before, after):
            self._link(before, after)

    def _together(self, before: int, after: int) -> bool:
        query = "SELECT max(created) - min(created) FROM docs WHERE doc IN (?, ?)"
        (pause,) = self._index.execute(query, (before, after)).fetchone()
        return bool(pause <= PAUSE_SECONDS)


def _parts(index: sqlite3.Connection) -> Iterator[list[list[int]]]:
    """Read whole columns, some thousand documents at a time.

    A row of JSON is several times quicker than a row for each document; but parsing one of all
    documents would keep the event loop waiting.
    """
    query = (
        "SELECT json_group_array(doc), json_group_array(mass), json_group_array(traits),"
        " json_group_array(words)"
        " FROM (SELECT doc, mass, traits, words FROM docs WHERE doc > ? ORDER BY doc LIMIT ?)"
    )
    last = 0
    while True:
        part: list[list[int]] = [
            json.loads(line) for line in index.execute(query, (last, _AT_ONCE)).fetchone()
        ]
        if not part[0]:
            return
        yield part
        last = part[0][-1]

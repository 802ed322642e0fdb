"""What the engine asks of a ranking and of an index; both live in the store's worker thread.

Three parties meet here. The *store* owns the one connection to ``mnemon.db``. An `Index` answers
exact questions about its active insights, for the writing path and the compatible ranking; it may
read the rows or have ``index.db``, and its answers are the same. A `Ranking` orders insights for
one query.

The change feed: inside a transaction of ours `changed` and `removed` are called as rows are
written, then `committed` or `rolled_back`, once. Commits of other processes are not announced: the
store calls `refresh` before it asks anything (inside the transaction where there is one), and the
index finds out what it has missed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

import attrs

from dsh_mnemon_provider_mnemon_native._records import Row

__all__ = (
    "EVERYTHING",
    "Answer",
    "Index",
    "IntentName",
    "Query",
    "Ranked",
    "Ranking",
    "Scope",
    "Scored",
    "Signals",
)

IntentName: TypeAlias = Literal["WHY", "WHEN", "ENTITY", "GENERAL"]
"""What a query is after (spec/mnemon-native.md §7.1)."""


@attrs.frozen(kw_only=True)
class Scope:
    """A filter on active insights: equal category, equal source, where given."""

    category: str | None = None
    source: str | None = None

    def admits(self, row: Row) -> bool:
        """Whether a row lies inside the filter."""
        return self.category in {None, row.category} and self.source in {None, row.source}


EVERYTHING = Scope()
"""The filter that lets every active insight through."""


@attrs.frozen
class Scored:
    """One insight's id and what it scored, 0..1."""

    id: str
    score: float


class Index(Protocol):
    """Exact answers about active insights, rows of the open transaction included.

    Keyword order, wherever it is named: score descending, importance descending, `created_at`
    (as instants) descending, id ascending. All methods block; all run in the store's thread.
    """

    def refresh(self) -> None:
        """Catch up with commits of other processes; cheap when there was none."""
        ...

    def changed(self, row: Row) -> None:
        """Note a row that was inserted, or whose entities changed, in the open transaction."""
        ...

    def removed(self, id: str) -> None:
        """Note an insight that was forgotten in the open transaction."""
        ...

    def embedded(self, id: str, vector: Sequence[float]) -> None:
        """Note the vector an insight got in the open transaction."""
        ...

    def committed(self) -> None:
        """Keep what was noted: the transaction is durable. Must not raise for its own files."""
        ...

    def rolled_back(self) -> None:
        """Drop what was noted since the last commit."""
        ...

    def same_content(self, content: str) -> str | None:
        """Return the id with exactly this content, the newest `created_at` (then rowid) first."""
        ...

    def known(self, words: Collection[str]) -> frozenset[str]:
        """Return those of ``words`` that are an entity of an active insight, case-sensitively."""
        ...

    def holders(self, entity: str, *, limit: int, exclude: str) -> Sequence[str]:
        """Return ids whose entities hold exactly this string, newest `created_at`, rowid first."""
        ...

    def keyword(
        self, tokens: frozenset[str], *, limit: int, scope: Scope = EVERYTHING
    ) -> Sequence[Scored]:
        """Rank by |tokens ∩ insight tokens| / |tokens|, above 0, in keyword order (§6)."""
        ...

    def naming(
        self, entities: frozenset[str], *, limit: int, scope: Scope = EVERYTHING
    ) -> Sequence[Scored]:
        """Rank by |lower-cased insight entities ∩ entities| / |entities|, above 0 (§7.3 list 4).

        ``entities`` are lower-cased; keyword order.
        """
        ...

    def overlapping(
        self, content_tokens: frozenset[str], *, limit: int, floor: float, exclude: str
    ) -> Sequence[Scored]:
        """Rank others by max(|A∩B|/|A|, |A∩B|/|B|) of content tokens, ``floor`` or more (§4.2).

        Best first; ties: `created_at` descending, rowid descending.
        """
        ...

    def newest(self, *, limit: int, scope: Scope = EVERYTHING) -> Sequence[str]:
        """Return the newest ids by `created_at` (as instants), ties by id (§7.3 list 3)."""
        ...

    def nearest(
        self,
        vector: Sequence[float],
        *,
        limit: int,
        above: float,
        scope: Scope = EVERYTHING,
        exclude: str = "",
    ) -> Sequence[Scored]:
        """Rank by cosine with stored vectors of the same length, ``above`` or more, ties by id."""
        ...

    def among(self, ids: Iterable[str]) -> frozenset[str]:
        """Return those of ``ids`` that are active insights."""
        ...

    def census(self) -> Mapping[str, int]:
        """Count the active insights by category, in order of the alphabet."""
        ...

    def unreadable(self) -> int:
        """Count the active insights that cannot be read, and that nothing else here tells of."""
        ...

    def names(self, limit: int) -> Sequence[tuple[str, int]]:
        """Return the entities and how many insights hold each, most held first, then by name."""
        ...

    def close(self) -> None:
        """Release what it holds; called once, in the store's thread."""
        ...


@attrs.frozen(kw_only=True)
class Query:
    """One smart recall; ``intent`` overrides the one read from the text."""

    text: str
    limit: int = 10
    scope: Scope = EVERYTHING
    intent: IntentName | None = None
    vector: tuple[float, ...] | None = None


@attrs.frozen(kw_only=True)
class Signals:
    """What a score was made of, each 0..1."""

    keyword: float = 0.0
    entity: float = 0.0
    similarity: float = 0.0
    graph: float = 0.0


@attrs.frozen(kw_only=True)
class Ranked:
    """One insight of an answer: ``score`` 0..1, ``via`` how it was found."""

    id: str
    score: float
    via: str
    signals: Signals = Signals()
    superseded: bool = False


@attrs.frozen(kw_only=True)
class Answer:
    """Ranked insights, best first, with what the search found out about the query.

    Attributes:
        intent_source: ``auto`` when read from the query, ``override`` when it was given.
        traversed: How many insights got a score before the cut.
        hint: ``sparse_results`` when the store had little to say.
    """

    rows: tuple[Ranked, ...]
    intent: IntentName
    intent_source: Literal["auto", "override"]
    anchor_count: int = 0
    traversed: int = 0
    hint: str | None = None


class Ranking(Protocol):
    """One way to order active insights for a query; reads only, in the store's thread.

    It is made with the store's connection, its folder and its `Index`; the index has been
    refreshed when `recall` is called.
    """

    def recall(self, query: Query) -> Answer:
        """Return at most ``query.limit`` insights, best first."""
        ...

    def committed(self, ids: Collection[str]) -> None:
        """Note the ids a commit of ours touched; must not raise for its own files."""
        ...

    def close(self) -> None:
        """Release what it holds; called once."""
        ...

"""Insights and edges to import, checked as a whole (spec/mnemon-native.md §11). Pure."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Final

import attrs
from dsh_mnemon_source_memory_spaces.provider_sdk import DraftEdge, DraftInsight

from dsh_mnemon_provider_mnemon_native._instants import moment, stamp
from dsh_mnemon_provider_mnemon_native._records import EDGE_TYPES
from dsh_mnemon_provider_mnemon_native._write.limits import (
    CONTENT_BYTES,
    NewInsight,
    check_category,
    check_content,
    check_importance,
    check_list,
    check_text,
)
from dsh_mnemon_provider_mnemon_native.errors import InvalidInput

__all__ = ("Draft", "Entry", "checked")

_SOURCE: Final = "import"


@attrs.frozen(kw_only=True)
class Entry:
    """One checked insight of a draft; without ``created_at`` it happened now."""

    insight: NewInsight
    created_at: str | None = None


@attrs.frozen(kw_only=True)
class Draft:
    """What to import: insights, and edges between them by their places."""

    entries: tuple[Entry, ...]
    edges: tuple[DraftEdge, ...] = ()


@contextmanager
def _at(place: str) -> Generator[None]:
    try:
        yield
    except InvalidInput as error:
        field = f"{place}.{error.details['field']}"
        raise InvalidInput(field, f"{place}: {error.message}") from error


def _entry(insight: DraftInsight, source: str | None, limit: int, *, diff: bool) -> Entry:
    check_content(insight.content, limit, blank=True)
    new = NewInsight(
        content=insight.content,
        category=insight.category or "general",
        importance=insight.importance or 3,
        tags=insight.tags,
        entities=insight.entities,
        source=insight.source or source or _SOURCE,
        diff=diff,
    )
    check_category(new.category)
    check_text("source", new.source)
    check_importance(new.importance)
    check_list("tags", new.tags)
    check_list("entities", new.entities)
    if not insight.created_at:
        return Entry(insight=new)
    try:
        return Entry(insight=new, created_at=stamp(moment(insight.created_at)))
    except ValueError as error:
        raise InvalidInput("created_at", str(error)) from error


def _check_edge(edge: DraftEdge, count: int) -> None:
    for field in ("source_index", "target_index"):
        if not 0 <= getattr(edge, field) < count:
            raise InvalidInput(field, f"there is no insight {getattr(edge, field)}")
    if edge.source_index == edge.target_index:
        raise InvalidInput("target_index", "an edge joins two different insights")
    if edge.edge_type not in EDGE_TYPES:
        raise InvalidInput("edge_type", f"an edge is one of {', '.join(EDGE_TYPES)}")
    if not 0 <= edge.weight <= 1:
        raise InvalidInput("weight", f"the weight is 0 to 1, not {edge.weight}")
    check_text("reason", edge.reason or "")


def checked(
    insights: Sequence[DraftInsight],
    edges: Sequence[DraftEdge] = (),
    *,
    source: str | None = None,
    limit: int = CONTENT_BYTES,
    diff: bool = True,
) -> Draft:
    """Check everything before anything is written; the first fault wins.

    Args:
        insights: What to import.
        edges: Edges between them.
        source: Who said it, where an insight does not say so itself.
        limit: Most bytes of a content.
        diff: Whether repeats of stored content are skipped.

    Raises:
        InvalidInput: ``details.field`` names the place, such as ``insights[0].content``.
    """
    if not insights:
        raise InvalidInput("insights", "there is nothing to import")
    entries: list[Entry] = []
    for place, insight in enumerate(insights):
        with _at(f"insights[{place}]"):
            entries.append(_entry(insight, source, limit, diff=diff))
    for place, edge in enumerate(edges):
        with _at(f"edges[{place}]"):
            _check_edge(edge, len(insights))
    return Draft(entries=tuple(entries), edges=tuple(edges))

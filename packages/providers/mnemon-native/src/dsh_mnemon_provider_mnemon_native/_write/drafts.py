"""Insights and edges to import, read and checked as a whole (spec/mnemon-native.md §11). Pure."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

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

__all__ = ("SCHEMA_VERSION", "Draft", "Entry", "checked", "read_draft")

SCHEMA_VERSION: Final = "1"
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


def _typed(value: Any, field: str, *types: type) -> Any:
    if value is not None and (not isinstance(value, types) or isinstance(value, bool)):
        raise InvalidInput(field, f"{field} is not of the type it should have")
    return value


def _strings(data: Mapping[str, Any], field: str) -> tuple[str, ...]:
    values = _typed(data.get(field), field, list, tuple) or ()
    return tuple(_typed(value, field, str) or "" for value in values)


def _insight(data: Any) -> DraftInsight:
    fields: Mapping[str, Any] = _typed(data, "insight", Mapping) or {}
    return DraftInsight(
        content=_typed(fields.get("content"), "content", str) or "",
        category=_typed(fields.get("category"), "category", str),
        importance=_typed(fields.get("importance"), "importance", int),
        tags=_strings(fields, "tags"),
        entities=_strings(fields, "entities"),
        source=_typed(fields.get("source"), "source", str),
        created_at=_typed(fields.get("created_at"), "created_at", str),
    )


def _edge(data: Any) -> DraftEdge:
    fields: Mapping[str, Any] = _typed(data, "edge", Mapping) or {}
    return DraftEdge(
        source_index=_typed(fields.get("source_index"), "source_index", int) or 0,
        target_index=_typed(fields.get("target_index"), "target_index", int) or 0,
        edge_type=_typed(fields.get("edge_type"), "edge_type", str) or "",
        weight=_typed(fields.get("weight"), "weight", int, float) or 0.0,
        reason=_typed(fields.get("reason"), "reason", str),
    )


def read_draft(data: Any, *, diff: bool = True) -> Draft:
    """Read a draft from its JSON; unknown keys are ignored.

    Raises:
        InvalidInput: It is no draft of version 1, or breaks a limit.
    """
    fields: Mapping[str, Any] = _typed(data, "draft", Mapping) or {}
    if fields.get("schema_version") != SCHEMA_VERSION:
        raise InvalidInput("schema_version", f"a draft has schema_version {SCHEMA_VERSION!r}")
    insights = _typed(fields.get("insights"), "insights", list, tuple) or ()
    edges = _typed(fields.get("edges"), "edges", list, tuple) or ()
    source = _typed(fields.get("source"), "source", str)
    return checked([*map(_insight, insights)], [*map(_edge, edges)], source=source, diff=diff)

"""Walking the edges of one Space (spec/sources.md §4.6, §4.10)."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_source_memory_spaces._answers import (
    Batch,
    Patience,
    ask,
    read_insights,
    sentence,
)
from dsh_mnemon_source_memory_spaces._recall.report import Target, insight_json
from dsh_mnemon_source_memory_spaces.provider_sdk.errors import ProviderNotFound
from dsh_mnemon_source_memory_spaces.routes import RelatedInput

__all__ = ("Traversal", "traverse")


@attrs.frozen(kw_only=True)
class Traversal:
    """What is connected to an insight, nearest first.

    Attributes:
        rows: Insights as JSON.
        truncated: Whether there was more.
        hint: What a person should know of the Space that was asked.
        error: Why there is nothing: the Provider failed, or does not know the insight.
    """

    rows: tuple[dict[str, Any], ...] = ()
    truncated: bool = False
    hint: str | None = None
    error: MnemonError | None = None


async def traverse(
    target: Target, request: RelatedInput, *, limit: int, seconds: float
) -> Traversal:
    """Ask one Space for what is connected to an insight; no fault of the Provider is raised."""
    answer = await ask(partial(_read, target, request, limit), Patience(seconds), target.secrets)
    name = target.space.name
    if answer.value is None:
        return Traversal(hint=f"{name}: unavailable: {answer.fault}", error=answer.error)
    batch = answer.value
    if isinstance(batch, ProviderNotFound):
        said = sentence(batch.message, target.secrets)
        unknown = ProviderNotFound(said, details={"id": request.id})
        return Traversal(hint=f"{name}: {said}", error=unknown)
    rows = tuple(insight_json(insight, target) for insight in batch.items)
    notes = f"{name}: {batch.unreadable_note}" if batch.unreadable_note else None
    return Traversal(rows=rows, truncated=batch.surplus > 0, hint=notes)


async def _read(target: Target, request: RelatedInput, limit: int) -> Batch | ProviderNotFound:
    try:
        found = await target.adapter.related(target.space, request.id, request.depth, request.edge)
    except ProviderNotFound as error:
        return error
    batch = read_insights(found, limit + 1)
    others = tuple(insight for insight in batch.items if insight.id != request.id)
    surplus = batch.surplus + max(0, len(others) - limit)
    return Batch(others[:limit], batch.unreadable, surplus)

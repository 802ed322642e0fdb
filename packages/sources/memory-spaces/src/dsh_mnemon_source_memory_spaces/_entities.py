"""The entities named most, over several Spaces (spec/sources.md §4.10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

from pydantic import Field

from dsh_mnemon_source_memory_spaces._answers import Patience, ask, each
from dsh_mnemon_source_memory_spaces._browse import Cursor
from dsh_mnemon_source_memory_spaces._cursor import Place, read_cursor, write_cursor
from dsh_mnemon_source_memory_spaces._health import entity_counts
from dsh_mnemon_source_memory_spaces._inputs import BLANK, WHOLE, Input, SpaceIds, limited
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces.provider_sdk.adapter import ProviderAdapter
from dsh_mnemon_source_memory_spaces.provider_sdk.items import EntityCount, SpaceStatus

__all__ = ("EntitiesInput", "entities_of")

_PAGE: Final = 100
_MOST: Final = 1_000


class EntitiesInput(Input):
    """Input of ``entities``; ``limit`` counts the memories of the selected entity."""

    entity: Annotated[Annotated[str, limited(200)] | None, BLANK] = None
    limit: Annotated[int, Field(strict=True, ge=1, le=50), WHOLE] = 20
    memory_body_ids: SpaceIds | None = None
    cursor: Cursor = None

    def question(self) -> dict[str, Any]:
        """Return what a cursor is bound to."""
        kept = self.model_dump(mode="json", include={"memory_body_ids"})
        return {"operation": "entities", **kept}


async def entities_of(
    targets: Sequence[Target],
    health: Mapping[str, SpaceStatus],
    request: EntitiesInput,
    *,
    seconds: float,
) -> dict[str, Any]:
    """Return one page of entities, largest count first, equal ones by name.

    Args:
        targets: The Spaces, in registry order; only healthy ones that know entities count.
        health: Their health, just looked at.
        request: Where to begin.
        seconds: How long the Providers may take together.

    Returns:
        ``{entities: [{entity, count}], total, nextCursor?, hint?}``.

    Raises:
        InputError: ``cursor-invalid``.
    """
    question = request.question()
    start = read_cursor(question, request.cursor).skip if request.cursor else 0
    able = [
        target
        for target in targets
        if target.manifest.capabilities.entities and health[target.space.id].healthy
    ]
    patience = Patience(seconds)
    answers = await each(able, partial(_counts, health=health, patience=patience))
    counts: Counter[str] = Counter()
    for found, _ in answers:
        for item in found:
            counts[item.entity] += item.count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    end = start + _PAGE
    more = write_cursor(question, Place(space_id="", skip=end)) if end < len(ordered) else None
    hints = [hint for _, hint in answers if hint is not None]
    return {
        "entities": [{"entity": name, "count": count} for name, count in ordered[start:end]],
        "total": len(ordered),
        **({} if more is None else {"nextCursor": more}),
        **({"hint": "\n".join(hints)} if hints else {}),
    }


async def _counts(
    target: Target, health: Mapping[str, SpaceStatus], patience: Patience
) -> tuple[Sequence[EntityCount], str | None]:
    """Return the counts of one Space, from its statistics where it has no better answer."""
    offered = type(target.adapter).entities is not ProviderAdapter.entities
    if not offered:
        stats = health[target.space.id].stats
        return (stats.top_entities or () if stats else ()), None

    async def read() -> Sequence[EntityCount]:
        return entity_counts(await target.adapter.entities(target.space, _MOST))

    answer = await ask(read, patience, target.secrets)
    if answer.value is None:
        return (), f"{target.space.name}: unavailable: {answer.fault}"
    return answer.value, None

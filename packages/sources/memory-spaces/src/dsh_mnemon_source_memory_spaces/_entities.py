"""The entities named most, over several Spaces (spec/sources.md §4.10)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

import attrs
from dsh_mnemon_core.errors import StorageError
from pydantic import Field

from dsh_mnemon_source_memory_spaces._answers import Patience, ask, each
from dsh_mnemon_source_memory_spaces._browse import Cursor
from dsh_mnemon_source_memory_spaces._cursor import Place, read_cursor, write_cursor
from dsh_mnemon_source_memory_spaces._gaps import whole
from dsh_mnemon_source_memory_spaces._health import entity_counts
from dsh_mnemon_source_memory_spaces._inputs import BLANK, WHOLE, Input, SpaceIds, limited
from dsh_mnemon_source_memory_spaces._recall.report import SourceStatus, Target
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
    faults: Sequence[StorageError] = (),
) -> dict[str, Any]:
    """Return one page of entities, largest count first, equal ones by name.

    Args:
        targets: The Spaces, in registry order; only healthy ones that know entities count.
        health: The health of those that know entities, just looked at.
        request: Where to begin.
        seconds: How long the Providers may take together.
        faults: Why Spaces may be missing.

    Returns:
        ``{entities: [{entity, count}], total, nextCursor?, sources, complete, faults?, hint?}``;
        see `_gaps.whole`.

    Raises:
        InputError: ``cursor-invalid``.
    """
    question = request.question()
    start = read_cursor(question, request.cursor).skip if request.cursor else 0
    patience = Patience(seconds)
    answers = await each(targets, partial(_counts, health=health, patience=patience))
    counts: Counter[str] = Counter()
    for answer in answers:
        for item in answer.found:
            counts[item.entity] += item.count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    end = start + _PAGE
    more = write_cursor(question, Place(space_id="", skip=end)) if end < len(ordered) else None
    hints = [
        f"{answer.target.space.name}: {answer.hint}"
        for answer in answers
        if answer.status == "unavailable"
    ]
    page = {
        "entities": [{"entity": name, "count": count} for name, count in ordered[start:end]],
        "total": len(ordered),
        **({} if more is None else {"nextCursor": more}),
        "sources": [answer.to_json() for answer in answers],
        **({"hint": "\n".join(hints)} if hints else {}),
    }
    return whole(page, faults)


@attrs.frozen(kw_only=True)
class _Counted:
    """What one Space counted."""

    target: Target
    found: Sequence[EntityCount] = ()
    status: SourceStatus
    hint: str | None = None

    def to_json(self) -> dict[str, Any]:
        value = {
            **self.target.named(),
            "mode": "entities",
            "status": self.status,
            "itemCount": len(self.found),
            "hint": self.hint,
        }
        return {key: item for key, item in value.items() if item is not None}


async def _counts(
    target: Target, health: Mapping[str, SpaceStatus], patience: Patience
) -> _Counted:
    """Return the counts of one Space, from its statistics where it has no better answer."""
    if not target.manifest.capabilities.entities:
        hint = f"{target.manifest.label} knows no entities"
        return _Counted(target=target, status="unsupported", hint=hint)
    known = health[target.space.id]
    if not known.healthy:
        return _Counted(target=target, status="unavailable", hint=f"unavailable: {known.error}")
    offered = type(target.adapter).entities is not ProviderAdapter.entities
    if not offered:
        return _counted(target, (known.stats.top_entities if known.stats else None) or ())

    async def read() -> Sequence[EntityCount]:
        return entity_counts(await target.adapter.entities(target.space, _MOST))

    answer = await ask(read, patience, target.secrets)
    if answer.value is None:
        return _Counted(target=target, status="unavailable", hint=f"unavailable: {answer.fault}")
    return _counted(target, answer.value)


def _counted(target: Target, found: Sequence[EntityCount]) -> _Counted:
    return _Counted(target=target, found=found, status="ready" if found else "empty")

"""Keeping names and descriptions of Spaces in step with what is in them (spec/sources.md §4.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, TypeAlias

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import distinct, truncate
from pydantic import Field

from dsh_mnemon_source_memory_spaces._answers import Patience, ask, each, read_insights
from dsh_mnemon_source_memory_spaces._inputs import Input, Name, limited, read_input
from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces._registry.content import Content, advance
from dsh_mnemon_source_memory_spaces._registry.records import Catalogue, SpaceRecord
from dsh_mnemon_source_memory_spaces.provider_sdk.items import Insight, SearchRequest

__all__ = ("MAX_SPACES", "MetadataUpdate", "apply_updates", "read_updates", "sample")

MAX_SPACES: Final = 20
"""Spaces of one request."""

_ITEMS: Final = 6
_CONTENT: Final = 720
_ENTITIES: Final = 8
_QUERY: Final = 400

_SEARCHED: Final = frozenset({"openviking", "supermemory", "byterover"})
"""Provider types whose listing is slower than a search, or shows files rather than memories."""


class MetadataUpdate(Input):
    """New texts of one Space."""

    memory_body_id: Name
    title: Annotated[str, limited(48)]
    description: Annotated[str, limited(200)]


_Updates: TypeAlias = Annotated[tuple[MetadataUpdate, ...], Field(min_length=1, max_length=20)]


class _Batch(Input):
    updates: _Updates


def read_updates(updates: Sequence[Mapping[str, Any]]) -> tuple[MetadataUpdate, ...]:
    """Read 1..20 updates of different Spaces.

    Raises:
        InputError: One of them does not fit, or ``id-duplicated``.
    """
    read = read_input(_Batch, {"updates": updates}, "metadata update").updates
    distinct([update.memory_body_id for update in read], "updates")
    return read


def apply_updates(
    updates: Sequence[MetadataUpdate], catalogue: Catalogue, content: Content, now: datetime
) -> tuple[Content, tuple[SpaceRecord, ...]]:
    """Write all texts as those of a maintenance worker; none, when a Space is unknown.

    Raises:
        InputError: ``space-unknown``.
    """
    changed = tuple(
        attrs.evolve(
            space,
            name=update.title,
            description=update.description,
            metadata_source="ai",
            updated_at=advance(space.updated_at, now),
        )
        for update in updates
        for space in (catalogue.get(update.memory_body_id),)
    )
    return content.replace(*changed), changed


async def sample(targets: Sequence[Target], *, seconds: float) -> list[dict[str, Any]]:
    """Show a few memories of each Space, by the cheapest way its Provider has.

    Args:
        targets: Active Spaces with their Providers, 1..20.
        seconds: How long the Providers may take together.

    Returns:
        ``{memoryBodyId, name, description, providerId, items: [{content, category?, entities?}],
        error?}`` in the given order: at most 6 items, 720 characters and 8 entities each.
    """
    if not 1 <= len(targets) <= MAX_SPACES:
        raise InputError("metadata-count", f"name 1..{MAX_SPACES} Memory Spaces")
    patience = Patience(seconds)

    async def one(target: Target) -> dict[str, Any]:
        async def items() -> list[dict[str, Any]]:
            return [_shown(item) for item in read_insights(await _taken(target), _ITEMS).items]

        answer = await ask(items, patience, target.secrets)
        shown = {
            "memoryBodyId": target.space.id,
            "name": target.space.name,
            "description": target.space.description,
            "providerId": target.provider_id,
            "items": answer.value or [],
        }
        return shown if answer.fault is None else {**shown, "error": answer.fault}

    return list(await each(targets, one))


async def _taken(target: Target) -> Sequence[Insight]:
    browses = target.manifest.capabilities.browse
    if browses and target.manifest.type_id not in _SEARCHED:
        return await target.adapter.metadata_sample(target.space, _ITEMS)
    query = (target.space.description.strip() or target.space.name)[:_QUERY]
    request = SearchRequest(query=query, mode="basic", limit=_ITEMS)
    return (await target.adapter.search(target.space, request)).results


def _shown(item: Insight) -> dict[str, Any]:
    shown: dict[str, Any] = {"content": truncate(item.content, _CONTENT)}
    if item.category:
        shown["category"] = item.category
    if item.entities:
        shown["entities"] = list(item.entities[:_ENTITIES])
    return shown

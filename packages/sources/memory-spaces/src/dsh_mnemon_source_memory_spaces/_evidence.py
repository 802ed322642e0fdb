"""Insights as Evidence items, within the ceilings of a route (spec/sources.md §4.6)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
from dsh_mnemon_core.sdk import EvidenceItem, json_clone, truncate

from dsh_mnemon_source_memory_spaces._paths import short_paths

__all__ = ("Shown", "evidence_items")

_PROVENANCE: Final = (
    "memoryBodyId",
    "memoryBodyName",
    "memoryProviderId",
    "memoryProviderLabel",
    "memoryCapabilities",
    "relevanceTier",
    "category",
    "importance",
    "createdAt",
    "tags",
    "entities",
    "source",
    "depth",
    "edgeType",
    "externalUri",
)
"""What an item says of where it comes from, where it is known."""

_MAX_REVISION: Final = 500


@attrs.frozen(kw_only=True)
class Shown:
    """The items of one answer, and whether any text was left out or cut."""

    items: tuple[EvidenceItem, ...]
    truncated: bool


def evidence_items(rows: Iterable[Mapping[str, Any]], *, results: int, characters: int) -> Shown:
    """Return rows as items, best first; the text is cut to the characters that remain.

    Args:
        rows: Insights as JSON, with Space, Provider and tier.
        results: Most items.
        characters: Most characters of all texts together.
    """
    items: list[EvidenceItem] = []
    left, truncated = characters, False
    for row in rows:
        if len(items) == results or left <= 0:
            truncated = True
            break
        text = truncate(row["content"], left)
        truncated = truncated or text != row["content"]
        left -= len(text)
        items.append(_item(row, text))
    return Shown(items=tuple(items), truncated=truncated)


def _item(row: Mapping[str, Any], text: str) -> EvidenceItem:
    score = row.get("normalizedScore", row.get("score"))
    known = {key: row[key] for key in _PROVENANCE if row.get(key) is not None}
    if "externalUri" in known:
        known["externalUri"] = _reference(known["externalUri"])
    revision = row.get("createdAt")
    return EvidenceItem(
        id=row["id"],
        text=text,
        score=score if score is not None and math.isfinite(score) else None,
        revision=revision[:_MAX_REVISION] if revision else None,
        provenance=json_clone(known),
    )


def _reference(uri: str) -> str:
    """Return where an item can be found; of a file of this machine no more than its name."""
    local = "://" not in uri or uri.lower().startswith("file:")
    return short_paths(uri) if local else uri

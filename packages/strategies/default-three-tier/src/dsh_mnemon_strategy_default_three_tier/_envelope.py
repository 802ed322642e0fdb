"""What a turn lets in: query identity and the admission of evidence (spec/core.md §15.4)."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any, Final, cast

import attrs
from dsh_mnemon_core.checks import truncate
from dsh_mnemon_core.evidence import EvidenceItem
from dsh_mnemon_core.values import FrozenDict, json_clone

__all__ = (
    "ITEM_CHARACTERS",
    "Admission",
    "Admitted",
    "Ceilings",
    "TurnEvidence",
    "admit",
    "bounded",
    "provenance_of",
    "query_identity",
)

ITEM_CHARACTERS: Final = 1_200
"""Most characters of one admitted item."""

_MAX_ID: Final = 1_000
_MAX_LIST: Final = 8

_SHOWN: Final = (
    "category", "importance", "tags", "entities", "source", "createdAt", "depth", "edgeType",
    "memoryBodyId", "memoryBodyName", "memoryProviderId", "memoryCapabilities", "externalUri",
)  # fmt: skip
_FIELDS: Final[Mapping[str, int]] = {
    **dict.fromkeys(_SHOWN, 300),
    "memoryBodyId": _MAX_ID,
    "externalUri": 2_000,
}
"""Fields of an item shown to the model, with the characters of their strings."""

_WORD = re.compile(r"[^\W_](?:[^\W_]|[+#])*")
"""A letter or digit and what follows of letters, digits, ``+`` and ``#`` (D58)."""


@attrs.frozen(kw_only=True)
class Ceilings:
    """How much one admission lets in: items, characters, and items of the doubtful tiers."""

    results: int
    characters: int
    medium: int = 1
    unknown: int = 1


@attrs.frozen(kw_only=True)
class Admitted:
    """One admitted item.

    Attributes:
        item: The Evidence item, its text clipped.
        row: The fields shown to the model.
        space: Its Memory Space id, empty when it names none.
        digest: Digest of the whole content, white space collapsed.
        clipped: Whether text was cut off.
    """

    item: EvidenceItem
    row: FrozenDict
    space: str
    digest: str
    clipped: bool

    @property
    def reference(self) -> tuple[str, str]:
        """``(Memory Space id, item id)``."""
        return (self.space, self.item.id)


@attrs.frozen(kw_only=True)
class Admission:
    """What was let in, in the Source's order, and whether anything was left out or clipped."""

    admitted: tuple[Admitted, ...]
    reduced: bool

    @property
    def characters(self) -> int:
        """Characters of all admitted texts."""
        return sum(len(entry.item.text) for entry in self.admitted)

    def within(self, spaces: Collection[str]) -> Admission:
        """Return the part that names one of the given Memory Spaces."""
        kept = tuple(entry for entry in self.admitted if entry.space in spaces)
        lost = len(kept) < len(self.admitted)
        return Admission(admitted=kept, reduced=self.reduced or lost)


def query_identity(source_key: str, query: str, spaces: Iterable[str] = ()) -> str:
    """Return the digest under which equal queries of one turn are the same query.

    Case, punctuation, white space and the order of the Memory Spaces do not tell queries apart;
    the Source does, and so do ``+`` and ``#`` directly after a letter or digit.
    """
    words = " ".join(_WORD.findall(query)).lower()
    identity = {
        "sourceInstanceKey": source_key,
        "query": words,
        "memoryBodyIds": sorted(spaces),
    }
    compact = json.dumps(identity, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(compact.encode("utf-8")).hexdigest()


def provenance_of(item: EvidenceItem) -> Mapping[str, Any]:
    """Return an item's provenance, empty when it is no object."""
    value = item.provenance
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def bounded(value: Any, characters: int) -> Any:
    """Clip a metadata value: strings to ``characters``, lists to 8 elements."""
    if isinstance(value, str):
        return truncate(value, characters)
    if isinstance(value, (list, tuple)):
        items = cast("Sequence[Any]", value)[:_MAX_LIST]
        return [bounded(item, characters) for item in items]
    return value


def _tier(item: EvidenceItem) -> str:
    tier = provenance_of(item).get("relevanceTier")
    return tier if tier in ("high", "medium", "low") else "unknown"


def _clip(item: EvidenceItem, room: int) -> Admitted:
    """Cut an item to the room there is and prepare what the model sees of it."""
    given = provenance_of(item)
    content = truncate(item.text, min(ITEM_CHARACTERS, room))
    shown = {
        key: bounded(given[key], limit)
        for key, limit in _FIELDS.items()
        if given.get(key) is not None
    }
    whole = " ".join(item.text.split())
    return Admitted(
        item=attrs.evolve(item, text=content),
        row=json_clone({"id": item.id, "content": content, **shown}),
        space=str(given.get("memoryBodyId") or ""),
        digest=hashlib.sha256(whole.encode("utf-8")).hexdigest(),
        clipped=content != item.text,
    )


def admit(
    items: Sequence[EvidenceItem], ceilings: Ceilings, seen: Set[str] = frozenset()
) -> Admission:
    """Let items in, best first, within the ceilings.

    Args:
        items: Items of one read, in the Source's order.
        ceilings: What may be let in.
        seen: Content digests admitted earlier in the turn; their content is not let in again.

    Returns:
        The admitted items. Left out are ids that are empty or beyond 1 000 characters, the low
        tier, doubtful tiers beyond their counts, repeated references, repeated or empty contents,
        and everything after the items or the characters have run out.
    """
    quota = {
        "high": ceilings.results,
        "medium": ceilings.medium,
        "unknown": ceilings.unknown,
        "low": 0,
    }
    admitted: list[Admitted] = []
    references: set[tuple[str, str]] = set()
    digests = set(seen)
    left = ceilings.characters
    for item in items:
        if len(admitted) >= ceilings.results or left <= 0:
            break
        entry, tier = _clip(item, left), _tier(item)
        repeated = entry.reference in references or entry.digest in digests
        if repeated or quota[tier] < 1 or not (0 < len(item.id) <= _MAX_ID and entry.item.text):
            continue
        admitted.append(entry)
        references.add(entry.reference)
        digests.add(entry.digest)
        quota[tier] -= 1
        left -= len(entry.item.text)
    reduced = len(admitted) < len(items) or any(entry.clipped for entry in admitted)
    return Admission(admitted=tuple(admitted), reduced=reduced)


class TurnEvidence:
    """What one executing turn has admitted so far, over all its reads."""

    def __init__(self) -> None:
        self._digests: set[str] = set()
        self._references: set[tuple[str, str, str]] = set()

    def admit(
        self, source_key: str, items: Sequence[EvidenceItem], ceilings: Ceilings
    ) -> Admission:
        """Admit items of one Source and remember them."""
        admission = admit(items, ceilings, self._digests)
        for entry in admission.admitted:
            self._digests.add(entry.digest)
            self._references.add((source_key, *entry.reference))
        return admission

    def holds(self, source_key: str, space: str, item_id: str) -> bool:
        """Tell whether this turn has admitted an item of a Memory Space."""
        return (source_key, space, item_id) in self._references

"""What was begun and may have been cut off: Spaces being made, merges (sources.md §4.3; pure)."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Final

import attrs
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_source_memory_spaces._registry.records import PendingMerge, SpaceRecord

__all__ = ("Pending",)

_PATIENCE: Final = timedelta(minutes=10)
"""How long a Space that has no store yet is taken for one that is still being made."""


@attrs.frozen(kw_only=True)
class Pending:
    """The steps of which only the first is certain.

    Attributes:
        claims: What each store that is being made is to be registered as, by the store's name.
        merges: What is being copied, one for each source.
    """

    claims: tuple[SpaceRecord, ...] = ()
    merges: tuple[PendingMerge, ...] = ()

    def claim(self, store_id: str) -> SpaceRecord | None:
        """Return what a store that was found is to be registered as, when somebody made it."""
        return next((space for space in self.claims if space.id == store_id), None)

    def without(self, claim: SpaceRecord) -> Pending:
        """Leave out a claim; another one on the same store stays."""
        kept = tuple(space for space in self.claims if space != claim)
        return attrs.evolve(self, claims=kept)

    def begun(self, target_id: str, source_ids: Collection[str], now: datetime) -> Pending:
        """Add a merge."""
        rest = self.ended(target_id, source_ids).merges
        added = (
            PendingMerge(target_id=target_id, source_id=source, started_at=iso_utc(now))
            for source in source_ids
        )
        return attrs.evolve(self, merges=(*rest, *added))

    def ended(self, target_id: str, source_ids: Collection[str]) -> Pending:
        """Leave out a merge."""
        kept = (
            item
            for item in self.merges
            if item.target_id != target_id or item.source_id not in source_ids
        )
        return attrs.evolve(self, merges=tuple(kept))

    def settled(self, registered: Collection[str], now: datetime) -> Pending:
        """Leave out what has become true, and what cannot any more.

        Args:
            registered: Ids of the native Spaces, those of discovered stores included.
            now: A claim that is older than ten minutes and has no store was cut off before it.
        """
        oldest = iso_utc(now - _PATIENCE)
        return Pending(
            claims=tuple(
                space
                for space in self.claims
                if space.id not in registered and space.created_at >= oldest
            ),
            merges=tuple(
                item for item in self.merges if {item.target_id, item.source_id} <= set(registered)
            ),
        )

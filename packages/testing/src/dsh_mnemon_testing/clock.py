"""A clock that stands still until it is told to move."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

__all__ = ("FROZEN", "VirtualClock")

FROZEN: Final = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)
"""Where a virtual clock starts: the time of the golden files."""


class VirtualClock:
    """A clock for ``now`` and ``clock`` parameters; calling it tells the time, in UTC.

    Args:
        start: Aware moment it starts at.
    """

    def __init__(self, start: datetime = FROZEN) -> None:
        self._moment = start.astimezone(UTC)

    def __call__(self) -> datetime:
        """Return the present moment."""
        return self._moment

    def advance(self, seconds: float = 0.0, *, days: float = 0.0) -> datetime:
        """Move on, or back when negative, and return the new moment."""
        self._moment += timedelta(seconds=seconds, days=days)
        return self._moment

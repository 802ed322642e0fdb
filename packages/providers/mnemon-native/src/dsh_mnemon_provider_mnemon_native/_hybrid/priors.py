"""Recency and importance: they settle what the question leaves open. Pure.

Both are factors close to 1. Together they move a memory by less than a twentieth, so that neither
lifts it over one that answers better (D63).
"""

from __future__ import annotations

import math
from typing import Final

__all__ = ("importance", "recency")

_FRESH: Final = 0.01
"""What the newest memory gains; the others lose nothing, for age makes nothing less relevant."""
_HALF_LIFE_SECONDS: Final = 90 * 86_400.0
"""After a quarter of a year half of that is gone."""
_STEP: Final = 0.01
"""What one step of importance is worth."""
_USUAL: Final = 3


def recency(created: float, newest: float) -> float:
    """Return the factor of a memory's age; the store's newest memory is the present."""
    age = max(newest - created, 0.0)
    return 1 + _FRESH * math.pow(2, -age / _HALF_LIFE_SECONDS)


def importance(level: int) -> float:
    """Return the factor of an importance of 1..5; the usual one changes nothing."""
    return 1 + _STEP * (min(max(level, 1), 5) - _USUAL)

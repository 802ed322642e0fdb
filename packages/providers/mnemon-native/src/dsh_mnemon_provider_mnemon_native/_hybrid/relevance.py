"""From coverage to the relevance a caller sees: one fixed curve (D63). Pure.

The Source calls below 0.25 low and from 0.6 high. The curve puts a question's coverage on that
scale, never looking at other results. Over conversations, questions about *another* conversation
find 0.23 at best in the median and 0.4 in one case of ten, while what answers a question and is
among the first ten covers 0.44 or more of it in three cases of four.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

__all__ = ("relevance",)

_CURVE: Final = (
    (0.0, 0.0),
    # A fifth: one word in five, as two texts about daily life share by chance.
    (0.18, 0.25),
    # Two fifths: two words in five, beyond what chance does.
    (0.33, 0.6),
    (1.0, 1.0),
)


def relevance(coverage: float) -> float:
    """Return the relevance, 0..1, of a memory that covers this share of a question."""
    if coverage >= 1:
        return 1.0
    place = bisect_right(_CURVE, (coverage, 2.0))
    (left, low), (right, high) = _CURVE[place - 1], _CURVE[place]
    return low + (high - low) * (coverage - left) / (right - left)

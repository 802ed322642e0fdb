"""How a Strategy divides what is scarce: characters by weight, operations in turns."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

__all__ = ("deal", "share_out")


def share_out(budget: int, weights: Sequence[int | Fraction]) -> tuple[int, ...]:
    """Divide a budget by weight, exactly.

    Args:
        budget: Characters to divide, at least 0.
        weights: One positive weight a receiver, in order of priority.

    Returns:
        One share a receiver: the weighted part rounded down, and what is left over dealt one each
        from the first receiver on. The shares sum to ``budget`` unless there is no receiver.

    Source: spec/core.md §15.2, §16.
    """
    total = sum(weights)
    shares = [int(budget * weight // total) for weight in weights]
    left = budget - sum(shares)
    return tuple(share + (position < left) for position, share in enumerate(shares))


def deal(hands: Sequence[Sequence[str]], limit: int) -> tuple[tuple[str, ...], ...]:
    """Deal ids in rounds, one a hand and round, until ``limit`` are out.

    Returns:
        What each hand keeps: a prefix of its ids, in their order; all of them when they fit.

    Source: spec/core.md §16, spec/README.md D7.
    """
    kept = [0] * len(hands)
    left = limit
    for turn in range(max(map(len, hands), default=0)):
        for position, hand in enumerate(hands):
            if left and turn < len(hand):
                kept[position] += 1
                left -= 1
    return tuple(tuple(hand[:count]) for hand, count in zip(hands, kept, strict=True))

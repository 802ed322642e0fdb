"""One ranking over the answers of several Spaces (spec/sources.md §4.7)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Final

import attrs

from dsh_mnemon_source_memory_spaces._recall.report import Target
from dsh_mnemon_source_memory_spaces.provider_sdk.items import Insight

__all__ = ("RANK_CONSTANT", "Candidate", "Found", "ranked")

RANK_CONSTANT: Final = 60
"""``k`` of reciprocal-rank fusion: a hit of rank r counts 1 / (k + r)."""


@attrs.frozen
class Found:
    """What one Space answered: its insights in the Provider's order."""

    target: Target
    insights: tuple[Insight, ...]


@attrs.frozen(kw_only=True)
class Candidate:
    """One insight with its Space; ``federated_score`` where ranks of Providers were fused."""

    insight: Insight
    target: Target
    federated_score: float | None = None


def ranked(found: Sequence[Found]) -> tuple[Candidate, ...]:
    """Return every insight of every Space, best first.

    Scores of different Providers say nothing about each other, so there the ranks decide, equal
    ones in Space order. Within one Provider the scores decide, equal ones in its own order.

    Args:
        found: What each searched Space answered, those without an answer included, in registry
            order.
    """
    if len({answer.target.provider_id for answer in found}) > 1:
        fused = _fused(found)
        return tuple(sorted(fused, key=lambda candidate: -(candidate.federated_score or 0)))
    plain = (
        Candidate(insight=insight, target=answer.target)
        for answer in found
        for insight in answer.insights
    )
    return tuple(sorted(plain, key=lambda candidate: -_comparable(candidate.insight.score)))


def _fused(found: Iterable[Found]) -> Iterable[Candidate]:
    for answer in found:
        for rank, insight in enumerate(answer.insights, 1):
            score = 1 / (RANK_CONSTANT + rank)
            yield Candidate(insight=insight, target=answer.target, federated_score=score)


def _comparable(score: float | None) -> float:
    return score if score is not None and math.isfinite(score) else 0

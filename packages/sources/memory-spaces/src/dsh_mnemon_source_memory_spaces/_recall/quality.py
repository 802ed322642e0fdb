"""How relevant a candidate is, and which of them are kept and chosen (spec/sources.md §4.7)."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias, cast, get_args

import attrs

from dsh_mnemon_source_memory_spaces._backtrace import log_failure

__all__ = (
    "MAX_CANDIDATES",
    "POLICIES",
    "STRICT",
    "Decision",
    "Judgement",
    "Quality",
    "QualityPolicy",
    "Reason",
    "Scored",
    "Thresholds",
    "Tier",
    "tier_of",
)

_log = logging.getLogger(__name__)

Tier: TypeAlias = Literal["high", "medium", "low", "unknown"]
"""How relevant a result is known to be."""

Reason: TypeAlias = Literal[
    "unscored",
    "invalid-score",
    "unscaled-score",
    "non-positive-score",
    "low-score",
    "medium-score",
    "high-score",
]
"""Why it has its tier."""

MAX_CANDIDATES: Final = 50
"""Most results a Space is asked for."""


@attrs.frozen(kw_only=True)
class Thresholds:
    """The settings of ``recallQuality`` that policies look at.

    Attributes:
        low: Scores below are low.
        high: Scores from here on are high.
        multiplier: Candidates fetched for each wanted result.
        max_medium: Most results of the medium tier under ``strict-v1``.
        max_unknown: Most results of the unknown tier under ``strict-v1``.
    """

    low: float = 0.25
    high: float = 0.6
    multiplier: int = 3
    max_medium: int = 4
    max_unknown: int = 2


@attrs.frozen
class Scored:
    """What a policy sees of a candidate: its score, and whether the Provider promises a scale."""

    score: float | None
    normalized: bool


@attrs.frozen(kw_only=True)
class Decision:
    """Whether a candidate may be chosen, and why; ``normalized_score`` is 0..1."""

    keep: bool
    tier: Tier
    reason: Reason
    normalized_score: float | None = None


class QualityPolicy(Protocol):
    """Decides over ranked candidates; pure, and judged: see `Quality`."""

    def candidate_limit(self, wanted: int, thresholds: Thresholds) -> int:
        """Return how many results to ask each Space for, ``wanted``..50."""
        ...

    def decide(self, candidate: Scored, thresholds: Thresholds) -> Decision:
        """Judge one candidate."""
        ...

    def select(
        self, decisions: Sequence[Decision], wanted: int, thresholds: Thresholds
    ) -> Sequence[int]:
        """Return positions of at most ``wanted`` kept decisions, best first."""
        ...


def tier_of(candidate: Scored, thresholds: Thresholds) -> tuple[Tier, Reason, float | None]:
    """Return tier, reason and normalized score: the first condition that applies."""
    score = candidate.score
    if score is None:
        return "unknown", "unscored", None
    if not math.isfinite(score):
        return "unknown", "invalid-score", None
    if not candidate.normalized:
        return "unknown", "unscaled-score", None
    if score <= 0:
        return "low", "non-positive-score", 0
    if score > 1:
        return "unknown", "unscaled-score", None
    if score < thresholds.low:
        return "low", "low-score", score
    if score < thresholds.high:
        return "medium", "medium-score", score
    return "high", "high-score", score


@attrs.frozen
class _ByTier:
    """The shipped policies: which reasons are dropped, and the tiers in the order of choosing.

    Attributes:
        dropped: Reasons that drop a candidate.
        rounds: Tiers chosen from together, in rank order, one round after the other.
        capped: Whether the medium and unknown tier have maxima.
    """

    dropped: frozenset[Reason]
    rounds: tuple[frozenset[Tier], ...]
    capped: bool = False

    def candidate_limit(self, wanted: int, thresholds: Thresholds) -> int:
        return min(MAX_CANDIDATES, max(wanted, wanted * thresholds.multiplier))

    def decide(self, candidate: Scored, thresholds: Thresholds) -> Decision:
        tier, reason, normalized = tier_of(candidate, thresholds)
        return Decision(
            keep=reason not in self.dropped, tier=tier, reason=reason, normalized_score=normalized
        )

    def select(
        self, decisions: Sequence[Decision], wanted: int, thresholds: Thresholds
    ) -> Sequence[int]:
        left = dict.fromkeys(get_args(Tier), wanted)
        if self.capped:
            left |= {"medium": thresholds.max_medium, "unknown": thresholds.max_unknown}
        chosen: list[int] = []
        for tiers in self.rounds:
            for position, decision in enumerate(decisions):
                if decision.keep and decision.tier in tiers and left[decision.tier] > 0:
                    left[decision.tier] -= 1
                    chosen.append(position)
        return chosen[:wanted]


_INVALID: Final[frozenset[Reason]] = frozenset({"invalid-score"})
_USELESS: Final[frozenset[Reason]] = frozenset({"invalid-score", "non-positive-score"})
_BELOW: Final[frozenset[Reason]] = frozenset({*_USELESS, "low-score"})

STRICT: Final = "strict-v1"
"""Id of the policy that is always there."""

POLICIES: Final[Mapping[str, QualityPolicy]] = MappingProxyType(
    {
        STRICT: _ByTier(
            _BELOW,
            (frozenset({"high"}), frozenset({"medium"}), frozenset({"unknown"})),
            capped=True,
        ),
        "balanced-v1": _ByTier(
            _USELESS, (frozenset({"high", "medium", "unknown"}), frozenset({"low"}))
        ),
        "exhaustive-v1": _ByTier(_INVALID, (frozenset(get_args(Tier)),)),
    }
)
"""The shipped policies by id."""


@attrs.frozen(kw_only=True)
class Judgement:
    """What a policy made of ranked candidates.

    Attributes:
        decisions: One for each candidate, in rank order.
        selected: Positions of the chosen ones, best first.
        fallback_from: Id of the policy that misbehaved, when ``strict-v1`` stood in for it.
    """

    policy_id: str
    decisions: tuple[Decision, ...]
    selected: tuple[int, ...]
    fallback_from: str | None = None


@attrs.frozen
class Quality:
    """The policy in force for one recall; one that misbehaves gives way to ``strict-v1``.

    Attributes:
        policy_id: Id under which the policy is registered.
        fallback_from: Id of the policy it stands in for.
    """

    policy_id: str
    policy: QualityPolicy
    thresholds: Thresholds = attrs.field(factory=Thresholds)
    fallback_from: str | None = None

    def for_limit(self, wanted: int) -> tuple[Quality, int]:
        """Return the policy to go on with, and how many candidates to ask each Space for."""
        try:
            return self, _limit(self.policy.candidate_limit(wanted, self.thresholds), wanted)
        except Exception as error:  # a registered policy is foreign code
            strict = self._strict(error)
            return strict, strict.policy.candidate_limit(wanted, strict.thresholds)

    def judge(self, candidates: Sequence[Scored], wanted: int) -> Judgement:
        """Decide on every candidate and choose at most ``wanted`` of them."""
        try:
            return self._judged(candidates, wanted)
        except Exception as error:  # a registered policy is foreign code
            return self._strict(error)._judged(candidates, wanted)

    def _strict(self, error: Exception) -> Quality:
        log_failure(_log, "recall policy %s misbehaves", self.policy_id, error=error)
        return Quality(STRICT, POLICIES[STRICT], self.thresholds, self.policy_id)

    def _judged(self, candidates: Sequence[Scored], wanted: int) -> Judgement:
        policy, thresholds = self.policy, self.thresholds
        decisions = tuple(_sound(policy.decide(item, thresholds)) for item in candidates)
        selected = tuple(policy.select(decisions, wanted, thresholds))
        if len(selected) > wanted or len(set(selected)) < len(selected):
            raise ValueError("too many results, or one twice")
        if not all(position >= 0 and decisions[position].keep for position in selected):
            raise ValueError("a result that was not kept")
        return Judgement(
            policy_id=self.policy_id,
            decisions=decisions,
            selected=selected,
            fallback_from=self.fallback_from,
        )


def _limit(value: int, wanted: int) -> int:
    if type(value) is not int or not wanted <= value <= MAX_CANDIDATES:
        raise ValueError("a candidate limit out of range")
    return value


def _sound(decision: Decision) -> Decision:
    known = decision.tier in get_args(Tier) and decision.reason in get_args(Reason)
    keep, score = cast("object", decision.keep), decision.normalized_score
    if not known or not isinstance(keep, bool) or not (score is None or 0 <= score <= 1):
        raise ValueError("an invalid decision")
    return decision

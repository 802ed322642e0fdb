"""Registered policies and what happens when one misbehaves (spec/sources.md §4.7)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from dsh_mnemon_source_memory_spaces._recall.quality import (
    POLICIES,
    Decision,
    Quality,
    Scored,
    Thresholds,
)

pytestmark = pytest.mark.requirement("memory-spaces:recall:registered")

GOOD = Scored(0.9, normalized=True)
LOW = Scored(0.1, normalized=True)
KEEP = Decision(keep=True, tier="high", reason="high-score", normalized_score=0.9)


@attrs.define
class Custom:
    """A policy that answers as it is told."""

    limit: Any = 5
    decision: Any = KEEP
    chosen: Any = ()

    def candidate_limit(self, wanted: int, _thresholds: Thresholds) -> int:
        return self.limit  # type: ignore[no-any-return]

    def decide(self, _candidate: Scored, _thresholds: Thresholds) -> Decision:
        return self.decision  # type: ignore[no-any-return]

    def select(
        self, _decisions: Sequence[Decision], _wanted: int, _thresholds: Thresholds
    ) -> Sequence[int]:
        return self.chosen  # type: ignore[no-any-return]


def test_a_policy_that_behaves_decides() -> None:
    quality = Quality("mine", Custom(chosen=(1, 0)))
    assert quality.for_limit(3) == (quality, 5)
    judged = quality.judge([GOOD, LOW], 3)
    assert (judged.policy_id, judged.fallback_from, judged.selected) == ("mine", None, (1, 0))


@pytest.mark.parametrize("limit", [2, 51, "5", None, True])
def test_a_bad_candidate_limit_gives_way_to_strict(limit: Any) -> None:
    quality, candidates = Quality("mine", Custom(limit=limit)).for_limit(3)
    assert (quality.policy_id, quality.fallback_from, candidates) == ("strict-v1", "mine", 9)
    judged = quality.judge([GOOD, LOW], 3)
    assert (judged.fallback_from, judged.selected) == ("mine", (0,))


@pytest.mark.parametrize(
    "policy",
    [
        Custom(decision=None),
        Custom(decision=attrs.evolve(KEEP, tier="best")),
        Custom(decision=attrs.evolve(KEEP, reason="because")),
        Custom(decision=attrs.evolve(KEEP, keep="yes")),
        Custom(decision=attrs.evolve(KEEP, normalized_score=2)),
        Custom(decision=attrs.evolve(KEEP, normalized_score="x")),
        Custom(decision=attrs.evolve(KEEP, keep=False), chosen=(0,)),
        Custom(chosen=(0, 0)),
        Custom(chosen=(0, 1, 2, 3)),
        Custom(chosen=(7,)),
        Custom(chosen=(-1,)),
        Custom(chosen=("x",)),
        Custom(chosen=None),
    ],
)
def test_a_policy_that_misbehaves_gives_way_to_strict(
    policy: Custom, caplog: pytest.LogCaptureFixture
) -> None:
    judged = Quality("mine", policy).judge([GOOD, LOW, GOOD, GOOD], 3)
    assert (judged.policy_id, judged.fallback_from) == ("strict-v1", "mine")
    assert "recall policy mine misbehaves" in caplog.text
    assert judged.selected == (0, 2, 3)


def test_maxima_are_those_of_the_configuration() -> None:
    medium, unknown = Scored(0.4, normalized=True), Scored(None, normalized=True)
    thresholds = Thresholds(max_medium=1, max_unknown=0)
    judged = Quality("strict-v1", POLICIES["strict-v1"], thresholds).judge(
        [unknown, medium, medium, GOOD], 4
    )
    assert judged.selected == (3, 1)

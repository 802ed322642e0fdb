"""`dsh_mnemon_core.allotment`: characters by weight, operations in turns."""

from fractions import Fraction

import pytest
from dsh_mnemon_core.allotment import deal, share_out
from hypothesis import given
from hypothesis import strategies as st

WEIGHTS = st.lists(
    st.one_of(st.integers(1, 100), st.builds(Fraction, st.integers(1, 100), st.integers(1, 12))),
    max_size=32,
)
HANDS = st.lists(st.lists(st.text(max_size=3), max_size=8), max_size=6)


@pytest.mark.parametrize(
    ("budget", "weights", "shares"),
    [
        (100, [90, 5, 5], (90, 5, 5)),
        (101, [Fraction(5), Fraction(45), Fraction(45), Fraction(5)], (6, 45, 45, 5)),
        (1, [5, 90], (1, 0)),
        (0, [1, 1], (0, 0)),
        (7, [], ()),
        # Thirds sum to one exactly; floats would lose a character here.
        (9, [Fraction(1, 3)] * 3, (3, 3, 3)),
    ],
)
def test_share_out_rounds_down_and_deals_the_rest_in_order(budget, weights, shares):
    assert share_out(budget, weights) == shares


@given(st.integers(0, 10_000_000), WEIGHTS)
def test_share_out_spends_the_budget_and_never_more(budget, weights):
    shares = share_out(budget, weights)
    assert len(shares) == len(weights)
    assert sum(shares) == (budget if weights else 0)
    total = sum(weights)
    for weight, share in zip(weights, shares, strict=True):
        assert 0 <= share - budget * weight // total <= 1


def test_deal_goes_round_by_round():
    hands = [("a1", "a2", "a3"), ("b1",), (), ("c1", "c2")]
    assert deal(hands, 4) == (("a1", "a2"), ("b1",), (), ("c1",))
    assert deal(hands, 100) == tuple(hands)
    assert deal(hands, 0) == ((), (), (), ())
    assert deal([], 3) == ()


@given(HANDS, st.integers(0, 40))
def test_deal_keeps_prefixes_within_the_limit_and_is_fair(hands, limit):
    kept = deal(hands, limit)
    assert sum(map(len, kept)) == min(limit, sum(map(len, hands)))
    for hand, got in zip(hands, kept, strict=True):
        assert tuple(hand[: len(got)]) == got
    cut = [len(got) for hand, got in zip(hands, kept, strict=True) if len(got) < len(hand)]
    if cut:
        assert max(map(len, kept)) - min(cut) <= 1

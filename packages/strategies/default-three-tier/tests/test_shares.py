"""How the projection budget is divided."""

import pytest
from dsh_mnemon_core.source import AvailableSource
from dsh_mnemon_strategy_default_three_tier._roles import ROLES
from dsh_mnemon_strategy_default_three_tier._shares import tier_shares, weighted_shares
from hypothesis import given
from hypothesis import strategies as st

BUDGETS = st.integers(1, 10_000_000)


def source(role, key, project):
    return AvailableSource(
        source_instance_key=key,
        source_type_id="any",
        role=role,
        availability="ready",
        revision="r1",
        capabilities=("project",) if project else (),
    )


@st.composite
def tiers(draw):
    """At most one Source a role, in the order of the roles."""
    return [
        source(role, f"source:{role}", draw(st.booleans())) for role in ROLES if draw(st.booleans())
    ]


SELECTED = st.lists(st.tuples(st.sampled_from(ROLES), st.booleans()), max_size=32).map(
    lambda drawn: [
        source(role, f"source:s{number}", project) for number, (role, project) in enumerate(drawn)
    ]
)


@pytest.mark.requirement("layered:shares:tiers")
@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (65_536, (58_982, 3_277, 3_277)),
        (10, (9, 1, 0)),
        (1, (1, 0, 0)),
        (2, (1, 1, 0)),
        (21, (18, 1, 2)),
    ],
)
def test_three_tiers_share_nine_tenths_and_halves_of_the_rest(budget, expected):
    chosen = [source(role, role, True) for role in ROLES]
    assert tuple(tier_shares(chosen, budget).values()) == expected


@pytest.mark.requirement("layered:shares:tiers")
def test_documents_keep_half_when_the_third_tier_is_there_but_cannot_project():
    chosen = [source(role, role, role != "durable-evidence") for role in ROLES]
    assert tuple(tier_shares(chosen, 100).values()) == (90, 5, 0)
    assert tuple(tier_shares(chosen[:2], 100).values()) == (90, 10)


@pytest.mark.requirement("layered:shares:tiers")
@given(tiers(), BUDGETS)
def test_tier_shares_stay_within_the_budget(chosen, budget):
    shares = tier_shares(chosen, budget)
    assert list(shares) == [item.source_instance_key for item in chosen]
    assert sum(shares.values()) <= budget
    for item in chosen:
        share = shares[item.source_instance_key]
        assert share >= 0
        assert "project" in item.capabilities or share == 0
    if chosen and chosen[0].role == ROLES[0] and chosen[0].capabilities:
        assert shares[f"source:{ROLES[0]}"] == max(1, budget * 9 // 10)


@pytest.mark.requirement("layered:shares:selection")
@given(SELECTED, BUDGETS)
def test_weighted_shares_spend_the_budget_exactly(chosen, budget):
    shares = weighted_shares(chosen, budget)
    projecting = [item for item in chosen if item.capabilities]
    assert list(shares) == [item.source_instance_key for item in projecting]
    assert sum(shares.values()) == (budget if projecting else 0)
    for role in ROLES:
        peers = [shares[item.source_instance_key] for item in projecting if item.role == role]
        # Equal peers differ by the one character that rounding deals out, the earlier first.
        assert peers == sorted(peers, reverse=True)
        assert max(peers, default=0) - min(peers, default=0) <= 1

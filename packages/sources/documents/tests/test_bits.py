"""Sets of slots and counters over them."""

from __future__ import annotations

import pytest
from dsh_mnemon_source_documents import _bits
from hypothesis import given
from hypothesis import strategies as st

pytestmark = pytest.mark.requirement("documents:search:ranking")
SLOTS = st.sets(st.integers(0, 40))


@given(SLOTS)
def test_members_of_a_set(slots: set[int]) -> None:
    assert list(_bits.members(_bits.of(slots, 41))) == sorted(slots)


@given(st.lists(st.tuples(st.integers(0, 12), SLOTS)), st.integers(0, 40), SLOTS)
def test_counters_count(additions: list[tuple[int, set[int]]], least: int, some: set[int]) -> None:
    counter, numbers = _bits.Counter(), dict.fromkeys(range(41), 0)
    for amount, slots in additions:
        counter.add(amount, _bits.of(slots, 41))
        for slot in slots:
            numbers[slot] += amount
    chosen = _bits.of(some, 41)
    enough = counter.copy().at_least(least, chosen)
    assert set(_bits.members(enough)) == {slot for slot in some if numbers[slot] >= least}
    groups = list(counter.groups(chosen))
    assert [number for number, _ in groups] == sorted({numbers[s] for s in some}, reverse=True)
    assert {s: n for n, slots in groups for s in _bits.members(slots)} == {
        s: numbers[s] for s in some
    }

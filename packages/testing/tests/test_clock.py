"""The clock stands still until it is told to move."""

from datetime import datetime, timedelta, timezone

import pytest
from dsh_mnemon_core.instant import iso_utc
from dsh_mnemon_testing import FROZEN, VirtualClock

pytestmark = pytest.mark.requirement("testing:clock")


def test_clock_stands_where_the_golden_files_stand():
    clock = VirtualClock()
    assert clock() == clock() == FROZEN
    assert iso_utc(clock()) == "2026-01-02T03:04:05.678Z"


def test_clock_moves_when_told():
    clock = VirtualClock()
    assert clock.advance(1.5) - FROZEN == timedelta(seconds=1.5)
    assert clock.advance(-1.5, days=2) == clock() == FROZEN + timedelta(days=2)


def test_clock_tells_utc_wherever_it_started():
    start = datetime(2026, 1, 1, 12, tzinfo=timezone(timedelta(hours=8)))
    assert VirtualClock(start)().isoformat() == "2026-01-01T04:00:00+00:00"

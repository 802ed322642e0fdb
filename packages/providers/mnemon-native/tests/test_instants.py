"""Times of a store (spec/mnemon-native.md §2.4)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from dsh_mnemon_provider_mnemon_native._instants import instant, moment, stamp

pytestmark = pytest.mark.requirement("native:times")


@pytest.mark.parametrize(
    "text",
    [
        "2026-03-02T11:00:00Z",
        "2026-03-02T12:00:00+01:00",
        "2026-03-02T05:30:00-05:30",
        "2026-03-02T11:00:00.000Z",
        "2026-03-02 11:00:00",
    ],
)
def test_any_offset_names_the_same_instant(text: str) -> None:
    assert moment(text) == datetime(2026, 3, 2, 11, tzinfo=UTC)
    assert instant(text) == datetime(2026, 3, 2, 11, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    "text",
    [
        *("", "2026-01-01", "2026-03-02T11:00:00", "2026-13-01T00:00:00Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-00:01", "0000-01-01T00:00:00Z"),
    ],
)
def test_other_text_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        moment(text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
def test_the_edges_of_the_calendar_are_times(text: str) -> None:
    assert stamp(moment(text)) == text
    assert moment(stamp(moment(text))).timestamp() == instant(text)


def test_a_stamp_is_cut_to_seconds_in_utc() -> None:
    zone = timezone(timedelta(hours=8))
    assert stamp(datetime(2026, 1, 1, 8, 0, 0, 999_999, tzinfo=zone)) == "2026-01-01T00:00:00Z"

from datetime import UTC, datetime, timedelta, timezone

import pytest
from dsh_mnemon_core.instant import iso_utc, parse_utc, utc_now


def test_the_clock_is_aware_and_in_utc():
    assert utc_now().tzinfo is UTC


def test_moments_are_written_in_utc_with_milliseconds():
    east = timezone(timedelta(hours=2))
    assert (
        iso_utc(datetime(2026, 1, 2, 3, 4, 5, 678_999, tzinfo=east)) == "2026-01-02T01:04:05.678Z"
    )
    assert iso_utc(datetime(2026, 1, 2, tzinfo=UTC)) == "2026-01-02T00:00:00.000Z"


@pytest.mark.parametrize(
    "text", ["2026-01-02T03:04:05.678Z", "2026-01-02T05:04:05.678+02:00", "2026-01-02T03:04:05.678"]
)
def test_texts_are_read_as_utc(text):
    assert parse_utc(text) == datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


@pytest.mark.parametrize("value", [None, 7, "", "yesterday", "2026-13-02T00:00:00Z"])
def test_anything_else_is_no_moment(value):
    assert parse_utc(value) is None

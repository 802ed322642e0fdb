"""Times as a store writes and reads them (spec/mnemon-native.md §2.4). Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

__all__ = ("instant", "moment", "stamp")

_RFC_3339: Final = re.compile(
    r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)| \d\d:\d\d:\d\d)"
)


def moment(text: str) -> datetime:
    """Read RFC 3339 text of any offset, or the tool's own ``YYYY-MM-DD HH:MM:SS`` as UTC.

    Raises:
        ValueError: It is neither.
    """
    if _RFC_3339.fullmatch(text) is None:
        raise ValueError(f"{text!r} is not RFC 3339")
    read = datetime.fromisoformat(text)
    try:
        return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999 of UTC") from error


@lru_cache(maxsize=16_384)
def instant(text: str) -> float:
    """Return the seconds since 1970 of `moment`."""
    return moment(text).timestamp()


def stamp(time: datetime) -> str:
    """Write a time as the store does: UTC, whole seconds, ``2026-03-02T11:00:00Z``."""
    # `strftime` would write the year 1 as it likes.
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds") + "Z"

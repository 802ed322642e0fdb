"""Times as files write them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dsh_mnemon_core.instant import iso_utc, parse_utc

__all__ = ("moment",)


def moment(value: Any) -> str | None:
    """Return a time as ISO 8601 UTC, from seconds since 1970 or from text; none if it is bad."""
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return iso_utc(datetime.fromtimestamp(value, UTC))
        parsed = parse_utc(value.strip()) if isinstance(value, str) else None
        return None if parsed is None else iso_utc(parsed)
    except (ValueError, OverflowError, OSError):
        return None

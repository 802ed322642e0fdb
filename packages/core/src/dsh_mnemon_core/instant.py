"""Instants on the wire: ISO-8601, UTC, milliseconds, ``Z`` (spec/core.md conventions)."""

from __future__ import annotations

from datetime import UTC, datetime

__all__ = ("iso_utc", "parse_utc", "utc_now")


def utc_now() -> datetime:
    """Return the present moment; the clock wherever none is passed in."""
    return datetime.now(UTC)


def iso_utc(moment: datetime) -> str:
    """Format an aware moment as ``2026-01-02T03:04:05.678Z``."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_utc(value: object) -> datetime | None:
    """Parse an ISO-8601 text; without an offset it is UTC. ``None`` when it is none."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

"""Cursors of browsing: which Space goes on, and where in it (spec/README.md D45)."""

from __future__ import annotations

from typing import Any, Final

import attrs

from dsh_mnemon_source_memory_spaces.provider_sdk import cursor as cursors

__all__ = ("MAX_CURSOR", "Place", "following", "read_cursor", "write_cursor")

MAX_CURSOR: Final = 2_000
"""Most characters of a cursor."""


@attrs.frozen(kw_only=True)
class Place:
    """Where the next page begins.

    Attributes:
        space_id: The Space to go on with.
        cursor: The Provider's own cursor there; none at its beginning.
        skip: How many items of that Provider page were shown already.
    """

    space_id: str
    cursor: str | None = None
    skip: int = 0


def write_cursor(question: Any, place: Place) -> str | None:
    """Return the cursor of a place, or nothing where it would be too long."""
    cursor = cursors.write_cursor(question, (place.space_id, place.cursor, place.skip))
    return cursor if len(cursor) <= MAX_CURSOR else None


def read_cursor(question: Any, cursor: str) -> Place:
    """Return the place a cursor names.

    Raises:
        InputError: ``cursor-invalid``; it is none of ours, or of another question.
    """
    space_id, place, skip = cursors.read_cursor(question, cursor, str, str | None, int)
    if skip < 0:
        raise cursors.invalid_cursor()
    return Place(space_id=space_id, cursor=place, skip=skip)


def following(given: object, cursor: str | None) -> str | None:
    """Return the cursor a Provider gave for its next page; the same one again would never end."""
    return given if isinstance(given, str) and given and given != cursor else None

"""Cursors of browsing: opaque, bounded and bound to what was asked (spec/README.md D45)."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, Final

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import digest

__all__ = ("MAX_CURSOR", "Place", "following", "read_cursor", "write_cursor")

MAX_CURSOR: Final = 2_000
"""Most characters of a cursor."""

_BOUND: Final = 16


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
    """Return the cursor of a place, or nothing where it would be too long.

    Args:
        question: What was asked, JSON; the cursor fits nothing else.
        place: Where the next page begins.
    """
    parts = [digest(question)[:_BOUND], place.space_id, place.cursor, place.skip]
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    cursor = base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")
    return cursor if len(cursor) <= MAX_CURSOR else None


def read_cursor(question: Any, cursor: str) -> Place:
    """Return the place a cursor names.

    Raises:
        InputError: ``cursor-invalid``; it is none of ours, or of another question.
    """
    try:
        data = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        bound, space_id, place, skip = json.loads(data)
    except (binascii.Error, ValueError, TypeError):
        raise _invalid() from None
    sound = (
        bound == digest(question)[:_BOUND]
        and isinstance(space_id, str)
        and (place is None or isinstance(place, str))
        and type(skip) is int
        and skip >= 0
    )
    if not sound:
        raise _invalid()
    return Place(space_id=space_id, cursor=place, skip=skip)


def following(given: object, cursor: str | None) -> str | None:
    """Return the cursor a Provider gave for its next page; the same one again would never end."""
    return given if isinstance(given, str) and given and given != cursor else None


def _invalid() -> InputError:
    return InputError("cursor-invalid", "this cursor is not one of this query; begin again")

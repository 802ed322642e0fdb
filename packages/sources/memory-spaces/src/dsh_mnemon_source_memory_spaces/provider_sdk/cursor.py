"""Cursors between the pages of an answer: opaque, and bound to what was asked (D45)."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from types import UnionType
from typing import Any, Final, get_args

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.sdk import digest

__all__ = ("invalid_cursor", "read_cursor", "write_cursor")

_BOUND: Final = 16
"""Hex digits that tell one question from another."""


def write_cursor(question: Any, place: Sequence[Any]) -> str:
    """Return a cursor, in characters that need no escaping anywhere.

    Args:
        question: What was asked, JSON; the cursor fits nothing else.
        place: Where the next page begins, JSON values.
    """
    text = json.dumps([_bound(question), *place], ensure_ascii=False, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode("utf-8")).decode("ascii").rstrip("=")


def read_cursor(question: Any, cursor: str, *kinds: type | UnionType) -> list[Any]:
    """Return the place that a cursor names.

    Args:
        question: As `write_cursor` had it.
        cursor: What the page before answered.
        kinds: The type of each value of the place, such as ``str | None``; ``bool`` is no ``int``.

    Raises:
        InputError: ``cursor-invalid``; it is none of ours, or of another question.
    """
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        bound: Any
        place: list[Any]
        bound, *place = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        raise invalid_cursor() from None
    fits = len(place) == len(kinds) and all(map(_is_a, place, kinds))
    if bound != _bound(question) or not fits:
        raise invalid_cursor()
    return place


def invalid_cursor() -> InputError:
    """Return the refusal of a cursor, for a place that does not exist."""
    return InputError("cursor-invalid", "this cursor is not one of this query; begin again")


def _bound(question: Any) -> str:
    return digest(question)[:_BOUND]


def _is_a(value: object, kind: type | UnionType) -> bool:
    return type(value) in (get_args(kind) or (kind,))

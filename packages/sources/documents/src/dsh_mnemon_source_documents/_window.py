"""The passage of a body that a query is about (spec/sources.md §3.6; pure)."""

from __future__ import annotations

import re
from typing import Final

from dsh_mnemon_core.sdk import truncate

from dsh_mnemon_source_documents._format import plain
from dsh_mnemon_source_documents._text import strip

_EARLIER: Final = "[earlier content omitted]\n"
_LATER: Final = "\n[later content omitted]"
_BEFORE: Final = 400

PASSAGE: Final = 200
"""Characters of a passage in a list."""

_WORD: Final = 20
_TERM: Final = re.compile(r"[\w-]+")


def window(body: str, query: str, maximum: int) -> str:
    """Return at most ``maximum`` characters of a body around what a query names.

    Args:
        body: The body.
        query: Any text; its longest part that the body holds decides.
        maximum: Characters, marks of omission included.
    """
    if maximum <= 0:
        return ""
    if len(body) <= maximum:
        return body
    position = _position(body, query)
    start = min(max(position - _BEFORE, 0), len(body) - maximum)
    prefix = _EARLIER if start > 0 else ""
    suffix = _LATER if start + maximum < len(body) else ""
    if maximum <= len(prefix) + len(suffix):
        return truncate(body[position:], maximum)
    taken = maximum - len(prefix) - len(suffix)
    passage = body[start : start + taken] if suffix else body[len(body) - taken :]
    return f"{prefix}{passage}{suffix}"


def passage(body: str, query: str) -> str:
    """Return one line of a body around what a query names, for a list that people read.

    Args:
        body: The body.
        query: Any text; without one that the body holds it is the beginning.

    Returns:
        At most `PASSAGE` characters without markup, ``…`` at each end where there is more.
    """
    start = _beginning(body, query) if len(body) > PASSAGE else 0
    before = "…" if plain(body[:start]) else ""
    return before + truncate(plain(body[start : start + 8 * PASSAGE]), PASSAGE - len(before))


def _beginning(body: str, query: str) -> int:
    """Return where a passage begins so that what the query names, or the very end, is in it."""
    start = min(_position(body, query) - PASSAGE // 3, len(body) - PASSAGE + len("…"))
    if start <= 0:
        return 0
    # Not in the middle of a word, where there is a blank close by.
    return max(start, body.find(" ", start, start + _WORD))


def _position(body: str, query: str) -> int:
    whole = strip(query).lower()
    parts = dict.fromkeys(term for term in (whole, *_TERM.findall(whole)) if term)
    terms = sorted(parts, key=len, reverse=True)
    lowered = body.lower()
    if len(lowered) != len(body):
        # A letter whose small form is longer would shift everything after it.
        lowered = "".join(small if len(small := char.lower()) == 1 else char for char in body)
    return next((at for term in terms if (at := lowered.find(term)) >= 0), 0)

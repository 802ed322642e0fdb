"""Which memory of a Space a person means: by its id, or by the beginning of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.cli._spoken import beginning_with, may_begin_an_id, one_of
from dsh_mnemon_host.source_session import SourceSession

__all__ = ("chosen_memory",)

_WHOLE: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""A whole id as most Providers make them."""

_PAGE: Final = 1_000
_EXCERPT: Final = 40


async def chosen_memory(session: SourceSession, space_id: str, given: str) -> str:
    """Return the id of the memory a person named.

    Only what may be the beginning of an id is looked up. What begins no id is returned as it is:
    a Space that cannot be listed whole may know it, and else says itself that it does not.

    Args:
        session: The Source of the Space.
        space_id: Id of the Space.
        given: An id, or at least four characters that one begins with.

    Raises:
        InputError: ``memory-ambiguous``: several ids begin so.
    """
    if not may_begin_an_id(given) or _WHOLE.fullmatch(given):
        return given
    rows: dict[str, Mapping[str, Any]] = {}
    question = {"query": given, "memoryBodyIds": [space_id], "limit": _PAGE}
    async for page in session.pages("list", question):
        rows.update((row["id"], row) for row in page["items"])
        if any(source["status"] == "unavailable" for source in page["sources"]):
            break
    meant = beginning_with(given, rows)
    if len(meant) > 1:
        raise InputError(
            "memory-ambiguous",
            f"{len(meant)} memories have an id that begins with {given!r}; type more of it: "
            f"{one_of([_labelled(rows[id]) for id in meant])}",
        )
    return meant[0] if meant else given


def _labelled(row: Mapping[str, Any]) -> str:
    content = " ".join(str(row["content"]).split())
    cut = content if len(content) <= _EXCERPT else content[: _EXCERPT - 1].rstrip() + "…"
    return f"{row['id']} ({cut})"

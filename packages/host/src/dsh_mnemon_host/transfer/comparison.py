"""What an import would bring to a Space that is not there already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import attrs

from dsh_mnemon_host.source_session import SourceSession

__all__ = ("Comparison", "compare")

_PAGE: Final = 1000


@attrs.frozen(kw_only=True)
class Comparison:
    """Which memories are new.

    Attributes:
        new: Whether each memory is new, in their order.
        unsure: Why some that are said to be new may be there; none where that is certain.
    """

    new: tuple[bool, ...]
    unsure: str | None = None


async def compare(
    contents: Iterable[str], session: SourceSession | None, space_id: str = ""
) -> Comparison:
    """Compare texts with those of a Space; the same text is the same memory (D9).

    White space around a text does not count, for an import drops it.

    Args:
        contents: The texts; of equal ones the first is new.
        session: Reads the Space; nothing where there is none to compare with.
        space_id: Which Space.
    """
    seen, unsure = (set[str](), None) if session is None else await _seen(session, space_id)
    new: list[bool] = []
    for content in map(str.strip, contents):
        new.append(content not in seen)
        seen.add(content)
    return Comparison(new=tuple(new), unsure=unsure)


async def _seen(session: SourceSession, space_id: str) -> tuple[set[str], str | None]:
    contents: set[str] = set()
    unsure: str | None = None
    async for page in session.pages("list", {"memoryBodyIds": [space_id], "limit": _PAGE}):
        contents.update(row["content"] for row in page["items"])
        for source in page.get("sources", ()):
            if source.get("status") == "unavailable":
                unsure = f"the Memory Space cannot be read: {source.get('hint', 'no answer')}"
        if page.get("truncated", False):
            unsure = "the Provider cannot show the whole Memory Space"
    return contents, unsure

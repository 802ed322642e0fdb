"""Long texts in pieces that one memory can hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

__all__ = ("MAX_BYTES", "pieces")

MAX_BYTES: Final = 8_000
"""As many UTF-8 bytes as every Space keeps of one memory."""


def pieces(text: str, *, head: str = "", limit: int = MAX_BYTES) -> Iterator[str]:
    """Cut a text at paragraphs, else at lines, else at characters.

    Args:
        text: The text; a blank one gives nothing.
        head: What every piece begins with.
        limit: Most UTF-8 bytes of a piece, its head included.
    """
    room = limit - len(head.encode("utf-8"))
    kept = ""
    for part in _parts(text.strip(), room):
        joined = f"{kept}\n\n{part}" if kept else part
        if len(joined.encode("utf-8")) > room:
            yield head + kept
            kept = part
        else:
            kept = joined
    if kept:
        yield head + kept


def _parts(text: str, room: int) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        if not paragraph.strip():
            continue
        if len(paragraph.encode("utf-8")) <= room:
            yield paragraph.strip("\n")
        else:
            yield from _lines(paragraph, room)


def _lines(paragraph: str, room: int) -> Iterator[str]:
    for line in paragraph.split("\n"):
        rest = line
        while len(rest.encode("utf-8")) > room:
            # A character has at most four bytes, so this many always fit.
            cut = max(1, room // 4)
            while len(rest[: cut + 1].encode("utf-8")) <= room:
                cut += 1
            yield rest[:cut]
            rest = rest[cut:]
        if rest.strip():
            yield rest

"""A folder of Markdown as memories: one a section, under the names of file and headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.instant import iso_utc

from dsh_mnemon_host.transfer.draft import Draft, DraftMemory, short_tag
from dsh_mnemon_host.transfer.pieces import pieces

__all__ = ("SUFFIXES", "markdown_files", "read_markdown", "split_sections")

_HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*$")
_FENCE = re.compile(r"\s*(```|~~~)")
_HEAD_CHARACTERS = 300


SUFFIXES: Final = (".md", ".markdown")
"""How names of Markdown files end."""


def markdown_files(folder: Path) -> list[Path]:
    """Return the Markdown files below a folder, by path; hidden folders and links are left out.

    Raises:
        InputError: ``import-empty``.
    """
    found = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES
        and path.is_file()
        and not path.is_symlink()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    )
    if not found:
        raise InputError("import-empty", f"there is no Markdown file below {folder}")
    return found


def read_markdown(place: Path) -> Draft:
    """Read one Markdown file, or every one below a folder.

    A memory begins with ``file › heading › heading``; its time is that of the file.

    Raises:
        InputError: ``import-empty``; ``import-unreadable``: a file is not UTF-8.
    """
    memories: list[DraftMemory] = []
    folder = place if place.is_dir() else place.parent
    for file in markdown_files(folder) if place.is_dir() else [place]:
        name = file.relative_to(folder).as_posix()
        try:
            text = file.read_text(encoding="utf-8-sig")
        except (UnicodeDecodeError, OSError) as error:
            raise InputError("import-unreadable", f"{name} cannot be read: {error}") from error
        changed = iso_utc(datetime.fromtimestamp(file.stat().st_mtime, UTC))
        tag = short_tag(file.stem)
        memories += [
            DraftMemory(
                content=content,
                category="context",
                source="import",
                tags=[tag] if tag else [],
                created_at=changed,
            )
            for titles, body in split_sections(text)
            for content in pieces(body, head=_head(name, titles))
        ]
    return Draft(memories=tuple(memories))


def _head(name: str, titles: tuple[str, ...]) -> str:
    return " › ".join((name, *titles))[:_HEAD_CHARACTERS] + "\n\n"


def split_sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Split Markdown at its headings, outside code, into ``(headings from the top, body)``."""
    titles: list[tuple[int, str]] = []
    body: list[str] = []
    fenced: str | None = None
    for line in _without_front_matter(text).split("\n"):
        fence = _FENCE.match(line)
        if fence is not None and fenced in (None, fence[1]):
            fenced = None if fenced else fence[1]
        heading = None if fenced else _HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        if "".join(body).strip():
            yield tuple(title for _, title in titles), "\n".join(body).strip()
        level = len(heading[1])
        titles = [*(item for item in titles if item[0] < level), (level, heading[2])]
        body = []
    if "".join(body).strip():
        yield tuple(title for _, title in titles), "\n".join(body).strip()


def _without_front_matter(text: str) -> str:
    if not text.startswith("---\n"):
        return text
    head, found, rest = text[4:].partition("\n---\n")
    return rest if found and head else text

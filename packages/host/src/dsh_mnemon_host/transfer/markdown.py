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
from dsh_mnemon_host.transfer.found import Found, read_text, shown
from dsh_mnemon_host.transfer.front_matter import MOST_TAGS, read_front_matter
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
        raise InputError("import-empty", f"there is no Markdown file below {shown(folder)}")
    return found


def read_markdown(path: Path, name: str, file: str) -> Found:
    """Read a Markdown file.

    A memory begins with ``name › title › heading › heading``. Its tags and its time are those of
    the front matter; a file without a title is tagged with its stem, one without a time has that
    of the file itself.

    Args:
        path: The file.
        name: What its memories begin with.
        file: What to call it in messages.

    Raises:
        InputError: ``import-unreadable``.
    """
    about, text = read_front_matter(read_text(path))
    changed = about.created or iso_utc(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    stem = "" if about.title else short_tag(shown(path.stem))
    named = [*about.tags, stem] if stem else about.tags
    tags = list(dict.fromkeys(named))[:MOST_TAGS]
    memories = [
        DraftMemory(
            content=content,
            category="context",
            source="external",
            tags=tags,
            created_at=changed,
        )
        for titles, body in split_sections(text)
        for content in pieces(body, head=_head(name, about.title, titles))
    ]
    return Found.of(
        Draft(memories=tuple(memories)),
        file,
        ignored={file: about.ignored} if about.ignored else {},
        notes=tuple((file, note) for note in about.notes),
    )


def _head(name: str, title: str, headings: tuple[str, ...]) -> str:
    # Many files say their title twice: in the front matter, and as their first heading.
    named = (title,) if title and headings[:1] != (title,) else ()
    return " › ".join((name, *named, *headings))[:_HEAD_CHARACTERS] + "\n\n"


def split_sections(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Split Markdown at its headings, outside code, into ``(headings from the top, body)``."""
    titles: list[tuple[int, str]] = []
    body: list[str] = []
    fenced: str | None = None
    for line in text.split("\n"):
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

"""The Markdown file of a document: name, front matter, body, excerpt (spec/sources.md §3.5; pure).

The managed part of the front matter is written, and read back only to adopt a document whose record
was lost: index.json wins. What people add to it, other keys and comments, is carried over line by
line, exactly as it stands.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Final, cast

from dsh_mnemon_core.sdk import truncate

from dsh_mnemon_source_documents._text import collapse, strip
from dsh_mnemon_source_documents.contracts import DocumentRecord

_OPENING: Final = "---\n"
_HEAD: Final = re.compile("\ufeff?---\r?\n")
_CLOSING: Final = re.compile(r"\r?\n---\r?\n")
_MANAGED: Final = frozenset(
    (
        "id", "title", "description", "status", "created_at", "updated_at", "content_hash",
        "source_paths", "session_ids", "memory_body_ids",
    )
)  # fmt: skip
_KEY: Final = re.compile(r"""["']?(\w+)["']?\s*:""")
_MEMBER: Final = re.compile(r"(\w+):(.*)")
_MEMBER_OF_LIST: Final = re.compile(r"[ \t]*-[ \t](.*)")
_ITEM: Final = re.compile(r"-(?:\s|\Z)")

_SLUG_CHARACTERS: Final = 48
_EXCERPT_CHARACTERS: Final = 220
_MARKUP: Final = re.compile(r"[#>*_\[\]`]")


def slug(title: str) -> str:
    """Return the readable part of a file name: ASCII letters, digits and dashes, never empty."""
    plain = unicodedata.normalize("NFKD", title).lower()
    dashed = re.sub("[^a-z0-9]+", "-", plain)
    return dashed.removeprefix("-").removesuffix("-")[:_SLUG_CHARACTERS] or "document"


def filename(title: str, document_id: str) -> str:
    """Return the name of a new document's file."""
    return f"{slug(title)}-{document_id[:8]}.md"


def plain(body: str) -> str:
    """Return a body, or a part of one, as one line without markup."""
    return collapse(_MARKUP.sub("", body))


def excerpt(body: str) -> str:
    """Return the beginning of a body without markup, at most 220 characters."""
    # Markup vanishes and white space shrinks; mostly somewhat more than that is enough to look at.
    line = plain(body[: 8 * _EXCERPT_CHARACTERS])
    if len(line) <= _EXCERPT_CHARACTERS:
        line = plain(body)
    return truncate(line, _EXCERPT_CHARACTERS)


def split(text: str) -> tuple[str, str]:
    """Return front matter, without its fences and with LF, and stripped body of a file.

    Editors may have put CR before LF, and a byte order mark at the beginning; the body keeps its
    line ends. To the letter of §3.5 such a file would be all body: its front matter would be shown
    as text, and the next write would put a second one before it.
    """
    head = _HEAD.match(text)
    end = _CLOSING.search(text, head.end()) if head else None
    if head is None or end is None:
        return "", strip(text)
    front = text[head.end() : end.start()].replace("\r\n", "\n")
    return f"{front}\n", strip(text[end.end() :])


def fields(front: str) -> dict[str, str | list[str]]:
    """Return the managed keys of a front matter that have the form in which they are written."""
    found: dict[str, str | list[str]] = {}
    items: list[str] = []
    for line in front.split("\n"):
        if member := _MEMBER.fullmatch(line):
            items = []
            value = _unquoted(member[2]) if member[2].strip() else items
            if member[1] in _MANAGED and value is not None:
                found.setdefault(member[1], value)
        elif (item := _MEMBER_OF_LIST.fullmatch(line)) and (text := _unquoted(item[1])) is not None:
            items.append(text)
    return found


def given_twice(front: str) -> str | None:
    """Return a managed key that stands twice in a front matter: the next write would drop one."""
    found = [key[1] for line in front.split("\n") if (key := _KEY.match(line))]
    return next((key for key in found if key in _MANAGED and found.count(key) > 1), None)


def _unquoted(scalar: str) -> str | None:
    text = scalar.strip()
    if not text.startswith('"'):
        return None
    try:
        return cast("str", json.loads(text))
    except ValueError:
        return None


def carried(front: str) -> str:
    """Return the lines of a front matter that are not managed here; each ends with LF.

    A line at the margin begins a part, and what is indented belongs to it. Comments stay even
    where they stand among managed keys.
    """
    kept: list[str] = []
    waiting: list[str] = []
    managed = True
    for line in front.split("\n"):
        content = line.strip()
        if not content or content.startswith("#"):
            waiting.append(line)
            continue
        if not line[0].isspace() and not _ITEM.match(line):
            key = _KEY.match(line)
            managed = key is not None and key[1] in _MANAGED
        # Blank lines count inside a foreign part only, such as a text of several paragraphs.
        kept += _comments(waiting) if managed else [*waiting, line]
        waiting = []
    kept += _comments(waiting)
    return "".join(f"{line}\n" for line in kept)


def _comments(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line.strip()]


def render(record: DocumentRecord, body: str, extra: str = "") -> bytes:
    """Return the bytes of a document's file.

    Args:
        record: What the front matter says; its size is not looked at.
        body: The body; stripped here.
        extra: Further lines of front matter, as `carried` returns them.
    """
    lines = [
        _scalar("id", record.id),
        _scalar("title", record.title),
        _scalar("description", record.description),
        _scalar("status", record.status),
        _scalar("created_at", record.created_at),
        _scalar("updated_at", record.updated_at),
        _scalar("content_hash", record.content_hash),
        _sequence("source_paths", record.source_paths),
        _sequence("session_ids", record.session_ids),
        _sequence("memory_body_ids", record.memory_body_ids),
    ]
    return f"{_OPENING}{''.join(lines)}{extra}---\n\n{strip(body)}\n".encode()


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _scalar(key: str, text: str) -> str:
    return f"{key}: {_quoted(text)}\n"


def _sequence(key: str, items: Sequence[str]) -> str:
    listed = "".join(f"  - {_quoted(item)}\n" for item in items) or "  []\n"
    return f"{key}:\n{listed}"

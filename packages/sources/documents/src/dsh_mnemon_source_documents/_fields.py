"""Fields of a document in the form in which they are stored (spec/sources.md §3.5; pure)."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Sequence
from typing import Final

from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import InputError

from dsh_mnemon_source_documents._text import collapse, strip
from dsh_mnemon_source_documents.contracts import (
    FOLDER,
    MAX_BODY_BYTES,
    MAX_MEMORY_BODIES,
    MAX_SESSIONS,
    MAX_SOURCE_PATHS,
)

MAX_TITLE: Final = 160
MAX_DESCRIPTION: Final = 600
MAX_SUMMARY: Final = 1000


def title(value: str | None) -> str:
    """Return a collapsed title of 1 to 160 characters.

    Raises:
        InputError: ``text-required``, ``text-too-long`` or ``text-not-unicode``.
    """
    return _line(value, "title", MAX_TITLE)


def summary(value: str | None) -> str:
    """Return a collapsed archive summary of 1 to 1 000 characters; raises like `title`."""
    return _line(value, "summary", MAX_SUMMARY)


def description(value: str | None) -> str:
    """Return a collapsed description of at most 600 characters; raises like `title`."""
    return _line(value, "description", MAX_DESCRIPTION, optional=True)


def _line(value: str | None, field: str, maximum: int, *, optional: bool = False) -> str:
    text = collapse(well_formed(value or "", field))
    if not text and not optional:
        raise InputError("text-required", f"{field} is required", details={"field": field})
    if len(text) > maximum:
        raise InputError(
            "text-too-long",
            f"{field} is too long (max {maximum} characters)",
            details={"field": field, "characters": len(text), "limit": maximum},
        )
    return text


def body(value: str | None) -> str:
    """Return a body without NUL and outer white space, of 1 to 2 097 152 bytes.

    Raises:
        InputError: ``text-required``, ``text-not-unicode`` or ``document-too-large``.
    """
    text = strip((value or "").replace("\0", ""))
    if not text:
        raise InputError("text-required", "content is required", details={"field": "content"})
    size = len(well_formed(text, "content").encode("utf-8"))
    if size > MAX_BODY_BYTES:
        raise InputError(
            "document-too-large",
            f"a document holds at most {MAX_BODY_BYTES} bytes, this one has {size}",
            details={"bytes": size, "limit": MAX_BODY_BYTES},
        )
    return text


def source_paths(values: Sequence[str], workspace: str, root: str) -> tuple[str, ...]:
    """Return paths relative to the workspace, distinct, the first fifty; nothing is looked up.

    Args:
        values: Paths, absolute or relative to the workspace.
        workspace: The workspace, absolute.
        root: Directory whose managed folder may not be named.

    Raises:
        InputError: ``source-path-outside-workspace``, ``source-path-managed`` or
            ``text-not-unicode``.
    """
    managed = os.path.join(os.path.abspath(root), FOLDER)
    found: dict[str, None] = {}
    for value in values:
        path = os.path.abspath(os.path.join(workspace, well_formed(value, "source path")))
        if "\0" in value or not _inside(path, os.path.abspath(workspace)):
            raise InputError(
                "source-path-outside-workspace",
                f"the source path {value!r} leaves the workspace",
                details={"path": value},
            )
        if _inside(path, managed):
            raise InputError(
                "source-path-managed",
                f"the source path {value!r} is a managed document",
                details={"path": value},
            )
        relative = os.path.relpath(path, os.path.abspath(workspace))
        found[relative.replace(os.sep, "/")] = None
    return tuple(found)[:MAX_SOURCE_PATHS]


def _inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def sessions(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return session ids stripped and distinct, in order, the first twenty."""
    return _distinct(groups, MAX_SESSIONS)


def memory_bodies(values: Iterable[str]) -> tuple[str, ...]:
    """Return ids of Memory Spaces, distinct, in order, the first twenty."""
    return _distinct((values,), MAX_MEMORY_BODIES)


def _distinct(groups: Iterable[Iterable[str]], maximum: int) -> tuple[str, ...]:
    stripped = (strip(well_formed(item, "id")) for group in groups for item in group)
    return tuple(dict.fromkeys(item for item in stripped if item))[:maximum]

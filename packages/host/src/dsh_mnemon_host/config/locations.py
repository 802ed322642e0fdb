"""Locations a person writes: absolute paths, ``~`` and ``~/…`` (host.md §2.2, §3.1)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

__all__ = ("Location", "absolute", "expand")


def _read(value: str) -> str:
    home = value == "~" or value.startswith(("~/", f"~{os.sep}"))
    if "\0" in value or not (home or os.path.isabs(value)):
        raise PydanticCustomError("setting-format", "is not a usable location")
    return value


Location: TypeAlias = Annotated[
    str, AfterValidator(_read), Field(json_schema_extra={"format": "location"})
]
"""An absolute path, ``~`` or ``~/…``, kept as written; `expand` resolves it."""


def absolute(path: str, cwd: str | None = None) -> Path:
    """Return a path made absolute and normalized by its text alone; no link is followed.

    Args:
        path: The path; a relative one starts at ``cwd``.
        cwd: Absolute directory; the process's own when absent, read only when needed.
    """
    if not os.path.isabs(path):
        path = os.path.join(cwd or os.getcwd(), path)
    normal = os.path.normpath(path)
    # POSIX lets exactly two leading slashes mean something of their own; for us they are one.
    return Path(normal[1:] if normal.startswith("//") else normal)


def expand(location: str, home: str, cwd: str | None = None) -> Path:
    """Return a location as an absolute path: ``~`` and ``~/x`` start at ``home``.

    Args:
        location: What a person wrote.
        home: Absolute home directory.
        cwd: Where a relative location (only an environment variable can hold one) starts.
    """
    if location == "~":
        return absolute(home)
    if location.startswith(("~/", f"~{os.sep}")):
        return absolute(os.path.join(home, location[2:].lstrip("/")))
    return absolute(location, cwd)

r"""Keeping the folders of this machine out of what a model is shown (spec/sources.md §4.6, D18).

A fault names the file it is about. A person needs the whole path, a model only which file it is.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from typing import Final
from urllib.parse import unquote

from dsh_mnemon_core.errors import MnemonError

__all__ = ("short_errors", "short_paths")

_KEPT: Final = 2

_SEPARATOR: Final = r"[\\/]+"

# A folder may hold spaces, but neither begins nor ends with one, and no sentence ends in it.
_FOLDER: Final = r"(?!\s)(?:(?![:;,]\s)[^\\/\"\r\n])+(?<![\s:])"

_PATH: Final = (
    r"\b(?P<url>(?!file:)[a-z][a-z0-9+.-]*://(?=[^/\s])[^\s?#=\"]*)"
    r"|(?:"
    r"\b(?P<uri>(?:file:(?://localhost(?=/))?|[a-z][a-z0-9+.-]+:(?=///))/+(?:[a-z]:[\\/]+)?)"
    r"|(?<![a-z0-9])[a-z]:[\\/]+"  # a drive
    r"|(?<![\\\w])\\\\+(?:[?.]\\+(?:[a-z]:\\+)?)?"  # a share, or the long form of a drive
    r"|(?<![a-z0-9_.~/\\)\]}>%*<])/+"  # the root
    r")"
    rf"(?P<rest>(?:{_FOLDER}{_SEPARATOR})*[^\s\\/]*)"
)


@cache  # and so compiled at the first fault
def _path() -> re.Pattern[str]:
    return re.compile(_PATH, re.IGNORECASE)


def short_paths(text: str) -> str:
    """Return a line in which each absolute path is only its last two parts, such as ``a/b.db``.

    Paths of POSIX and Windows, with spaces in them or not, and ``file:`` URIs; other URLs, relative
    paths and paths below ``~`` stay.
    """
    return _path().sub(_short, text)


@contextmanager
def short_errors() -> Generator[None]:
    """Word errors that a model is told in this way; ``details`` keep the whole path."""
    try:
        yield
    except MnemonError as error:
        error.message = short_paths(error.message)
        error.args = (error.message,)
        raise


def _short(match: re.Match[str]) -> str:
    if match["url"] is not None:
        return match[0]
    rest = unquote(match["rest"]) if match["uri"] is not None else match["rest"]
    parts = [part for part in re.split(_SEPARATOR, rest) if part]
    before = match.string[max(0, match.start() - 1) : match.start()]
    # A slash between words of a script without spaces is no root.
    if not parts or (before.isalpha() and not parts[0].isascii()):
        return match[0]
    return "/".join(parts[-_KEPT:])

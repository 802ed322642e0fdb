"""Rules of one entry: normal form, branch names, matching, bytes (spec/sources.md §2.4; pure)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

from dsh_mnemon_core.errors import ConflictError, InputError

from dsh_mnemon_source_runtime.contracts import MAX_ENTRY_BYTES, SEPARATOR, Entry, Target

# The white space of ECMAScript, so that both implementations store the same text: Python's \s
# lacks U+FEFF and adds U+0085 and U+001C to U+001F.
_WHITE: Final = re.compile(
    "[\t\n\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+"
)
_BRANCH: Final = re.compile(r"[A-Za-z0-9._/-]{1,128}")
_MAX_BRANCHES: Final = 16


def collapse(text: str) -> str:
    """Strip both ends and replace every run of white space by one blank."""
    return _WHITE.sub(" ", text).strip(" ")


def is_unicode(text: str) -> bool:
    """Tell whether a text has no lone surrogates."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def normalize(text: str | None, field: str) -> str:
    """Return the stored form of a content or old text.

    Args:
        text: The text as given; absent counts as empty.
        field: What it is called, for the message.

    Raises:
        InputError: ``text-required``, ``text-not-unicode``, ``entry-delimiter-reserved`` or
            ``entry-too-large``.
    """
    content = collapse(text or "")
    if not content:
        raise InputError("text-required", f"{field} is required", details={"field": field})
    if not is_unicode(content):
        raise InputError("text-not-unicode", f"{field} holds a lone surrogate")
    if "§" in content:
        raise InputError("entry-delimiter-reserved", f"{field} may not contain §: it ends entries")
    size = len(content.encode("utf-8"))
    if size > MAX_ENTRY_BYTES:
        raise InputError(
            "entry-too-large",
            f"{field} has {size} bytes, one entry holds at most {MAX_ENTRY_BYTES}",
            details={"bytes": size, "limit": MAX_ENTRY_BYTES},
        )
    return content


def is_branch_list(value: object) -> bool:
    """Tell whether a stored value is a list of names; looser than `read_branches`."""
    return isinstance(value, list) and all(
        isinstance(name, str) and _BRANCH.fullmatch(name)
        for name in value  # pyright: ignore[reportUnknownVariableType]
    )


def _is_branch(name: str) -> bool:
    return (
        _BRANCH.fullmatch(name) is not None
        and not name.startswith(("/", "-"))
        and not name.endswith(("/", "."))
        and not any(part in name for part in ("..", "//"))
    )


def read_branches(value: Sequence[Any]) -> tuple[str, ...]:
    """Read a given list of branch names; an empty list is legal.

    Raises:
        InputError: ``branches-invalid``, ``branches-duplicated`` or ``branches-too-many``.
    """
    if len(value) > _MAX_BRANCHES:
        raise InputError("branches-too-many", f"branches holds at most {_MAX_BRANCHES} names")
    names: list[str] = []
    for item in value:
        name = collapse(item) if isinstance(item, str) else ""
        if not _is_branch(name):
            raise InputError(
                "branches-invalid",
                "branches must list git branch names of 1 to 128 letters, digits and ._/-",
            )
        if name in names:
            raise InputError("branches-duplicated", f"branches names {name} twice")
        names.append(name)
    return tuple(names)


def match(entries: Sequence[Entry], target: Target, old_text: str) -> int:
    """Find the one entry of a target that a normalized text means.

    A full match wins over a partial one; equal duplicates stay ambiguous. Case counts.

    Returns:
        Its index in ``entries``.

    Raises:
        InputError: ``entry-not-found``.
        ConflictError: ``entry-ambiguous``.
    """
    found = [
        index
        for index, entry in enumerate(entries)
        if entry.target == target and old_text in entry.content
    ]
    exact = [index for index in found if entries[index].content == old_text]
    chosen = exact or found
    if not chosen:
        raise InputError("entry-not-found", f"no {target} entry contains {old_text!r}")
    if len(chosen) > 1:
        raise ConflictError(
            "entry-ambiguous",
            f"{len(chosen)} {target} entries contain {old_text!r}; quote more of the one you mean",
            details={"matches": len(chosen)},
        )
    return chosen[0]


def of_target(entries: Iterable[Entry], target: Target) -> tuple[Entry, ...]:
    """Return the entries of one target, in order."""
    return tuple(entry for entry in entries if entry.target == target)


def joined_bytes(contents: Sequence[str]) -> int:
    """Return the UTF-8 bytes of contents with a separator between each two."""
    return len(SEPARATOR.join(contents).encode("utf-8"))


def used_bytes(entries: Iterable[Entry], target: Target) -> int:
    """Return the bytes a target uses of its limit."""
    return joined_bytes([entry.content for entry in of_target(entries, target)])

"""Readers of untrusted values, one per shape (spec/core.md conventions and §18).

Every reader returns the normalized value or raises an `InputError`; pass ``kind`` to raise another
branch of the error tree with the same code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, cast

from dsh_mnemon_core.errors import InputError, MnemonError

__all__ = (
    "array",
    "distinct",
    "identifier",
    "integer",
    "optional_text",
    "record",
    "string_array",
    "text",
    "truncate",
    "well_formed",
)

Name = TypeVar("Name", bound=str)

_IDENTIFIER = re.compile(r"[a-z][a-z0-9-]{0,127}")


def well_formed(value: str, label: str, *, kind: type[MnemonError] = InputError) -> str:
    """Return a string unchanged if it is Unicode text.

    Raises:
        MnemonError: ``text-not-unicode`` for a lone surrogate (D52).
    """
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise kind("text-not-unicode", f"{label} holds a lone surrogate") from None
    return value


def text(value: object, label: str, maximum: int, *, kind: type[MnemonError] = InputError) -> str:
    """Read Text(n): a string that is 1..``maximum`` characters once trimmed.

    Returns:
        The trimmed text.

    Raises:
        MnemonError: ``text-not-string``, ``text-required``, ``text-too-long`` or
            ``text-not-unicode``.
    """
    if not isinstance(value, str):
        raise kind("text-not-string", f"{label} must be a string")
    trimmed = value.strip()
    if not trimmed:
        raise kind("text-required", f"{label} is required")
    if len(trimmed) > maximum:
        raise kind("text-too-long", f"{label} is too long (max {maximum} characters)")
    return well_formed(trimmed, label, kind=kind)


def optional_text(
    value: object, label: str, maximum: int, *, kind: type[MnemonError] = InputError
) -> str | None:
    """Read an optional Text(n): absent or blank gives ``None``."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    return text(value, label, maximum, kind=kind)


def identifier(value: object, label: str, *, kind: type[MnemonError] = InputError) -> str:
    """Read an Id: Text(128) of lower-case letters, digits and dashes, a letter first.

    Raises:
        MnemonError: As `text`, or ``id-format``.
    """
    name = text(value, label, 128, kind=kind)
    if not _IDENTIFIER.fullmatch(name):
        raise kind("id-format", f"{label} {name!r} must match ^[a-z][a-z0-9-]{{0,127}}$")
    return name


def integer(
    value: object,
    label: str,
    minimum: int,
    maximum: int,
    *,
    fallback: int | None = None,
    kind: type[MnemonError] = InputError,
) -> int:
    """Read Int(a..b), bounds included; booleans and fractions are refused, ``1.0`` is ``1``.

    Args:
        value: The value; ``None`` gives ``fallback`` when there is one.
        label: What it is, for the message.
        minimum: Smallest accepted value.
        maximum: Largest accepted value.
        fallback: Answer for an absent value.
        kind: Error class to raise.

    Raises:
        MnemonError: ``integer-range``.
    """
    if value is None and fallback is not None:
        return fallback
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise kind("integer-range", f"{label} must be an integer within {minimum}..{maximum}")
    return value


def record(
    value: object, label: str = "value", *, kind: type[MnemonError] = InputError
) -> Mapping[str, Any]:
    """Read a JSON object.

    Raises:
        MnemonError: ``not-an-object``.
    """
    if not isinstance(value, Mapping):
        raise kind("not-an-object", f"{label} must be an object")
    return cast("Mapping[str, Any]", value)


def array(value: object, label: str, *, kind: type[MnemonError] = InputError) -> tuple[Any, ...]:
    """Read a JSON array: a list or a tuple; its items are not judged.

    Raises:
        MnemonError: ``not-an-array``.
    """
    if not isinstance(value, (list, tuple)):
        raise kind("not-an-array", f"{label} must be an array")
    return tuple(cast("Sequence[Any]", value))


def string_array(
    value: object, label: str, maximum: int = 50, *, kind: type[MnemonError] = InputError
) -> tuple[str, ...]:
    """Read a list of at most ``maximum`` strings: trimmed, blanks removed, duplicates kept.

    Raises:
        MnemonError: ``string-array-invalid``.
    """
    if not isinstance(value, (list, tuple)) or len(cast("Sequence[object]", value)) > maximum:
        raise kind("string-array-invalid", f"{label} must be an array of at most {maximum} strings")
    items = cast("Sequence[object]", value)
    if not all(isinstance(item, str) for item in items):
        raise kind("string-array-invalid", f"{label} must be an array of strings")
    stripped = (cast("str", item).strip() for item in items)
    return tuple(item for item in stripped if item)


def distinct(
    values: Sequence[Name],
    label: str,
    *,
    kind: type[MnemonError] = InputError,
    code: str = "id-duplicated",
) -> tuple[Name, ...]:
    """Check that no value occurs twice.

    Raises:
        MnemonError: ``code``, naming the first repeated value.
    """
    seen: set[Name] = set()
    for value in values:
        if value in seen:
            raise kind(code, f"{label} names {value!r} twice")
        seen.add(value)
    return tuple(values)


def truncate(value: str, maximum: int) -> str:
    """Clip to ``maximum`` characters (code points): the first n-1 and ``…``; n ≤ 0 is empty."""
    if maximum <= 0:
        return ""
    return value if len(value) <= maximum else value[: maximum - 1] + "…"

"""Readers of untrusted values, one per shape (spec/core.md conventions and §18).

Every reader returns the normalized value or raises an `InputError`; pass ``kind`` to raise another
branch of the error tree with the same code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

import attrs

from dsh_mnemon_core.errors import InputError, MnemonError

__all__ = (
    "array",
    "at_most",
    "defaulted",
    "distinct",
    "identifier",
    "integer",
    "one_of",
    "optional_text",
    "record",
    "same",
    "string_array",
    "subset",
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


def identifier(
    value: object,
    label: str,
    *,
    maximum: int = 128,
    pattern: re.Pattern[str] = _IDENTIFIER,
    code: str = "id-format",
    kind: type[MnemonError] = InputError,
) -> str:
    """Read an Id: Text(128) of lower-case letters, digits and dashes, a letter first.

    Names of another form say how long they may be and which ``pattern`` they follow.

    Raises:
        MnemonError: As `text`, or ``code``.
    """
    name = text(value, label, maximum, kind=kind)
    if not pattern.fullmatch(name):
        raise kind(code, f"{label} {name!r} must match ^{pattern.pattern}$")
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


def defaulted(
    read: Callable[..., Any], *limits: object, default: object = None, **options: object
) -> Any:
    """Return an attrs field that need not be given, read by ``read(value, *limits, **options)``."""

    def convert(value: object) -> Any:
        return read(value, *limits, **options)

    return attrs.field(default=default, converter=convert)


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
    items = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else None
    if items is None or len(items) > maximum or not all(isinstance(item, str) for item in items):
        raise kind("string-array-invalid", f"{label} must be an array of at most {maximum} strings")
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


def one_of(
    value: object,
    known: Sequence[Name],
    label: str,
    code: str,
    *,
    kind: type[MnemonError] = InputError,
) -> Name:
    """Read one name of a closed set.

    Raises:
        MnemonError: ``code``, naming all there are.
    """
    for name in known:
        if name == value:
            return name
    raise kind(code, f"{label} must be one of {', '.join(known) or 'none'}, not {value!r}")


def subset(
    values: Sequence[Name],
    known: Sequence[str],
    label: str,
    code: str,
    *,
    kind: type[MnemonError] = InputError,
) -> tuple[Name, ...]:
    """Check that values are distinct and all known.

    Raises:
        MnemonError: As `distinct` and `one_of`.
    """
    for value in distinct(values, label, kind=kind):
        one_of(value, known, label, code, kind=kind)
    return tuple(values)


def same(
    value: object, expected: object, label: str, code: str, *, kind: type[MnemonError] = InputError
) -> None:
    """Check that a value is the one it has to agree with.

    Raises:
        MnemonError: ``code``, naming both.
    """
    if value != expected:
        raise kind(code, f"{label} must be {expected!r}, not {value!r}")


def at_most(
    count: int, limit: int, what: str, code: str, *, kind: type[MnemonError] = InputError
) -> None:
    """Check that there is no more of something than allowed.

    Raises:
        MnemonError: ``code``, naming both numbers.
    """
    if count > limit:
        raise kind(code, f"{count} {what}, at most {limit} are allowed")


def truncate(value: str, maximum: int) -> str:
    """Clip to ``maximum`` characters (code points): the first n-1 and ``…``; n ≤ 0 is empty."""
    if maximum <= 0:
        return ""
    return value if len(value) <= maximum else value[: maximum - 1] + "…"

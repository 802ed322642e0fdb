"""JSON-safe values: check, freeze, canonical form and digest (spec/core.md §3).

Everything that crosses the plugin boundary is JSON: ``None``, booleans, finite numbers, well-formed
Unicode strings, lists and plain mappings with string keys, nested at most 48 deep.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from numbers import Number
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, cast

import rfc8785

from dsh_mnemon_core.checks import well_formed
from dsh_mnemon_core.errors import InputError

__all__ = (
    "FrozenDict",
    "JsonObject",
    "assert_json",
    "canonical",
    "configuration_digest",
    "digest",
    "json_clone",
    "json_equal",
    "thaw",
)

JsonObject: TypeAlias = Mapping[str, Any]
"""A JSON-safe mapping."""

MAX_DEPTH = 48
"""Deepest nesting of a node; the outermost value is depth 0."""

_MAX_INTEGER = 2**53 - 1
"""Largest integer that RFC 8785 numbers carry exactly."""

_NO_OBJECTS = (bytes, bytearray, set, frozenset, date, time, timedelta, Number)
"""Values that JSON has no form for, though they are no objects either."""


class FrozenDict(dict[str, Any]):
    """A JSON object that nobody can change; equal to a ``dict`` of the same content."""

    __slots__ = ()

    def _refuse(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError("this JSON object is frozen; use thaw() to get a copy to change")

    if not TYPE_CHECKING:  # pragma: no branch - the type checker keeps dict's own signatures
        __setitem__ = __delitem__ = __ior__ = _refuse
        clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        """Hash by content, so that values holding frozen JSON stay hashable."""
        return hash(frozenset(self.items()))

    def __copy__(self, _memo: object = None) -> FrozenDict:
        """Return itself: a frozen value needs no copy."""
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, Any]]]:
        """Pickle through a plain dict, because item assignment is refused."""
        return (FrozenDict, (dict(self),))


def _walk(value: object, label: str, depth: int, ancestors: tuple[int, ...]) -> Any:
    """Check one node and return its frozen copy."""
    if depth > MAX_DEPTH:
        raise InputError("json-too-deep", f"{label} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, str):
        return well_formed(value, label)
    if isinstance(value, float) and not math.isfinite(value):
        raise InputError("json-non-finite", f"{label} must be a finite number")
    if isinstance(value, int) and abs(value) > _MAX_INTEGER:
        raise InputError("json-non-json-value", f"{label} is an integer beyond 2^53-1")
    if value is None or isinstance(value, (int, float)):
        return value
    if id(value) in ancestors:
        raise InputError("json-cycle", f"{label} contains itself")
    inside = (label, depth + 1, (*ancestors, id(value)))
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return FrozenDict((_key(key, label), _walk(item, *inside)) for key, item in items)
    if isinstance(value, (list, tuple)):
        return tuple(_walk(item, *inside) for item in cast("list[object]", value))
    if isinstance(value, _NO_OBJECTS) or callable(value):
        raise InputError("json-non-json-value", f"{label} is not a JSON value")
    name = type(value).__name__
    raise InputError("json-non-json-object", f"{label} is a {name}, not a JSON value")


def _key(key: object, label: str) -> str:
    if not isinstance(key, str):
        raise InputError("json-non-json-object", f"{label} has a key that is no string")
    return well_formed(key, label)


def assert_json(value: object, label: str = "value") -> None:
    """Check that a value is JSON-safe.

    Args:
        value: Any Python value; tuples count as lists, any ``Mapping`` as an object.
        label: What the value is, for the message.

    Raises:
        InputError: ``json-non-finite``, ``json-non-json-value``, ``json-non-json-object``,
            ``json-cycle``, ``json-too-deep`` or ``text-not-unicode``.

    Source: spec/core.md §3.
    """
    _walk(value, label, 0, ())


def json_clone(value: object, label: str = "value") -> Any:
    """Check, copy and deeply freeze a value: objects to ``FrozenDict``, lists to tuples.

    Raises:
        InputError: As `assert_json`.
    """
    return _walk(value, label, 0, ())


def thaw(value: Any) -> Any:
    """Return a deep plain copy: dicts and lists that the caller may change."""
    if isinstance(value, Mapping):
        return {key: thaw(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [thaw(item) for item in cast("list[Any]", value)]
    return value


def canonical(value: object) -> str:
    """Return the RFC 8785 text of a JSON-safe value: keys by UTF-16 units, no white space.

    Raises:
        InputError: ``json-non-json-value``, when the value is not JSON-safe.
    """
    try:
        return rfc8785.dumps(cast("Any", value)).decode("utf-8")
    except ValueError as error:  # rfc8785's own, or a key that is not Unicode text
        raise InputError("json-non-json-value", f"value has no canonical form: {error}") from None


def digest(value: object) -> str:
    """Return the lower-case hex SHA-256 of a value's canonical text."""
    return hashlib.sha256(canonical(value).encode("utf-8")).hexdigest()


def configuration_digest(value: object) -> str:
    """Return ``config:`` + digest, so that diagnostics never show raw configuration."""
    return f"config:{digest(value)}"


def json_equal(left: object, right: object) -> bool:
    """Compare JSON values as JSON does: ``1`` equals ``1.0`` but not ``True``."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        a, b = cast("Mapping[str, Any]", left), cast("Mapping[str, Any]", right)
        return a.keys() == b.keys() and all(json_equal(a[key], b[key]) for key in a)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        x, y = cast("list[Any]", left), cast("list[Any]", right)
        return len(x) == len(y) and all(json_equal(p, q) for p, q in zip(x, y, strict=True))
    return left == right

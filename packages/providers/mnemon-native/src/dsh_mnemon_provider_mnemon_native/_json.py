"""JSON of others, whose shape is not known. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

__all__ = ("list_of", "object_of")


def object_of(value: Any) -> Mapping[str, Any]:
    """Return an object as it is, anything else as an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def list_of(value: Any) -> Sequence[Any]:
    """Return a list as it is, anything else as an empty one."""
    return cast("Sequence[Any]", value) if isinstance(value, (list, tuple)) else ()

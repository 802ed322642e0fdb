"""Changes to a settings document as values, and what they come to (host.md §2.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import attrs
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import json_clone, thaw
from pydantic import BaseModel

from dsh_mnemon_host.config import known_keys

__all__ = (
    "MISSING",
    "Operation",
    "OperationLike",
    "Place",
    "apply",
    "keep_unknown",
    "read_operations",
    "value_at",
)

Place: TypeAlias = tuple[str, ...]
"""Keys from the root of a document, or of a namespace, down to one value."""


class _Missing:
    """The type of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""What is found where there is nothing, and what an unset leaves behind."""


@attrs.frozen
class Operation:
    """One change: put ``value`` at ``path``, or remove what is there when it is `MISSING`."""

    path: Place
    value: Any = MISSING


OperationLike: TypeAlias = Operation | Mapping[str, Any]
"""An operation, or its JSON: ``{op: "set", path, value}`` or ``{op: "unset", path}``."""


def _refusal(message: str) -> InputError:
    return InputError("settings-operation-invalid", message)


def _path(value: object) -> Place:
    if isinstance(value, str):
        value = value.split(".")
    parts = cast("Sequence[object]", value) if isinstance(value, (list, tuple)) else ()
    if not parts or not all(isinstance(part, str) and part for part in parts):
        raise _refusal("path must be a list of keys, or keys joined by dots")
    return tuple(cast("Sequence[str]", parts))


def _operation(item: OperationLike) -> Operation:
    if isinstance(item, Operation):
        return item
    match item:
        case {"op": "set", "path": path, "value": value, **rest} if not rest:
            return Operation(_path(path), json_clone(value, "value"))
        case {"op": "unset", "path": path, **rest} if not rest:
            return Operation(_path(path))
        case _:
            raise _refusal("an operation is {op: set, path, value} or {op: unset, path}")


def read_operations(items: Sequence[OperationLike]) -> tuple[Operation, ...]:
    """Read the operations of one edit.

    Args:
        items: Operations; a path is a list of keys or keys joined by dots.

    Raises:
        InputError: ``settings-operation-invalid``, also for an empty edit, or a JSON code.
    """
    if not items:
        raise _refusal("an edit needs at least one operation")
    return tuple(_operation(item) for item in items)


def value_at(document: Any, path: Place) -> Any:
    """Return what a document holds at a place, or `MISSING`."""
    for key in path:
        if not isinstance(document, Mapping) or key not in document:
            return MISSING
        document = cast("Mapping[str, Any]", document)[key]
    return document


def _set(document: dict[str, Any], path: Place, value: Any) -> None:
    *parents, last = path
    holder = document
    for key in parents:
        child = holder.get(key)
        if child is not None and not isinstance(child, dict):
            raise _refusal(f"{key} is not a mapping, so nothing can be set inside it")
        # An empty section is written as null by many people.
        holder[key] = holder = cast("dict[str, Any]", child or {})
    holder[last] = thaw(value)


def _unset(document: dict[str, Any], path: Place) -> None:
    head, *rest = path
    child = document.get(head)
    if rest and isinstance(child, dict):
        _unset(cast("dict[str, Any]", child), tuple(rest))
    if not rest or child == {}:
        document.pop(head, None)


def apply(document: Mapping[str, Any], operations: Sequence[Operation]) -> dict[str, Any]:
    """Return a changed deep copy of a plain document.

    Setting creates missing sections; unsetting removes sections that became empty, and does
    nothing where there is nothing.

    Raises:
        InputError: ``settings-operation-invalid`` for a path through something that is no mapping.
    """
    changed: dict[str, Any] = thaw(document)
    for operation in operations:
        if operation.value is MISSING:
            _unset(changed, operation.path)
        else:
            _set(changed, operation.path, operation.value)
    return changed


def keep_unknown(model: type[BaseModel], path: Place, old: Any, new: Any) -> Any:
    """Return a new section with the keys of the old one that no setting has (D33).

    A page sends back a whole section as it knows it; what it does not know must not get lost.

    Args:
        model: Model of the namespace.
        path: Where in the namespace the section is.
        old: What the document holds there.
        new: What shall be there.
    """
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    stored, wanted = cast("Mapping[str, Any]", old), cast("Mapping[str, Any]", new)
    known = known_keys(model, path)
    unknown = {} if known is None else {k: v for k, v in stored.items() if k not in known}
    return unknown | {
        key: keep_unknown(model, (*path, key), stored.get(key), value)
        for key, value in wanted.items()
    }

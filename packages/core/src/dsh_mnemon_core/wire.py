"""One converter between attrs values and their JSON spelling (camelCase, absent never null).

Python attributes are the snake_case forms of the wire keys. An optional attribute is ``None`` when
unset and is then left out (spec/core.md §4); an ``extra`` mapping, where a class has one, holds
fields its contract does not name and stands beside the named ones on the wire.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override

from dsh_mnemon_core.checks import record
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.values import json_clone, thaw

__all__ = ("from_wire", "nearest", "to_wire", "wire_name")

T = TypeVar("T")


def wire_name(attribute: str) -> str:
    """Return the camelCase key of a snake_case attribute."""
    head, *tail = attribute.rstrip("_").split("_")
    return head + "".join(part.capitalize() for part in tail)


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the nearest known name, or an empty string."""
    match = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" (did you mean {match[0]!r}?)" if match else ""


@cache
def _keys(cls: type[Any]) -> tuple[tuple[str, str, bool, bool], ...]:
    """Return ``(attribute, wire key, required, optional)`` per field, ``extra`` left out."""
    return tuple(
        (
            field.name,
            wire_name(field.name),
            field.default is attrs.NOTHING,
            field.default is None,
        )
        for field in attrs.fields(cls)
        if field.init and field.name != "extra"
    )


def to_wire(value: Any) -> Any:
    """Return the plain JSON form of attrs values, mappings and sequences; a deep copy."""
    if attrs.has(value.__class__):
        return _object(value)
    if isinstance(value, Mapping):
        return {key: to_wire(item) for key, item in cast("Mapping[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        return [to_wire(item) for item in cast("list[Any]", value)]
    return value


def _object(value: Any) -> dict[str, Any]:
    wire: dict[str, Any] = thaw(getattr(value, "extra", None) or {})
    for name, key, _, optional in _keys(value.__class__):
        item = getattr(value, name)
        wire.pop(key, None)  # a named key is never hidden behind an extra one
        if item is not None or not optional:
            wire[key] = to_wire(item)
    return wire


_converter = Converter(detailed_validation=False)


def _as_is(value: Any, _type: Any) -> Any:
    """Hand a leaf on unchanged: the class's own validators judge it."""
    return value


def _is_tuple(type_: Any) -> bool:
    return bool(get_origin(type_) is tuple)


def _leaf(type_: Any) -> bool:
    """Tell leaves: anything but attrs classes, tuples and optional forms of them."""
    if _is_tuple(type_) or attrs.has(get_origin(type_) or type_):
        return False
    if get_origin(type_) in (Union, UnionType):
        return all(_leaf(member) for member in get_args(type_))
    return True


def _structure_tuple(type_: Any) -> Callable[[Any, Any], Any]:
    item = get_args(type_)[0]

    def structure(value: Any, _type: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            return value
        return tuple(_converter.structure(entry, item) for entry in cast("list[Any]", value))

    return structure


def _structure_class(cls: Any) -> Callable[[Any, Any], Any]:
    keys = _keys(cls)
    known = {key for _, key, _, _ in keys}
    absent = {key: None for _, key, required, _ in keys if required}
    keeps_extra = "extra" in {field.name for field in attrs.fields(cls)}
    renames: dict[str, Any] = {name: override(rename=key) for name, key, _, _ in keys}
    base = make_dict_structure_fn(cls, _converter, **renames)

    def structure(value: Any, _type: Any) -> Any:
        mapping = record(value, cls.__name__)
        unknown = {key: item for key, item in mapping.items() if key not in known}
        if unknown and not keeps_extra:
            key = min(unknown)
            raise InputError(
                "key-unknown", f"{cls.__name__} has no key {key!r}{nearest(key, sorted(known))}"
            )
        # A required key that is missing becomes None, so that its own validator names it.
        filled = {**absent, **{key: mapping[key] for key in mapping if key in known}}
        if keeps_extra:
            filled["extra"] = json_clone(unknown)
        return base(filled, cls)

    return structure


_converter.register_structure_hook_func(_leaf, _as_is)
for _primitive in (str, int, float, bool):
    # cattrs finds its own hooks for these first, and they coerce: None would become "None".
    _converter.register_structure_hook(_primitive, _as_is)
_converter.register_structure_hook_factory(_is_tuple, _structure_tuple)
_converter.register_structure_hook_factory(lambda t: attrs.has(t), _structure_class)


def from_wire(cls: type[T], value: object) -> T:
    """Build an attrs value from its JSON form.

    Args:
        cls: The attrs class; its validators judge every leaf, nothing is coerced.
        value: A mapping with camelCase keys.

    Raises:
        InputError: ``not-an-object`` or ``key-unknown`` (naming the nearest key), and whatever the
            validators of ``cls`` raise.
    """
    return _converter.structure(value, cls)

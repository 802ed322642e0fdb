"""The shape of a configuration model: known keys, and what each accepts, in words.

Read from the model's own JSON Schema, so that a range is written once: at its field.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, cast

from pydantic import BaseModel

__all__ = (
    "Path",
    "accepted",
    "choices",
    "closest",
    "dotted",
    "known_keys",
    "known_paths",
    "nearest_key",
)

Path = tuple[str | int, ...]
"""Keys and list positions from the root of a document."""

_Node = Mapping[str, Any]

_FORMATS: Final = {
    "location": "an absolute path, ~ or ~/…, without NUL",
    "service-url": "an http or https address of at most 2048 characters, without user, ? and #",
}


def dotted(path: Path) -> str:
    """Return a path as people write it: ``customPacks.0.id``."""
    return ".".join(str(part) for part in path)


@cache
def _schema(model: type[BaseModel]) -> _Node:
    return model.model_json_schema(by_alias=True)


def _resolved(node: _Node, root: _Node) -> _Node:
    """Follow a reference, and choose the branch of an optional value that is not null."""
    branches = cast("Sequence[_Node]", node.get("anyOf", ()))
    if branches:
        return _resolved(next(b for b in branches if b.get("type") != "null"), root)
    reference = node.get("$ref")
    if isinstance(reference, str):
        return cast("_Node", root["$defs"][reference.removeprefix("#/$defs/")])
    return node


def _child(node: _Node, part: str | int) -> _Node | None:
    if isinstance(part, int):
        return cast("_Node | None", node.get("items"))
    named = cast("Mapping[str, _Node]", node.get("properties", {}))
    if part in named:
        return named[part]
    patterns = cast("Mapping[str, _Node]", node.get("patternProperties", {}))
    rest = node.get("additionalProperties")
    free = cast("_Node", rest) if isinstance(rest, Mapping) else None
    return next(iter(patterns.values()), free)


def _at(model: type[BaseModel], path: Path) -> _Node | None:
    root = node = _schema(model)
    for part in path:
        child = _child(node, part)
        if child is None:
            return None
        node = _resolved(child, root)
    return node


def known_keys(model: type[BaseModel], path: Path = ()) -> tuple[str, ...] | None:
    """Return the keys a section knows, in their written order; ``None`` where any key goes."""
    node = _at(model, path)
    return tuple(node["properties"]) if node and "properties" in node else None


def _walk(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[str]:
    for key in known_keys(model, path) or ():
        yield dotted((*path, key))
        yield from _walk(model, (*path, key))


@cache
def known_paths(model: type[BaseModel]) -> tuple[str, ...]:
    """Return every dotted key with a fixed name, sections before their members."""
    return tuple(_walk(model, ()))


def _folded(name: str) -> str:
    return name.replace("_", "").replace("-", "").casefold()


def closest(name: str, names: Sequence[str], cutoff: float = 0.6) -> str | None:
    """Return the known name most like ``name``; case, ``_`` and ``-`` do not count.

    Args:
        name: What was written.
        names: What is known; of equally good ones the first wins.
        cutoff: Least likeness, 0..1; 1 asks for the same name but for spelling.
    """
    folded = {_folded(item): item for item in reversed(names)}
    match = difflib.get_close_matches(_folded(name), folded, n=1, cutoff=cutoff)
    return folded[match[0]] if match else None


def nearest_key(model: type[BaseModel], path: Path) -> str | None:
    """Return the dotted known key an unknown one was probably meant to be.

    The same name wins over a similar one, and the same section over another.
    """
    *parent, last = path
    here = {key: dotted((*parent, key)) for key in known_keys(model, tuple(parent)) or ()}
    anywhere = {item.rpartition(".")[2]: item for item in reversed(known_paths(model))}
    for cutoff in (1.0, 0.6):
        for keys in (here, anywhere):
            near = closest(str(last), tuple(keys), cutoff)
            if near:
                return keys[near]
    return None


def _range(node: _Node, noun: str) -> str:
    return f"{noun} within {node['minimum']}..{node['maximum']}"


def _text(node: _Node) -> str:
    if node.get("format") in _FORMATS:
        return _FORMATS[node["format"]]
    if "pattern" in node:
        return f"text matching {node['pattern']}"
    low, high = node.get("minLength", 0), node.get("maxLength")
    return f"text of {low}..{high} characters" if high else "text"


def choices(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """Return the words a key offers; empty where it takes anything but one of a few words."""
    node = _at(model, path)
    return tuple(node.get("enum", ())) if node else ()


def accepted(model: type[BaseModel], path: Path) -> str | None:
    """Return in words what a key accepts; ``None`` for a key the model does not know."""
    node = _at(model, path)
    if node is None:
        return None
    if "enum" in node:
        return "one of " + ", ".join(node["enum"])
    match node.get("type"):
        case "integer":
            return _range(node, "an integer")
        case "number":
            return _range(node, "a number")
        case "boolean":
            return "true or false"
        case "string":
            return _text(node)
        case "array":
            return "a list" + (f" of at most {node['maxItems']}" if "maxItems" in node else "")
        case _:
            most = f" of at most {node['maxProperties']} keys" if "maxProperties" in node else ""
            return f"a mapping{most}"

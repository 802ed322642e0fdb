"""Changing one place of a YAML text and leaving every other line as it is.

A round trip through a YAML tree moves comments about: a key added to a section lands behind the
comment of the next section, a removed key takes the comment below it along. Here the tree only says
on which lines a key stands; the lines themselves are cut and pasted. What cannot be done that way
(flow style, anchors, several keys a line) answers ``None``, and the caller edits the tree.
"""

from __future__ import annotations

from typing import Any, Final

import attrs
from dsh_mnemon_core.values import json_equal

from dsh_mnemon_host.settings._yaml import dump, end_comment, is_block, key_positions, load, plain
from dsh_mnemon_host.settings.operations import MISSING, Operation, Place, apply, value_at

__all__ = ("change_lines",)

_OTHER_BREAKS: Final = frozenset("\r\x85\u2028\u2029")
"""What YAML counts as the end of a line besides LF."""


def _skipped(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


@attrs.frozen
class _Span:
    """The lines of one key and its value: ``first <= line < last``, the key at ``column``."""

    first: int
    last: int
    column: int


def _span(lines: list[str], tree: Any, key: str) -> _Span | None:
    first, column = key_positions(tree)[key]
    if lines[first][:column].strip():
        return None
    last = first + 1
    while last < len(lines):
        line = lines[last]
        item = _indent(line) == column and line[column:].split(" ")[0] == "-"
        if not (_skipped(line) or item or _indent(line) > column):
            break
        last += 1
    # Blank lines and comments in front of the next key belong to that key.
    while _skipped(line := lines[last - 1]) and (not line.strip() or _indent(line) <= column):
        last -= 1
    return _Span(first, last, column)


def _rendered(key: str, value: Any, column: int) -> list[str]:
    indent = " " * column
    lines = dump({key: value}).removesuffix("\n").split("\n")
    return [indent + line if line else line for line in lines]


def _end_comment(line: str, number: int, tree: Any, key: str) -> str:
    """Return the comment behind a one-line value, with the space in front of it."""
    place = end_comment(tree, key)
    if place is None or place[0] != number:
        return ""
    return line[len(line[: place[1]].rstrip()) :]


def _replaced(lines: list[str], tree: Any, key: str, value: Any) -> list[str] | None:
    span = _span(lines, tree, key)
    if span is None:
        return None
    new = _rendered(key, value, span.column)
    if len(new) == 1 == span.last - span.first:
        new[0] += _end_comment(lines[span.first], span.first, tree, key)
    return lines[: span.first] + new + lines[span.last :]


def _inserted(lines: list[str], tree: Any, key: str, value: Any) -> list[str] | None:
    places = key_positions(tree)
    span = _span(lines, tree, max(places, key=places.__getitem__))
    if span is None:
        return None
    return lines[: span.last] + _rendered(key, value, span.column) + lines[span.last :]


def _changed_section(text: str, path: Place, old: Any, new: dict[str, Any]) -> str | None:
    """Replace a section key by key; what is new is added before what is old goes."""
    steps = [
        (key, value) for key, value in new.items() if not json_equal(value, value_at(old, (key,)))
    ]
    steps += [(key, MISSING) for key in old if key not in new]
    result: str | None = text
    for key, value in steps:
        if result is not None:
            result = change_lines(result, Operation((*path, key), value))
    return result


def _descend(tree: Any, path: Place) -> tuple[Any, int]:
    """Return the deepest block section on the way to a key, and its depth."""
    depth = 0
    while depth < len(path) - 1 and is_block(tree.get(path[depth])):
        tree, depth = tree[path[depth]], depth + 1
    return tree, depth


def change_lines(text: str, operation: Operation) -> str | None:
    """Apply one operation to a YAML text by its lines.

    Args:
        text: The document, with LF line ends.
        operation: What to change; its path must not lead through anything but mappings.

    Returns:
        The new text, or ``None`` where lines do not suffice. The caller checks that it reads back
        as it should.
    """
    root, path = load(text), operation.path
    if root is None and operation.value is MISSING:
        return text
    if root is None:
        head = text if not text or text.endswith("\n") else text + "\n"
        return head + dump(apply({}, [operation]))
    if not is_block(root) or not _OTHER_BREAKS.isdisjoint(text):
        return None
    tree, depth = _descend(root, path)
    key, lines = path[depth], text.split("\n")
    if key in tree and key not in key_positions(tree):
        return None  # it comes from a merged anchor
    before = {key: plain(tree[key])} if key in tree else {}
    outcome = apply(before, [Operation(path[depth:], operation.value)])
    if key not in outcome:
        return _removed(text, tree, path[: depth + 1])
    if key not in tree:
        changed = _inserted(lines, tree, key, outcome[key])
    elif is_block(tree[key]) and isinstance(outcome[key], dict) and outcome[key]:
        return _changed_section(text, path, plain(tree[key]), outcome[key])
    else:
        changed = _replaced(lines, tree, key, outcome[key])
    return None if changed is None else "\n".join(changed)


def _removed(text: str, tree: Any, path: Place) -> str | None:
    key = path[-1]
    if key not in tree:
        return text
    if len(tree) == 1 and len(path) > 1:
        return change_lines(text, Operation(path[:-1]))  # an emptied section goes too
    lines = text.split("\n")
    span = _span(lines, tree, key)
    return None if span is None else "\n".join(lines[: span.first] + lines[span.last :])

"""YAML text to plain JSON and back, in one fixed style."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import date
from io import StringIO
from typing import Any, Final, cast

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, TaggedScalar
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

__all__ = (
    "TooLarge",
    "dump",
    "dump_tree",
    "end_comment",
    "fault",
    "is_block",
    "key_positions",
    "load",
    "plain",
)

_UNBROKEN: Final = 1 << 30
_BREAKS: Final = frozenset("\x85\u2028\u2029\ufeff")
_MAX_NODES: Final = 100_000


class TooLarge(ValueError):
    """Raised when aliases blow a document up."""


def _yaml() -> YAML:
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.width = _UNBROKEN
    return yaml


def load(text: str) -> Any:
    """Read YAML 1.2 into a tree that knows its comments and lines; ``None`` without content.

    Raises:
        YAMLError: The text is not one YAML document.
        ValueError: A scalar looks like a date and is none.
        RecursionError: Nested too deeply.
    """
    return cast("Any", _yaml()).load(text)


class _Plainer:
    """Copies a tree into plain JSON, counting nodes, as a few aliases can stand for millions."""

    def __init__(self) -> None:
        self._nodes = 0

    def copy(self, value: object) -> Any:
        self._nodes += 1
        if self._nodes > _MAX_NODES:
            raise TooLarge("the document unfolds to too many values")
        if isinstance(value, Mapping):
            items = cast("Mapping[object, object]", value).items()
            return {str(key): self.copy(item) for key, item in items}
        if isinstance(value, (list, Set)):
            return [self.copy(item) for item in cast("Iterable[object]", value)]
        return self._scalar(value)

    @staticmethod
    def _scalar(value: object) -> Any:
        if value is None or isinstance(value, bool):
            return value
        # Subclasses of ruamel remember how a number or text was written.
        for kind in (int, float, str):
            if isinstance(value, kind):
                return kind(value)
        if isinstance(value, TaggedScalar):
            return str(cast("Any", value).value)
        return value.isoformat() if isinstance(value, date) else str(value)


def is_block(tree: object) -> bool:
    """Tell whether a node is a mapping with keys, written one below the other."""
    node: Any = tree if isinstance(tree, CommentedMap) else None
    return bool(node) and node.fa.flow_style() is not True


def key_positions(tree: Any) -> dict[Any, tuple[int, int]]:
    """Return line and column, from 0, of every key that is written in this very mapping."""
    return {key: (place[0], place[1]) for key, place in tree.lc.data.items()}


def end_comment(tree: Any, key: str) -> tuple[int, int] | None:
    """Return line and column, from 0, of the comment behind or below a key's value."""
    tokens = tree.ca.items.get(key)
    token = tokens[2] if tokens else None
    return None if token is None else (token.start_mark.line, token.start_mark.column)


def fault(error: Any, text: str) -> tuple[str, int | None, int | None]:
    """Return what is wrong with a YAML text, and line and column, from 1, where known."""
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return str(error.problem), mark.line + 1, mark.column + 1
    position = getattr(error, "position", None)
    if position is None:
        return "it cannot be read as YAML", None, None
    before = text[:position]
    column = position - before.rfind("\n")
    return "a character that YAML does not allow", before.count("\n") + 1, column


def plain(tree: object) -> Any:
    """Copy a tree into plain JSON: dates and tagged scalars become text, keys become text.

    Raises:
        TooLarge: More than 100 000 values.
        RecursionError: The tree contains itself.
    """
    return _Plainer().copy(tree)


def _quoted(value: Any) -> Any:
    """Copy JSON, double-quoting texts whose line breaks plain YAML would fold away."""
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value).items()
        return {key: _quoted(item) for key, item in items}
    if isinstance(value, (list, tuple)):
        return [_quoted(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, str) and not _BREAKS.isdisjoint(value):
        return DoubleQuotedScalarString(value)
    return value


def _written(tree: object) -> str:
    stream = StringIO()
    cast("Any", _yaml()).dump(tree, stream)
    return stream.getvalue()


def dump(value: Any) -> str:
    """Write plain JSON in block style."""
    return _written(_quoted(value))


def dump_tree(tree: Any, changed: Mapping[str, Any], removed: set[str]) -> str:
    """Write a loaded tree with some top-level keys replaced by plain JSON and some removed."""
    for key in removed:
        tree.pop(key, None)
    for key, value in changed.items():
        tree[key] = _quoted(value)
    return _written(tree)

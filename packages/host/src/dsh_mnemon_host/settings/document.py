"""A settings document: YAML text, what it says, and how it is changed (host.md §2.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, cast

from dsh_mnemon_core.errors import ConfigurationError, InputError
from dsh_mnemon_core.values import FrozenDict, json_clone, json_equal
from ruamel.yaml.error import YAMLError

from dsh_mnemon_host.settings._lines import change_lines
from dsh_mnemon_host.settings._yaml import dump_tree, fault, load, plain
from dsh_mnemon_host.settings.operations import Operation, apply, value_at

__all__ = ("change", "parse")


def _malformed(file: str, problem: str, line: int | None, column: int | None) -> ConfigurationError:
    where = "" if line is None else f", line {line}, column {column}"
    details = {"file": file, "problem": problem, "line": line, "column": column}
    return ConfigurationError(
        "settings-malformed",
        f"{file}{where}: {problem}. The file was left as it is; correct it by hand.",
        details={key: value for key, value in details.items() if value is not None},
    )


def parse(text: str, file: str) -> FrozenDict:
    """Read a settings document.

    Args:
        text: YAML 1.2; nothing but comments is an empty document.
        file: Name of the file, for messages.

    Returns:
        The document as frozen JSON, unknown keys included.

    Raises:
        ConfigurationError: ``settings-malformed``; ``details`` hold ``file``, ``problem`` and,
            where known, ``line`` and ``column``, both counted from 1.
    """
    try:
        document = plain(load(text))
        if document is None or isinstance(document, dict):
            return FrozenDict(json_clone(cast("object", document or {}), file))
    except InputError as error:
        raise _malformed(file, error.message, None, None) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise _malformed(file, *fault(error, text)) from error
    raise _malformed(file, "a settings document is a mapping of settings", 1, 1)


def _by_lines(text: str, operations: Sequence[Operation]) -> str | None:
    result: str | None = text
    for operation in operations:
        result = None if result is None else change_lines(result, operation)
    return result


def _by_tree(text: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str | None:
    tree = load(text)
    if tree is None:
        return None
    changed = {
        key: value for key, value in new.items() if not json_equal(value, value_at(old, (key,)))
    }
    return dump_tree(tree, changed, set(old) - set(new))


def _reads_as(text: str, expected: Mapping[str, Any], file: str) -> bool:
    try:
        return json_equal(parse(text, file), expected)
    except ConfigurationError:
        return False


def change(text: str, operations: Sequence[Operation], file: str) -> str:
    """Return a document's text with operations applied; comments and other lines stay.

    The result is read back before it is returned, so a text that would say anything but what was
    asked for is never handed on.

    Args:
        text: The document, readable; CRLF line ends are kept.
        operations: Changes, in order.
        file: Name of the file, for messages.

    Raises:
        ConfigurationError: ``settings-malformed``; ``settings-uneditable`` for a document that
            cannot be changed by program (it merges anchors at its root, for instance).
        InputError: ``settings-operation-invalid``.
    """
    windows, lines = "\r\n" in text, text.replace("\r\n", "\n")
    old = parse(lines, file)
    new = apply(old, operations)
    for attempt in (partial(_by_lines, lines, operations), partial(_by_tree, lines, old, new)):
        result = attempt()
        if result is not None and _reads_as(result, new, file):
            return result.replace("\n", "\r\n") if windows else result
    raise ConfigurationError(
        "settings-uneditable",
        f"{file} uses YAML that cannot be changed here without loss; change it by hand.",
        details={"file": file},
    )

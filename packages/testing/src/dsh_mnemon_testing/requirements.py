"""Required behaviours by id: every one has a test, and every marked test one of them.

A package lists its behaviours in ``requirements.toml`` beside its ``pyproject.toml``::

    [[requirement]]
    id = "notes:add:duplicate"
    text = "A note that is there already is not added again."
    source = "README, Notes"

and its tests name them with ``@pytest.mark.requirement("notes:add:duplicate")``, on functions, on
classes or through ``pytestmark``.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import attrs

__all__ = (
    "Requirement",
    "check_requirements",
    "marked_requirements",
    "read_requirements",
    "requirement_problems",
)

_ID: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(:[a-z0-9]+(-[a-z0-9]+)*)+")
_KEYS: Final = ({"id", "text", "source"}, {"id", "text", "source", "deferred"})
_MARK: Final = "mark.requirement"


@attrs.frozen(kw_only=True)
class Requirement:
    """One required behaviour.

    Attributes:
        id: ``area:feature[:variant]``, lower case.
        text: One sentence saying what must hold.
        source: Where that is laid down.
        deferred: Why there is no test yet; a deferred behaviour must have none.
    """

    id: str
    text: str
    source: str
    deferred: str | None = None


def read_requirements(file: Path) -> tuple[Requirement, ...]:
    """Read ``requirements.toml``.

    Raises:
        ValueError: An entry lacks a key, has an unknown one or says nothing; an id is malformed or
            given twice.
    """
    document = tomllib.loads(file.read_text(encoding="utf-8"))
    entries = cast("list[Mapping[str, Any]]", document.get("requirement", []))
    requirements = tuple(_requirement(entry) for entry in entries)
    ids = [item.id for item in requirements]
    for name in ids:
        if ids.count(name) > 1:
            raise ValueError(f"{name} is listed twice")
    return requirements


def _requirement(entry: Mapping[str, Any]) -> Requirement:
    name = entry.get("id", "a requirement without an id")
    if set(entry) not in _KEYS:
        raise ValueError(f"{name} has the keys {', '.join(sorted(entry))}")
    if not all(isinstance(value, str) and value.strip() for value in entry.values()):
        raise ValueError(f"{name} leaves something blank")
    if not _ID.fullmatch(name):
        raise ValueError(f"{name!r} is not like area:feature or area:feature:variant")
    return Requirement(**entry)


def marked_requirements(tests: Path) -> dict[str, list[str]]:
    """Find the marks in a folder of tests without importing it.

    Args:
        tests: Folder; every ``test_*.py`` in it and below is read.

    Returns:
        For every id where it is marked, ``<file>:<line>``, in file and line order.

    Raises:
        ValueError: A mark has an argument that is not a literal text.
    """
    marked: dict[str, list[str]] = {}
    for path in sorted(tests.rglob("test_*.py")):
        for line, name in sorted(_marks(path)):
            where = f"{path.relative_to(tests).as_posix()}:{line}"
            marked.setdefault(name, []).append(where)
    return marked


def _marks(path: Path) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and _is_mark(node.func):
            for argument in node.args:
                match argument:
                    case ast.Constant(value=str(name)):
                        yield node.lineno, name
                    case _:
                        raise ValueError(f"{path.name}:{node.lineno} marks no literal text")


def _is_mark(called: ast.expr) -> bool:
    name = ast.unparse(called)
    return name == _MARK or name.endswith(f".{_MARK}")


def requirement_problems(
    requirements: Iterable[Requirement], marked: Mapping[str, Iterable[str]]
) -> Iterator[str]:
    """Compare what is required with what is marked, in both directions.

    Args:
        requirements: The listed behaviours.
        marked: Where each id is marked; see `marked_requirements`.
    """
    listed = {item.id: item for item in requirements}
    for item in listed.values():
        if item.deferred is None and item.id not in marked:
            yield f"{item.id} has no test"
        if item.deferred is not None and item.id in marked:
            yield f"{item.id} is deferred, but {', '.join(marked[item.id])} shows it"
    for name, places in marked.items():
        if name not in listed:
            yield f"{name}, marked at {', '.join(places)}, is not listed"


def check_requirements(package: Path) -> None:
    """Check ``requirements.toml`` of a package against the marks in its ``tests`` folder.

    Args:
        package: The folder that holds both; in a test ``Path(__file__).parents[1]``.

    Raises:
        AssertionError: The two disagree; the message lists every point.
        ValueError: The file or a mark is malformed.
    """
    required = read_requirements(package / "requirements.toml")
    problems = list(requirement_problems(required, marked_requirements(package / "tests")))
    if problems:
        raise AssertionError("\n".join(problems))

"""Whether ``__all__`` of every public module says exactly what the module defines.

Public is a module without a leading underscore in its name or in a folder above it. Its
``__all__`` is a tuple of strings (ruff keeps it sorted). It names every function and class of the
module that has no leading underscore, and nothing that is not there. Constants and type aliases
may be left out: some are shared by the modules of one package only.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tools.workspace import ROOT, read_members, report

__all__ = ("main", "module_problems", "problems", "public_modules")


def public_modules(source: Path) -> Iterator[Path]:
    """Yield the public modules of the import package in ``source``, sorted."""
    for path in sorted(source.rglob("*.py")):
        names = path.relative_to(source).with_suffix("").parts
        if all(not name.startswith("_") or name == "__init__" for name in names):
            yield path


def module_problems(text: str) -> Iterator[str]:
    """Tell what is wrong with ``__all__`` in the source text of one public module."""
    body = ast.parse(text).body
    if all(_is_docstring(statement) for statement in body):
        return
    declared = _declared(body)
    if declared is None:
        yield "needs __all__ as a tuple of strings"
        return
    for name in sorted(set(_functions_and_classes(body)) - declared):
        yield f"{name} is missing from __all__; list it or give it a leading underscore"
    for name in sorted(declared - set(_bound(body))):
        yield f"{name} is in __all__ but not in the module"


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _declared(body: list[ast.stmt]) -> set[str] | None:
    for statement in body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id="__all__")], value=ast.Tuple(elts=items))
                | ast.AnnAssign(target=ast.Name(id="__all__"), value=ast.Tuple(elts=items))
            ):
                names = [item.value for item in items if isinstance(item, ast.Constant)]
                if len(names) == len(items):
                    return {str(name) for name in names}
            case _:
                pass
    return None


def _functions_and_classes(body: list[ast.stmt]) -> Iterator[str]:
    for statement in body:
        match statement:
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ) if not name.startswith("_"):
                yield name
            case _:
                pass


def _bound(body: list[ast.stmt]) -> Iterator[str]:
    """Yield every name that the module binds at its top level."""
    yield from _functions_and_classes(body)
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (alias.asname or alias.name for alias in names)
            case ast.If(body=inner):  # for type checkers; a lazy façade imports on demand
                yield from _bound(inner)
            case _:
                pass


def problems(root: Path = ROOT) -> Iterator[str]:
    """Check every public module of every package of the workspace at ``root``."""
    for member in read_members(root):
        for path in public_modules(member.source):
            for problem in module_problems(path.read_text(encoding="utf-8")):
                yield f"{path.relative_to(root).as_posix()}: {problem}"


def main() -> int:
    """Check the repository."""
    return report(problems(), good="__all__: every public module says what it defines")


if __name__ == "__main__":
    raise SystemExit(main())

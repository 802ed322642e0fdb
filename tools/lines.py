"""How long the modules are, and how large the core is.

A module over 400 lines is named, one over 600 fails. The core is counted in logical lines of
code, so that neither docstrings nor the formatter weigh anything; above its limit it fails.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tools.workspace import ROOT, read_members, report

__all__ = ("CORE_LIMIT", "MODULE_LIMIT", "MODULE_NOTICE", "code_lines", "main", "modules")

MODULE_NOTICE: Final = 400
"""Lines of one module above which it is named."""

MODULE_LIMIT: Final = 600
"""Lines of one module above which the tool fails."""

CORE_LIMIT: Final = 3_560
"""Logical lines of code of the whole core above which the tool fails.

The design hoped for about 1,800. What is there, in tens: contract types and the readers of their
fields, 1,040; the engine with turns and Wake, 1,400; what keeps a plugin's failures its own, 50;
Fibers, 400; profiles, 320; files and locks, 310; the authoring surface, 30. Nearly half declares:
imports, classes, fields, signatures. The limit holds that line, so that growth is a decision and
never an accident.
"""

_SKIPPED: Final = {"third_party", "node_modules", "dist", "build"}
_LAYOUT: Final = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def modules(root: Path = ROOT) -> Iterator[Path]:
    """Yield every Python file of the repository that is written by hand, sorted."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if not any(part in _SKIPPED or part.startswith(".") for part in parts):
            yield path


def code_lines(text: str) -> int:
    """Count the logical lines of ``text`` that hold code.

    A statement counts once however many lines the formatter gives it.
    """
    count, statement = 0, set[int]()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            # A statement of strings alone documents what it stands in or under.
            count += statement != {tokenize.STRING}
            statement.clear()
        elif token.type not in _LAYOUT:
            statement.add(token.type)
    return count


def problems(root: Path = ROOT) -> Iterator[str]:
    """Print the long modules and the size of the core; yield what is too long."""
    for path in modules(root):
        count = len(path.read_text(encoding="utf-8").splitlines())
        line = f"{path.relative_to(root).as_posix()}: {count} lines"
        if count > MODULE_LIMIT:
            yield f"{line}, the limit is {MODULE_LIMIT}"
        elif count > MODULE_NOTICE:
            print(f"long: {line}")
    for core in (member for member in read_members(root) if member.floor == "core"):
        total = sum(code_lines(path.read_text(encoding="utf-8")) for path in modules(core.source))
        print(f"core: {total} of at most {CORE_LIMIT} lines of code")
        if total > CORE_LIMIT:
            yield f"the core has {total} lines of code, the limit is {CORE_LIMIT}"


def main() -> int:
    """Check the repository."""
    return report(problems(), good="module sizes: within the limits")


if __name__ == "__main__":
    raise SystemExit(main())

"""Whether every required behaviour has a test, and every marked test a required behaviour.

The rule is the test kit's; this applies it to every package, so that none forgets to ask.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dsh_mnemon_testing.requirements import (
    marked_requirements,
    read_requirements,
    requirement_problems,
)

from tools.workspace import ROOT, read_members, report

__all__ = ("main", "package_problems", "problems")


def package_problems(folder: Path) -> Iterator[str]:
    """Tell where the requirements and the tests of one package differ.

    A package without `requirements.toml` lists none, so none of its tests may name one.
    """
    file = folder / "requirements.toml"
    try:
        required = read_requirements(file) if file.is_file() else ()
        yield from requirement_problems(required, marked_requirements(folder / "tests"))
    except ValueError as error:
        yield str(error)


def problems(root: Path = ROOT) -> Iterator[str]:
    """Check every package of the workspace at ``root``."""
    for member in read_members(root):
        for problem in package_problems(member.folder):
            yield f"{member.folder.relative_to(root).as_posix()}: {problem}"


def main() -> int:
    """Check the repository."""
    return report(problems(), good="requirements: each has a test, and each test its requirement")


if __name__ == "__main__":
    raise SystemExit(main())

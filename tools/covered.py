"""Whether enough of every package was run: the whole core, 95 % of everything else.

Reads the report of ``coverage json``. Lines and branches count alike.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from tools.workspace import ROOT, Member, read_members, report

__all__ = ("CORE_FLOOR", "FLOOR", "Measure", "main", "measure", "problems")

CORE_FLOOR: Final = 100
"""Per cent of lines and branches of the core that must have run."""

FLOOR: Final = 95
"""Per cent of lines and branches of every other package that must have run."""


@attrs.frozen
class Measure:
    """Lines and branches: those that ran, and all."""

    covered: int
    total: int

    @property
    def percent(self) -> float:
        """Share that ran, 0..100; 100 when there was nothing to run."""
        return 100 * self.covered / self.total if self.total else 100.0


def measure(measured: Mapping[str, Any], member: Member, root: Path = ROOT) -> Measure | None:
    """Add up the files of ``member`` in a coverage report; None when it has none of them.

    Args:
        measured: The parsed report; its file names are relative to ``root`` or absolute.
        member: A package of the workspace.
        root: Where the report was made.
    """
    summaries: list[dict[str, int]] = [
        facts["summary"]
        for name, facts in measured["files"].items()
        if (root / name).is_relative_to(member.source)
    ]
    if not summaries:
        return None
    return Measure(
        sum(item["covered_lines"] + item["covered_branches"] for item in summaries),
        sum(item["num_statements"] + item["num_branches"] for item in summaries),
    )


def problems(measured: Mapping[str, Any], root: Path = ROOT) -> Iterator[str]:
    """Print the figure of every package; yield those that are too low."""
    for member in read_members(root):
        found = measure(measured, member, root)
        floor = CORE_FLOOR if member.floor == "core" else FLOOR
        if found is None:
            yield f"{member.name}: nothing was measured"
            continue
        print(f"{member.name}: {found.percent:.2f} % of {found.total} lines and branches")
        if found.percent < floor:
            yield f"{member.name}: {found.percent:.2f} % is below {floor} %"


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge the report named on the command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.covered", description=__doc__)
    parser.add_argument("report", type=Path, help="file that `coverage json -o` wrote")
    file: Path = parser.parse_args(arguments).report
    measured = json.loads(file.read_text(encoding="utf-8"))
    return report(problems(measured), good="coverage: every package is above its floor")


if __name__ == "__main__":
    raise SystemExit(main())

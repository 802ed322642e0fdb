"""Maintenance of a fact store from a shell; see `maintenance`."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_provider_holographic import maintenance

__all__ = ("main",)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code, 1 for what could not be done."""
    parser = ArgumentParser(prog="python -m dsh_mnemon_provider_holographic")
    commands = parser.add_subparsers(dest="command", required=True)
    rebuild = commands.add_parser("rebuild", help="encode every fact anew, in one dimension")
    rebuild.add_argument("file", type=Path)
    rebuild.add_argument("--dim", type=int)
    feedback = commands.add_parser("feedback", help="say whether a fact helped")
    feedback.add_argument("file", type=Path)
    feedback.add_argument("id")
    feedback.add_argument("verdict", choices=("helpful", "unhelpful"))
    given = parser.parse_args(arguments)
    try:
        if given.command == "rebuild":
            number = maintenance.rebuild(given.file, dim=given.dim)
            said = f"{number} facts were encoded anew"
        else:
            helpful = given.verdict == "helpful"
            trust = maintenance.feedback(given.file, given.id, helpful=helpful)
            said = f"the trust in {given.id} is now {trust:g}"
    except MnemonError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(f"{said}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Asking a person before something is done that cannot be taken back."""

from __future__ import annotations

import sys

from dsh_mnemon_host.cli.invocation import Common
from dsh_mnemon_host.cli.output import print_question

__all__ = ("agrees", "at_terminal")


def at_terminal(common: Common) -> bool:
    """Tell whether there is a person to ask."""
    return not common.json and sys.stdin.isatty()


def agrees(question: str) -> bool:
    """Ask; only a clear yes is one."""
    print_question(f"{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")

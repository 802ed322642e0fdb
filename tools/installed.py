"""Whether a clean environment holds exactly the named packages of the product, and they work.

Runs in the environment it judges, as a file and with nothing but the standard library::

    python -I tools/installed.py dsh-mnemon-source-runtime dsh-mnemon-core
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ("main", "problems")

_PREFIX = "dsh-mnemon"


def problems(expected: Sequence[str]) -> Iterator[str]:
    """Tell how the packages installed here differ from the ``expected`` distribution names.

    Each expected package must also import, and from this environment rather than from a checkout.
    """
    present = {
        distribution.name
        for distribution in importlib.metadata.distributions()
        if distribution.name == _PREFIX or distribution.name.startswith(f"{_PREFIX}-")
    }
    for name in sorted(present.difference(expected)):
        yield f"{name} is installed, though nothing asked for it"
    for name in sorted(set(expected) - present):
        yield f"{name} is not installed"
    home = Path(sysconfig.get_path("purelib")).resolve()
    for name in sorted(present.intersection(expected)):
        module = importlib.import_module(name.replace("-", "_"))
        if not Path(module.__file__ or "").resolve().is_relative_to(home):
            yield f"{module.__name__} comes from {module.__file__}, not from this environment"


def main(arguments: Sequence[str] | None = None) -> int:
    """Judge this environment."""
    parser = argparse.ArgumentParser(description="Judge the environment this runs in.")
    parser.add_argument("names", nargs="+", help="the distributions that must be here")
    names: list[str] = parser.parse_args(arguments).names
    found = list(problems(names))
    for problem in found:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())

"""``python -m tools.bench [composition | documents | native | recall] [--quick]``: the figures."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path


def _report(options: argparse.Namespace) -> Iterable[str]:
    # Only what is measured is imported: the imports of one are the noise of another.
    if options.what == "documents":
        from tools.bench import documents

        return documents.report(quick=options.quick)
    if options.what == "composition":
        from tools.bench import composition

        return composition.report(quick=options.quick)
    if options.what == "native":
        from tools.bench import native

        return native.report(options.locomo, quick=options.quick)
    if options.what == "recall":
        from tools.bench import recall

        return recall.report(options.locomo, vectors=options.vectors, quick=options.quick)
    from tools.bench import foundation

    return foundation.report(quick=options.quick)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    whats = ("foundation", "composition", "documents", "native", "recall")
    parser.add_argument("what", nargs="?", choices=whats, default="foundation")
    parser.add_argument("--quick", action="store_true", help="measure little, to see that it runs")
    parser.add_argument("--locomo", type=Path, help="the LoCoMo file, which is not part of this")
    parser.add_argument("--vectors", action="store_true", help="recall: also with an endpoint")
    return parser.parse_args()


for line in _report(_options()):
    print(line, flush=True)

"""``python -m tools.bench [--quick]``: print the figures."""

from __future__ import annotations

import sys

from tools.bench.foundation import report

for line in report(quick="--quick" in sys.argv[1:]):
    print(line, flush=True)

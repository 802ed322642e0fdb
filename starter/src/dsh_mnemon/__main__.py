"""The ``dsh-mnemon`` command of the default composition."""

from __future__ import annotations

import sys
from contextlib import suppress


def main() -> int:
    """Run the command with the default profile; ``--version`` alone loads nothing else.

    Where the version cannot be printed, the whole command is run: it says why.
    """
    from dsh_mnemon import DEFAULT_PROFILE, __version__

    if sys.argv[1:] == ["--version"]:
        with suppress(AttributeError, OSError):  # stdout is closed, full, or read by nobody
            sys.stdout.write(f"{__version__}\n")
            sys.stdout.flush()
            return 0
    from dsh_mnemon_host.cli.main import main as run

    return run(default_profile=DEFAULT_PROFILE, distribution="dsh-mnemon")


if __name__ == "__main__":
    sys.exit(main())

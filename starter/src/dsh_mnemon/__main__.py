"""The ``dsh-mnemon`` command of the default composition."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command with the default profile; ``--version`` alone loads nothing else."""
    from dsh_mnemon import DEFAULT_PROFILE, __version__

    if sys.argv[1:] == ["--version"]:
        sys.stdout.write(f"{__version__}\n")
        return 0
    from dsh_mnemon_host.cli.main import main as run

    return run(default_profile=DEFAULT_PROFILE, distribution="dsh-mnemon")


if __name__ == "__main__":
    sys.exit(main())

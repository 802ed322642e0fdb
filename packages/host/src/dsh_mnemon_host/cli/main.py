"""The command: parsing, dispatch, exit codes 0 ok, 1 refused or failed, 2 usage."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from cyclopts import App, CycloptsError
from dsh_mnemon_core.errors import MnemonError

from dsh_mnemon_host.cli.invocation import DEFAULT_PROFILE
from dsh_mnemon_host.cli.output import print_error

__all__ = ("build_app", "main")

_HELP = """Memory for LLM agents: layered, bounded, visible, composable.

Start with `dsh-mnemon runtime add --target user "Prefers short answers"`, look at what an agent
receives with `dsh-mnemon context`, and give it to any MCP client with `dsh-mnemon mcp`.
"""

_COMMANDS = "dsh_mnemon_host.cli"


def build_app(name: str = "dsh-mnemon", distribution: str = "dsh-mnemon-host") -> App:
    """Build the command; the module of a command is imported when the command runs."""
    app = App(
        name=name,
        help=_HELP,
        version=lambda: version(distribution),
        help_format="markdown",
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )
    app.command(f"{_COMMANDS}.context:show_context", name="context")
    app.command(f"{_COMMANDS}.serving:serve_mcp", name="mcp")
    app.command(f"{_COMMANDS}.serving:serve", name="serve")
    app.command(f"{_COMMANDS}.condition:show_status", name="status")
    app.command(f"{_COMMANDS}.condition:run_doctor", name="doctor")
    app.command(f"{_COMMANDS}.runtime:app", name="runtime")
    return app


def main(
    argv: Sequence[str] | None = None,
    *,
    default_profile: Path | None = None,
    distribution: str = "dsh-mnemon-host",
) -> int:
    """Run the command.

    Args:
        argv: Arguments without the program's name; the process's own when absent.
        default_profile: Profile to use when none is named.
        distribution: Whose version ``--version`` prints.

    Returns:
        0 when all went well, 1 when something was refused or failed, 2 for wrong usage.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR, format="%(levelname)s: %(message)s")
    # A row that fails is reported by status and doctor; its traceback is for --log-level users.
    logging.getLogger("dsh_mnemon_core").setLevel(logging.CRITICAL)
    DEFAULT_PROFILE.set(default_profile)
    try:
        result = build_app(distribution=distribution)(tokens)
    except CycloptsError as error:
        return _usage(error)
    except MnemonError as error:
        options = tokens[: tokens.index("--")] if "--" in tokens else tokens
        print_error(error, as_json="--json" in options)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return result if isinstance(result, int) else 0


def _usage(error: CycloptsError) -> int:
    from dsh_mnemon_core.errors import InputError

    text = " ".join(str(error).split())
    print_error(InputError("usage", f"{text} Try --help."), as_json=False)
    return 2

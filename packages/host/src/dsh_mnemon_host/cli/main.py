"""The command: parsing, dispatch, exit codes 0 ok, 1 refused or failed, 2 usage."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from cyclopts import App, CycloptsError, UnknownOptionError
from dsh_mnemon_core.errors import InputError, MnemonError

from dsh_mnemon_host.cli.invocation import DEFAULT_PROFILE
from dsh_mnemon_host.cli.output import print_error

__all__ = ("build_app", "is_logged", "main")

_HELP = """Memory for LLM agents: layered, bounded, visible, composable.

Start with `dsh-mnemon runtime add --target user "Prefers short answers"`, look at what an agent
receives with `dsh-mnemon context`, and give it to any MCP client with `dsh-mnemon mcp`.
"""

_TABLE = {
    "runtime": "runtime:app",
    "spaces": "spaces:app",
    "remember": "longterm:remember",
    "recall": "longterm:recall",
    "related": "longterm:related",
    "link": "longterm:link",
    "forget": "longterm:forget",
    "import": "transfer:import_memories",
    "export": "transfer:export_memories",
    "documents": "_document_import:app",
    "compose": "compose:app",
    "context": "context:show_context",
    "mcp": "serving:serve_mcp",
    "serve": "serving:serve",
    "status": "condition:show_status",
    "doctor": "condition:run_doctor",
}
"""Name of every command, and its module and attribute."""


def build_app(distribution: str = "dsh-mnemon-host", *, described: bool = False) -> App:
    """Build the command; the module of a command is imported when the command runs.

    Args:
        distribution: Whose version it prints.
        described: Import every command now, so that the list of commands can describe them.
    """
    app = App(
        name="dsh-mnemon",
        help=_HELP,
        version=lambda: _version(distribution),
        help_format="markdown",
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )
    for command, target in _TABLE.items():
        module, attribute = f"dsh_mnemon_host.cli.{target}".split(":")
        if described:
            app.command(getattr(import_module(module), attribute), name=command)
        else:
            app.command(f"{module}:{attribute}", name=command)
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
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_logged)
    logging.basicConfig(
        handlers=[handler], level=logging.ERROR, format="%(levelname)s: %(message)s"
    )
    logging.getLogger("dsh_mnemon_host").setLevel(logging.WARNING)
    DEFAULT_PROFILE.set(default_profile)
    as_json = "--json" in (tokens[: tokens.index("--")] if "--" in tokens else tokens)
    try:
        listed = not tokens or tokens[0] in ("--help", "-h")
        result = build_app(distribution, described=listed)(tokens)
    except CycloptsError as error:
        print_error(_usage(error), as_json=as_json)
        return 2
    except MnemonError as error:
        print_error(error, as_json=as_json)
        return 2 if error.code == "usage" else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone; keep the interpreter from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        sys.stderr.write(f"error: cannot write the answer: {error.strerror}\n")
        return 1
    return result if isinstance(result, int) else 0


def is_logged(record: logging.LogRecord) -> bool:
    """Tell whether a line of a log belongs on a person's terminal.

    A row or a Provider that fails is reported by status and doctor, not by its traceback.
    """
    package = record.name.partition(".")[0]
    return package == "dsh_mnemon_host" or not package.startswith("dsh_mnemon_")


def _usage(error: CycloptsError) -> InputError:
    text = " ".join(str(error).split())
    dashed = isinstance(error, UnknownOptionError)
    hint = " Put -- before a text that begins with a dash." if dashed else ""
    return InputError("usage", f"{text}{hint} Try --help.")


def _version(distribution: str) -> str:
    # Imported here: it takes longer than all the rest of this module.
    from importlib.metadata import version

    return version(distribution)

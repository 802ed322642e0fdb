"""The command: parsing, dispatch, exit codes 0 ok, 1 refused or failed, 2 usage."""

from __future__ import annotations

import atexit
import errno
import gc
import logging
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter, UnknownOptionError
from dsh_mnemon_core.errors import InputError, MnemonError, StorageError

from dsh_mnemon_host.cli.invocation import DEFAULT_PROFILE
from dsh_mnemon_host.cli.output import Unwritable, print_error
from dsh_mnemon_host.cli.streams import complete, give_up_stdout, is_absent

__all__ = ("build_app", "is_logged", "main")

_HELP = """Memory for LLM agents: layered, bounded, visible, composable.

Start with `dsh-mnemon runtime add --target user "Prefers short answers"`, look at what an agent
receives with `dsh-mnemon context`, and give it to any MCP client with `dsh-mnemon mcp`.

Example: `dsh-mnemon status --workspace ~/project`
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

_ALLOCATIONS = 100_000
"""How many objects are made between two looks for garbage: more than a command begins with.

A server holds at most as many dead ones.
"""


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
        default_parameter=Parameter(show_default=_shown_default),
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
    """Run the command of this process.

    Args:
        argv: Arguments without the program's name; the process's own when absent.
        default_profile: Profile to use when none is named.
        distribution: Whose version ``--version`` prints.

    Returns:
        0 when all went well, 1 when something was refused or failed, 2 for wrong usage.
    """
    tokens = list(sys.argv[1:] if argv is None else argv)
    complete()
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(is_logged)
    logging.basicConfig(
        handlers=[handler], level=logging.ERROR, format="%(levelname)s: %(message)s"
    )
    logging.getLogger("dsh_mnemon_host").setLevel(logging.WARNING)
    DEFAULT_PROFILE.set(default_profile)
    try:
        if is_absent("stdout"):
            raise Unwritable("standard output is closed")
        return _run(tokens, distribution)
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        give_up_stdout()
        return 1
    except Unwritable as error:
        give_up_stdout()
        with suppress(OSError):
            sys.stderr.write(f"error: cannot write the answer: {error}\n")
            sys.stderr.flush()
        return 1


def _run(tokens: list[str], distribution: str) -> int:
    """Run a command and report what it refuses.

    Raises:
        Unwritable, BrokenPipeError: Nobody takes the answer.
    """
    as_json = "--json" in (tokens[: tokens.index("--")] if "--" in tokens else tokens)
    try:
        listed = not tokens or tokens[0] in ("--help", "-h")
        with _collecting_seldom():
            result = build_app(distribution, described=listed)(tokens)
    except CycloptsError as error:
        print_error(_usage(error), as_json=as_json)
        return 2
    except MnemonError as error:
        print_error(error, as_json=as_json)
        return 2 if error.code == "usage" else 1
    except BrokenPipeError:
        raise
    except OSError as error:
        print_error(_file_system_error(error), as_json=as_json)
        return 1
    return result if isinstance(result, int) else 0


def _file_system_error(error: OSError) -> StorageError:
    """Say what the system says, and about which file, where nobody knew better."""
    reason = errno.errorcode.get(error.errno or 0, type(error).__name__)
    file = {} if error.filename is None else {"file": str(error.filename)}
    about = "".join(f": {name}" for name in file.values())
    return StorageError(
        "file-system-error",
        f"file system error: {error.strerror or error}{about}",
        details={"reason": reason, **file},
    )


@contextmanager
def _collecting_seldom() -> Generator[None]:
    """Look for garbage seldom during a command, and not at all when the process ends.

    Nearly all that a short command makes are modules and classes, which are no garbage: looking
    through them took a quarter of its time.
    """
    usual = gc.get_threshold()
    gc.set_threshold(_ALLOCATIONS, *usual[1:])
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def is_logged(record: logging.LogRecord) -> bool:
    """Tell whether a line of a log belongs on a person's terminal.

    A row or a Provider that fails is reported by status and doctor, not by its traceback.
    """
    package = record.name.partition(".")[0]
    return package == "dsh_mnemon_host" or not package.startswith("dsh_mnemon_")


def _shown_default(value: object) -> str | None:
    """Return what help says of a default; that a switch is off goes without saying."""
    return None if value is None or value is False or value == "" else str(value)


def _usage(error: CycloptsError) -> InputError:
    missing = isinstance(error, MissingArgumentError) and _missing(error)
    text = missing or " ".join(str(error).split())
    dashed = isinstance(error, UnknownOptionError)
    hint = " Put -- before a text that begins with a dash." if dashed else ""
    return InputError("usage", f"{text}{hint} Try --help.")


def _missing(error: MissingArgumentError) -> str | None:
    """Say which argument is not there, and what may stand for it.

    An option that nobody knows may be the misspelt one: that is left to cyclopts.
    """
    argument = error.argument
    options = [token for token in error.unused_tokens or () if token.startswith("-")]
    if argument is None or set(options) - set(argument.names):
        return None
    choices = argument.get_choices()
    which = f": one of {', '.join(choices)}" if choices else ""
    return f"{argument.name} {'needs a value' if error.keyword else 'is missing'}{which}."


def _version(distribution: str) -> str:
    # Imported here: it takes longer than all the rest of this module.
    from importlib.metadata import version

    return version(distribution)

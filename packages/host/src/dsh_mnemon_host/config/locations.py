"""Locations a person writes: absolute paths, ``~`` and ``~/…`` (host.md §2.2, §3.1)."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, TypeAlias

from dsh_mnemon_core.errors import ConfigurationError
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

__all__ = ("Location", "absolute", "at_home", "expand", "home_directory")


def _read(value: str) -> str:
    if "\0" in value or not (at_home(value) or os.path.isabs(value)):
        raise PydanticCustomError("setting-format", "is not a usable location")
    return value


Location: TypeAlias = Annotated[
    str, AfterValidator(_read), Field(json_schema_extra={"format": "location"})
]
"""An absolute path, ``~`` or ``~/…``, kept as written; `expand` resolves it."""


def absolute(path: str, cwd: str | None = None) -> Path:
    """Return a path made absolute and normalized by its text alone; no link is followed.

    Args:
        path: The path; a relative one starts at ``cwd``.
        cwd: Absolute directory; the process's own when absent, read only when needed.
    """
    if not os.path.isabs(path):
        path = os.path.join(cwd or os.getcwd(), path)
    normal = os.path.normpath(path)
    # POSIX lets exactly two leading slashes mean something of their own; for us they are one.
    return Path(normal[1:] if normal.startswith("//") else normal)


def at_home(location: str) -> bool:
    """Tell whether a location starts at the home directory."""
    return location == "~" or location.startswith(("~/", f"~{os.sep}"))


def home_directory(env: Mapping[str, str]) -> Path:
    """Return the home directory of the user: ``HOME``, else what the account says.

    An empty ``HOME`` is none. A relative one is refused: memory would lie in another folder for
    every directory that the command is run in.

    Args:
        env: Environment variables of the process.

    Raises:
        ConfigurationError: ``home-missing``.
    """
    variable = "USERPROFILE" if os.name == "nt" else "HOME"
    told = env.get(variable, "")
    home = told or _of_account()
    if os.path.isabs(home):
        return Path(home)
    problem = f"{variable} is {told!r}, which is no absolute path" if told else "there is none"
    raise ConfigurationError(
        "home-missing",
        f"the home directory is needed, and {problem}; set {variable}, or say with MNEMON_DATA_DIR "
        "where memory lies and with MNEMON_PROFILE or --profile which profile counts (its "
        "settings.yaml lies beside it)",
    )


def _of_account() -> str:
    """Return the home directory in the user database; a container may run as nobody it knows."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return ""


def expand(location: str, home: str | Callable[[], str], cwd: str | None = None) -> Path:
    """Return a location as an absolute path: ``~`` and ``~/x`` start at ``home``.

    Args:
        location: What a person wrote.
        home: Absolute home directory; a function is asked only where the location starts there.
        cwd: Where a relative location (only an environment variable can hold one) starts.
    """
    if not at_home(location):
        return absolute(location, cwd)
    start = home if isinstance(home, str) else home()
    return absolute(os.path.join(start, location[2:].lstrip("/")))

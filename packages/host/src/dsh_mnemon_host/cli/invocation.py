"""What one run of the command was started with, and the options every command takes."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager, redirect_stdout
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import attrs
from cyclopts import Parameter
from dsh_mnemon_core.errors import ConfigurationError

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("DEFAULT_PROFILE", "Common", "Place", "given", "open_host", "profile_path")

DEFAULT_PROFILE: ContextVar[Path | None] = ContextVar("DEFAULT_PROFILE", default=None)
"""The profile of the distribution that started the command."""


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Place:
    """What is mounted, and where: the options of every command."""

    profile: Path | None = None
    """Profile to mount (default: MNEMON_PROFILE, else the shipped one)."""

    workspace: Path | None = None
    """Workspace directory (default: the current one)."""


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Common(Place):
    """Options of every command that answers and ends."""

    json: Annotated[bool, Parameter(negative="")] = False
    """Print one JSON document instead of text."""


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; what is ``None`` was not."""
    return {name: value for name, value in options.items() if value is not None}


def profile_path(common: Place) -> tuple[Path, bool]:
    """Return the profile in force and whether it was named (D33).

    Raises:
        ConfigurationError: ``profile-required`` when no distribution supplied a default.
    """
    named = str(common.profile or os.environ.get("MNEMON_PROFILE", "").strip())
    if named:
        return Path(os.path.expanduser(named)), True
    default = DEFAULT_PROFILE.get()
    if default is None:
        raise ConfigurationError(
            "profile-required", "name a profile with --profile or MNEMON_PROFILE"
        )
    return default, False


@asynccontextmanager
async def open_host(common: Place) -> AsyncGenerator[MemoryHost]:
    """Open the Host that the options describe.

    Raises:
        ConfigurationError: ``workspace-missing`` when the named workspace is no directory.
    """
    from dsh_mnemon_host.memory_host import MemoryHost
    from dsh_mnemon_host.settings import settings_path

    path, named = profile_path(common)
    workspace = common.workspace
    if workspace is not None and not await anyio.Path(workspace).is_dir():
        raise ConfigurationError("workspace-missing", f"{workspace} is not a directory")
    opening = MemoryHost.open(
        profile=path,
        workspace=workspace,
        settings=settings_path(path if named else None),
    )
    async with AsyncExitStack() as stack:
        # A plugin that prints while it loads must not mix into a protocol or a JSON document.
        with redirect_stdout(sys.stderr):
            host = await stack.enter_async_context(opening)
        yield host

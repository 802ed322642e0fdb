"""What one run of the command was started with, and the options every command takes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import attrs
from anyio import to_thread
from cyclopts import Parameter
from dsh_mnemon_core.errors import AuthorityError, ConfigurationError

from dsh_mnemon_host.cli.output import print_warning
from dsh_mnemon_host.cli.streams import reserved_stdout

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
        ConfigurationError: ``profile-required`` when no distribution supplied a default;
            ``home-missing``.
    """
    from dsh_mnemon_host.config import at_home, expand, home_directory

    named = str(common.profile or os.environ.get("MNEMON_PROFILE", "").strip())
    if at_home(named):
        return expand(named, str(home_directory(os.environ))), True
    if named:
        return Path(os.path.expanduser(named)), True
    default = DEFAULT_PROFILE.get()
    if default is None:
        raise ConfigurationError(
            "profile-required", "name a profile with --profile or MNEMON_PROFILE"
        )
    return default, False


@asynccontextmanager
async def open_host(common: Place, *, reports: bool = False) -> AsyncGenerator[MemoryHost]:
    """Open the Host that the options describe; while it is open, stdout is kept for the answer.

    Args:
        common: The options.
        reports: Whether the command itself reports settings that nobody knows; else they are
            named on stderr.

    Raises:
        ConfigurationError: ``workspace-missing`` when the named workspace is no directory;
            ``profile-required``, ``home-missing``.
        StorageError: ``workspace-unreadable``.
    """
    from dsh_mnemon_host.memory_host import MemoryHost
    from dsh_mnemon_host.settings import settings_path
    from dsh_mnemon_host.workspace import check_workspace

    path, named = profile_path(common)
    workspace = common.workspace
    if workspace is not None:
        await to_thread.run_sync(check_workspace, workspace)
    opening = MemoryHost.open(
        profile=path,
        workspace=workspace,
        settings=settings_path(path if named else None),
    )
    async with AsyncExitStack() as stack:
        stack.enter_context(reserved_stdout())
        host = await stack.enter_async_context(opening)
        unknown = None if reports else host.settings.unknown_keys
        if unknown is not None:
            print_warning(unknown)
        try:
            yield host
        except AuthorityError as error:
            text = _switched_off(error, host)
            if text is None:
                raise
            raise AuthorityError(error.code, text, details=error.details) from error


def _switched_off(error: AuthorityError, host: MemoryHost) -> str | None:
    """Tell a Source that is switched off from one that is not there."""
    from dsh_mnemon_host.composition.choices import switched_off

    type_id = error.details.get("sourceTypeId")
    entry = switched_off(host.rows.current, type_id) if type_id else None
    if entry is None:
        return None
    return f"{entry} is switched off; `dsh-mnemon compose enable {entry}` switches it on"

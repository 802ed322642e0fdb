"""What one run of the command was started with, and the options every command takes."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import attrs
from cyclopts import Parameter
from dsh_mnemon_core.errors import ConfigurationError

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("DEFAULT_PROFILE", "Common", "open_host", "profile_path")

DEFAULT_PROFILE: ContextVar[Path | None] = ContextVar("DEFAULT_PROFILE", default=None)
"""The profile of the distribution that started the command."""


@Parameter(name="*")
@attrs.frozen(kw_only=True)
class Common:
    """Options that every command takes."""

    json: Annotated[bool, Parameter(negative="")] = False
    """Print one JSON document instead of text."""

    profile: Path | None = None
    """Profile to mount (default: MNEMON_PROFILE, else the shipped one)."""

    workspace: Path | None = None
    """Workspace directory (default: the current one)."""


def profile_path(common: Common) -> tuple[Path, bool]:
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
async def open_host(common: Common) -> AsyncGenerator[MemoryHost]:
    """Open the Host that the options describe."""
    from dsh_mnemon_host.memory_host import MemoryHost
    from dsh_mnemon_host.settings import settings_path

    path, named = profile_path(common)
    async with MemoryHost.open(
        profile=path,
        workspace=common.workspace,
        settings=settings_path(path if named else None),
    ) as host:
        yield host

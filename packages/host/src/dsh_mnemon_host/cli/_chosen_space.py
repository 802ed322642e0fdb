"""Which Memory Space a person means: by id, by name, or the only one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import nearest, to_wire

from dsh_mnemon_host.source_session import SourceSession

__all__ = ("chosen_space", "read_spaces")


async def read_spaces(session: SourceSession) -> list[dict[str, Any]]:
    """Return every known Space, in the Source's order; asks no Provider."""
    directory: Mapping[str, Any] = to_wire(await session.read("body-directory", {}))
    return list(directory["bodies"])


async def chosen_space(session: SourceSession, given: str | None) -> str:
    """Return the id of the Space a person named; without a name that of the only active one.

    Raises:
        InputError: ``space-unknown``, ``space-ambiguous``, ``space-required``.
    """
    spaces = await read_spaces(session)
    if given is None:
        return _only_active(spaces)
    if any(space["id"] == given for space in spaces):
        return given
    named: list[str] = [space["id"] for space in spaces if space["name"] == given]
    if len(named) == 1:
        return named[0]
    if named:
        raise InputError(
            "space-ambiguous",
            f"{len(named)} Memory Spaces are called {given!r}; say which: {', '.join(named)}",
        )
    known = [name for space in spaces for name in (space["id"], space["name"])]
    raise InputError(
        "space-unknown",
        f"there is no Memory Space {given!r}{nearest(given, known)}; `dsh-mnemon spaces list` "
        "shows them all",
    )


def _only_active(spaces: Sequence[Mapping[str, Any]]) -> str:
    active: list[str] = [space["id"] for space in spaces if space["active"]]
    if len(active) == 1:
        return active[0]
    if not active:
        raise InputError(
            "space-required",
            "no Memory Space is active; create one with `dsh-mnemon spaces create NAME`, or name "
            "one with --space",
        )
    raise InputError(
        "space-required", f"name a Memory Space with --space; active are: {', '.join(active)}"
    )

"""Which Memory Space a person means: by name or id, or the only one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from dsh_mnemon_core.errors import ConflictError, InputError
from dsh_mnemon_core.wire import nearest, to_wire

from dsh_mnemon_host.cli._spoken import beginning_with, one_of, same_name
from dsh_mnemon_host.cli.output import print_warning
from dsh_mnemon_host.source_session import SourceSession

__all__ = (
    "Directory",
    "check_free",
    "chosen_space",
    "none_active",
    "read_directory",
    "read_spaces",
)

_CREATE = "create one with `dsh-mnemon spaces create NAME`"


@attrs.frozen(kw_only=True)
class Directory:
    """The Spaces that there are, as far as can be told.

    Attributes:
        spaces: Every known Space, in the Source's order.
        faults: ``{code, message, file}`` of each file because of which Spaces may be missing.
    """

    spaces: list[dict[str, Any]]
    faults: tuple[dict[str, Any], ...] = ()

    def lines(self) -> list[str]:
        """Say what may be missing, and why."""
        return [
            f"other Memory Spaces may be missing: {fault['message']}; `dsh-mnemon doctor` says more"
            for fault in self.faults
        ]

    def unless(self, message: str) -> str:
        """Return a message about what is not there, with why it may be there all the same."""
        return "; ".join((message, *self.lines()))

    def details(self) -> dict[str, Any]:
        """Return the details of an error about what is not there."""
        return {"faults": list(self.faults)} if self.faults else {}


async def read_directory(session: SourceSession) -> Directory:
    """Return every known Space and what hides others; asks no Provider."""
    directory: Mapping[str, Any] = to_wire(await session.read("body-directory", {}))
    return Directory(spaces=list(directory["bodies"]), faults=tuple(directory.get("faults", ())))


async def read_spaces(session: SourceSession) -> list[dict[str, Any]]:
    """Return every known Space, in the Source's order; asks no Provider."""
    return (await read_directory(session)).spaces


async def chosen_space(session: SourceSession, given: str | None) -> str:
    """Return the id of the Space a person named; without a name that of the only active one.

    An id or a name as it stands wins; then a name in any case, then the beginning of an id. Where
    others may be active that cannot be seen, a warning says so.

    Raises:
        InputError: ``space-unknown``, ``space-ambiguous``, ``space-required``.
    """
    directory = await read_directory(session)
    spaces = directory.spaces
    if given is None:
        chosen = _only_active(directory)
        for line in directory.lines():
            print_warning(line)
        return chosen
    meant = _meant(given, spaces)
    if len(meant) == 1:
        return str(meant[0]["id"])
    if meant:
        raise InputError(
            "space-ambiguous",
            f"{given!r} may be any of {len(meant)} Memory Spaces; say which by its id: "
            f"{one_of([_labelled(space) for space in meant])}",
        )
    if not spaces:
        told = f"there is no Memory Space {given!r} yet; {_CREATE}"
        raise InputError("space-unknown", directory.unless(told), details=directory.details())
    known = [name for space in spaces for name in (space["id"], space["name"])]
    told = (
        f"there is no Memory Space {given!r}{nearest(given, known)}; there are: "
        f"{one_of([_labelled(space) for space in spaces])}"
    )
    raise InputError("space-unknown", directory.unless(told), details=directory.details())


def _meant(given: str, spaces: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    begun = beginning_with(given, (space["id"] for space in spaces))
    readings: tuple[list[dict[str, Any]], ...] = (
        [space for space in spaces if space["id"] == given],
        [space for space in spaces if space["name"] == given],
        [space for space in spaces if same_name(space["name"], given)],
        [space for space in spaces if space["id"] in begun],
    )
    return next((found for found in readings if found), readings[-1])


def _labelled(space: Mapping[str, Any]) -> str:
    return f"{space['name']} [{space['id']}]"


def _only_active(directory: Directory) -> str:
    spaces = directory.spaces
    active = [space for space in spaces if space["active"]]
    if len(active) == 1:
        return str(active[0]["id"])
    if not active:
        told = f"{none_active(spaces)}, or name one with --space"
        raise InputError("space-required", directory.unless(told), details=directory.details())
    names: list[str] = [space["name"] for space in active]
    shown = [
        _labelled(space) if names.count(space["name"]) > 1 else space["name"] for space in active
    ]
    raise InputError(
        "space-required", f"name a Memory Space with --space; active are: {one_of(shown)}"
    )


def none_active(spaces: Sequence[Mapping[str, Any]]) -> str:
    """Say that no Space can be read, and what to do; Spaces are those that there are."""
    if not spaces:
        return f"there is no Memory Space yet; {_CREATE}"
    names = one_of([space["name"] for space in spaces])
    return f"no Memory Space is active; `dsh-mnemon spaces activate NAME` lets one be read: {names}"


def check_free(
    spaces: Sequence[Mapping[str, Any]], name: str, *, besides: str | None = None
) -> None:
    """Refuse a name that another Space has already, in any case: people could not tell them apart.

    Args:
        spaces: The Spaces that there are.
        name: The name to give.
        besides: Id of the Space that it is given to.

    Raises:
        ConflictError: ``space-name-taken``.
    """
    for space in spaces:
        if space["id"] != besides and same_name(space["name"], name):
            raise ConflictError(
                "space-name-taken",
                f"there is a Memory Space of this name already: {_labelled(space)}; choose another "
                "name",
                details={"memoryBodyId": space["id"]},
            )

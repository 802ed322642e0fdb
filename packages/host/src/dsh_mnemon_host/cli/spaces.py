"""``dsh-mnemon spaces``: Memory Spaces and the Providers behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter
from dsh_mnemon_core.errors import InputError
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.cli._chosen_space import (
    check_free,
    chosen_space,
    read_directory,
    read_spaces,
)
from dsh_mnemon_host.cli._consent import agrees, at_terminal
from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_json, print_text

__all__ = ("app",)

_HELP = """Memory Spaces: named places of long-term memory, and the Providers behind them.

Example: `dsh-mnemon spaces create "Payments" --description "Decisions about the payment system"`
"""

app = App(
    name="spaces",
    help=_HELP,
    help_format="markdown",
)

Settings = Annotated[list[str] | None, Parameter(negative="")]

_TYPE = "memory-spaces"
_COMMON = Common()


@app.command(name="list")
async def _list(*, common: Common = _COMMON) -> int:
    """List the Memory Spaces, active and inactive.

    Example: `dsh-mnemon spaces list`
    """
    async with open_host(common) as host:
        directory = await read_directory(await host.people.source(_TYPE, capability="read"))
    spaces, faults = directory.spaces, directory.faults
    if common.json:
        missing = {"complete": False, "faults": list(faults)} if faults else {}
        print_json({"spaces": spaces, **missing})
        return 0
    lines = [*map(_line, spaces), *(f"! {line}" for line in directory.lines())]
    nothing = "There are none yet; `dsh-mnemon spaces create NAME` makes one."
    print_text("\n".join(lines) or nothing)
    return 0


def _line(space: Mapping[str, Any]) -> str:
    mark = "*" if space["active"] else " "
    off = "" if space["providerEnabled"] else " (Provider switched off)"
    return (
        f"{mark} {space['name']} [{space['id']}] {space['providerLabel']}{off}\n"
        f"    {space['description']}"
    )


@app.command(name="create")
async def _create(
    name: str,
    /,
    *,
    description: str | None = None,
    provider: str | None = None,
    set: Settings = None,
    inactive: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Create a Memory Space, ready for recall.

    Example: `dsh-mnemon spaces create "Payments" --description "Decisions about the payment system"`

    Parameters
    ----------
    name
        Short name that no other Space has, at most 100 characters.
    description
        What belongs in it, at most 1000 characters; the name when absent.
    provider
        Provider that keeps it; by the persistence strategy when absent. See `spaces providers`.
    set
        A setting of the Provider for this Space, `key=value`; may be repeated.
    inactive
        Do not read it in recall yet.
    """  # noqa: E501 - the example is one line
    request: dict[str, Any] = {
        "name": name,
        "description": description or name,
        "active": not inactive,
    }
    if provider is not None:
        request["providerId"] = provider
    if set:
        request["connection"] = _settings(set)
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="write")
        check_free(await read_spaces(session), name)
        changed = await host.people.change(
            _TYPE, "body-create", {"request": request}, capability="write"
        )
    return _changed(changed.value, "created", common)


@app.command(name="update")
async def _update(
    space: str,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    common: Common = _COMMON,
) -> int:
    """Rename or describe a Memory Space.

    Example: `dsh-mnemon spaces update Payments --name "Payments (archive)"`

    Parameters
    ----------
    space
        Its name, its id, or how the id begins.
    name
        New name.
    description
        New description.
    """
    fields = {"name": name, "description": description}
    given = {key: value for key, value in fields.items() if value is not None}
    if not given:
        raise InputError("usage", "say what is to change: --name or --description")
    return await _change(space, given, "updated", common)


@app.command(name="activate")
async def _activate(space: str, /, *, common: Common = _COMMON) -> int:
    """Let recall read a Memory Space.

    Example: `dsh-mnemon spaces activate Payments`

    Parameters
    ----------
    space
        Its name, its id, or how the id begins.
    """
    return await _change(space, {"active": True}, "activated", common)


@app.command(name="deactivate")
async def _deactivate(space: str, /, *, common: Common = _COMMON) -> int:
    """Keep recall from reading a Memory Space; nothing in it is lost.

    Example: `dsh-mnemon spaces deactivate Payments`

    Parameters
    ----------
    space
        Its name, its id, or how the id begins.
    """
    return await _change(space, {"active": False}, "deactivated", common)


async def _change(space: str, fields: Mapping[str, Any], word: str, common: Common) -> int:
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="write")
        where = await chosen_space(session, space)
        if "name" in fields:
            check_free(await read_spaces(session), fields["name"], besides=where)
        request = {"memoryBodyId": where, **fields}
        changed = await host.people.change(_TYPE, "body-update", request, capability="write")
    return _changed(changed.value, word, common)


@app.command(name="merge")
async def _merge(
    target: str,
    source: list[str],
    /,
    *,
    keep_active: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Copy the memories of native Memory Spaces into another one.

    The sources keep everything; recall reads them no longer unless --keep-active is given.

    Example: `dsh-mnemon spaces merge Payments "Payments 2024" 8c1f4e2a`

    Parameters
    ----------
    target
        Name or id of the Space that receives the memories.
    source
        Names or ids of the Spaces that are copied.
    keep_active
        Go on reading the sources in recall.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="write")
        request = {
            "targetMemoryBodyId": await chosen_space(session, target),
            "sourceMemoryBodyIds": [await chosen_space(session, item) for item in source],
            "deactivateSources": not keep_active,
        }
        changed = await host.people.change(_TYPE, "body-merge", request, capability="write")
    answer: dict[str, Any] = to_wire(changed.value)
    complete = answer["action"] == "merged"
    if common.json:
        print_json(answer)
    else:
        word = "merged" if complete else f"not merged whole ({answer['status']})"
        print_text(f"{word}: {answer['imported']} copied, {answer['skipped']} were there already")
    return 0 if complete else 1


@app.command(name="delete")
async def _delete(
    space: str,
    /,
    *,
    yes: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Delete a Memory Space for good; to keep what it holds, `spaces deactivate` it instead.

    A Space of the embedded engine goes with every memory in it; the last of them cannot be deleted.
    One of another Provider is only let go of here: what the Provider holds stays there.

    Example: `dsh-mnemon spaces delete "Payments (archive)"`

    Parameters
    ----------
    space
        Its name, its id, or how the id begins.
    yes
        Delete without asking.
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="forget")
        where = await chosen_space(session, space)
        (found,) = [item for item in await read_spaces(session) if item["id"] == where]
        if not yes and not at_terminal(common):
            raise InputError("confirmation-required", f"{_loss(found)}; say so with --yes")
        if not yes:
            print_text(f"! {_loss(found)}.")
            if not agrees("Delete it?"):
                print_text("Nothing was deleted.")
                return 0
        request = {"memoryBodyId": where}
        changed = await host.people.change(_TYPE, "body-delete", request, capability="forget")
    answer: dict[str, Any] = to_wire(changed.value)
    if common.json:
        print_json(answer)
    else:
        print_text(f"deleted: {answer['name']} [{answer['memoryBodyId']}]")
    return 0


def _loss(space: Mapping[str, Any]) -> str:
    """Say what a deletion takes away."""
    which = f"the Memory Space {space['name']} [{space['id']}]"
    if space["native"]:
        return f"this deletes {which} and every memory in it"
    return f"this lets go of {which}; what {space['providerLabel']} holds stays there"


@app.command(name="providers")
async def _providers(*, common: Common = _COMMON) -> int:
    """List the Providers that are installed, and which are switched on.

    Example: `dsh-mnemon spaces providers`
    """
    async with open_host(common) as host:
        session = await host.people.source(_TYPE, capability="read")
        answer: dict[str, Any] = to_wire(await session.read("provider-services"))
    if common.json:
        print_json(answer)
    else:
        services: Sequence[Mapping[str, Any]] = answer["services"]
        told = [f"! {fault['message']}" for fault in answer.get("faults", ())]
        print_text("\n".join((*map(_service, services), *told)) or "There are none.")
    return 0


def _service(service: Mapping[str, Any]) -> str:
    if service["state"] != "ready":
        return f"{service['providerId']}: {service['state']} - {service['reason']}"
    state = "on" if service["enabled"] else "off"
    return f"{service['providerId']}: {service['label']} ({state})"


@app.command(name="connect")
async def _connect(
    provider: str,
    /,
    *,
    set: Settings = None,
    off: Annotated[bool, Parameter(negative="")] = False,
    common: Common = _COMMON,
) -> int:
    """Switch a Provider on, with its settings, or off; off keeps settings and data.

    Example: `dsh-mnemon spaces connect holographic`

    Parameters
    ----------
    provider
        Id of the Provider; see `spaces providers`.
    set
        A service setting, `key=value`; may be repeated. Mind your shell's history with secrets.
    off
        Switch it off.
    """
    request = {"providerId": provider, "settings": _settings(set or []), "enabled": not off}
    async with open_host(common) as host:
        changed = await host.people.change(
            _TYPE, "provider-service-update", request, capability="maintain"
        )
        known = await read_spaces(await host.people.source(_TYPE, capability="read"))
    answer: dict[str, Any] = to_wire(changed.value)
    if common.json:
        print_json(answer)
    else:
        print_text(f"{provider} is switched {'off' if off else 'on'}.")
        own = [space for space in known if space["providerId"] == provider and not off]
        if own:
            print_text("\n".join(("Its Memory Spaces:", *map(_line, own))))
    return 0


def _settings(given: Sequence[str]) -> dict[str, str]:
    settings: dict[str, str] = {}
    for item in given:
        key, found, value = item.partition("=")
        if not found or not key:
            raise InputError("usage", f"--set wants key=value, not {item!r}")
        settings[key] = value
    return settings


def _changed(value: Any, word: str, common: Common) -> int:
    answer: dict[str, Any] = to_wire(value)
    if common.json:
        print_json(answer)
    else:
        print_text(f"{word}: {answer['body']['name']} [{answer['body']['id']}]")
    return 0

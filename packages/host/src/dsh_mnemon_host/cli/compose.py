"""``dsh-mnemon compose``: what takes part in memory, and changing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import App, Parameter
from dsh_mnemon_core.errors import InputError

from dsh_mnemon_host.cli.invocation import Common, open_host
from dsh_mnemon_host.cli.output import print_json, print_text
from dsh_mnemon_host.composition.change import Change

__all__ = ("app",)

app = App(
    name="compose",
    help="The composition: Sources, one main Strategy, enhancements. Changes serve from the next "
    "turn on; a turn that is open keeps its View.\n\nExample: `dsh-mnemon compose list`",
    help_format="markdown",
)

Several = Annotated[list[str] | None, Parameter(negative="")]

_COMMON = Common()


@app.command(name="list")
async def _list(*, common: Common = _COMMON) -> int:
    """List the entries of the profile: what each is, and whether it takes part.

    Example: `dsh-mnemon compose list`
    """
    async with open_host(common) as host:
        shown = await host.composition.describe()
    if common.json:
        print_json(shown)
    else:
        print_text(_table(shown))
    return 0


def _table(shown: Mapping[str, Any]) -> str:
    rows = [("entry", "state", "what it is", "package")]
    for entry in shown["entries"]:
        mark = "*" if entry["entryId"] == shown.get("servingEntryId") else ""
        rows.append((entry["entryId"], entry["state"] + mark, _kind(entry), entry["packageName"]))
        rows += [
            (f"  {child['id']}", child["state"], "Provider", child["packageName"])
            for child in entry.get("children", ())
        ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [
        "  ".join((*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]))
        for row in rows
    ]
    lines += [
        f"! {entry['entryId']}: {entry['diagnostic']}"
        for entry in shown["entries"]
        if "diagnostic" in entry
    ]
    lines += [
        f"! {child['id']}: {child['diagnostic']}"
        for entry in shown["entries"]
        for child in entry.get("children", ())
        if child["state"] in ("failed", "unknown")
    ]
    lines += [f"! saved choices are not in force: {i['message']}" for i in shown["diagnostics"]]
    lines.append(_in_force(shown))
    return "\n".join(lines)


def _in_force(shown: Mapping[str, Any]) -> str:
    chosen, name = shown["strategyTypeId"], shown.get("servingEntryId")
    if name is None:
        return f"No main Strategy is in force; {_strategy_name(chosen, shown)} is chosen."
    types = {entry["entryId"]: entry.get("strategyTypeId") for entry in shown["entries"]}
    serving = _strategy_name(types.get(name) or name, shown)
    apart = "" if types.get(name) == chosen else f"; {chosen} is chosen, but cannot serve"
    return f"* main Strategy in force: {serving}{apart}"


def _strategy_name(type_id: str, shown: Mapping[str, Any]) -> str:
    """Return a type id, and the label that people know it by."""
    labels = {entry.get("strategyTypeId"): entry["label"] for entry in shown["entries"]}
    return f"{type_id} ({labels[type_id]['en']})" if type_id in labels else type_id


def _kind(entry: Mapping[str, Any]) -> str:
    named = {"source": "Source", "strategy": "main Strategy", "strategy-extension": "enhancement"}
    if not entry["writable"]:
        return "Host"
    slot = f" ({entry['slot']})" if entry.get("slot") else ""
    kind = ", ".join(named[role] for role in entry["roles"]) + slot
    return f"{kind}: {entry['label']['en']}" if kind else "-"


@app.command(name="preview")
async def _preview(
    *,
    enable: Several = None,
    disable: Several = None,
    strategy: str | None = None,
    common: Common = _COMMON,
) -> int:
    """Show what a change would do to the next View, and change nothing.

    Example: `dsh-mnemon compose preview --enable mnemon-strategy-light-context`

    Parameters
    ----------
    enable
        Entry to switch on; may be repeated.
    disable
        Entry to switch off; may be repeated.
    strategy
        Main Strategy to serve: its type id, its name in any case, or the id of its entry.
    """
    if not (enable or disable or strategy):
        raise InputError("usage", "say what is to change: --enable, --disable or --strategy.")
    change = Change(enable=tuple(enable or ()), disable=tuple(disable or ()), strategy=strategy)
    async with open_host(common) as host:
        shown = await host.composition.preview(change)
    if common.json:
        print_json(shown)
    else:
        print_text(_difference(shown))
    return 1 if "problem" in shown else 0


def _difference(shown: Mapping[str, Any]) -> str:
    lines = _changed(shown["changes"], shown["strategyTypeId"])
    if not lines:
        lines.append("Everything is like that already.")
    if "problem" in shown:
        problem = shown["problem"]
        lines.append(f"This cannot be: {problem['message']} [{problem['code']}]")
        return "\n".join(lines)
    before, after = shown["before"], shown["after"]
    if "problem" in before:
        lines.append(f"There is no View now: {before['problem']['message']}")
        before = {"projection": (), "routes": (), "actions": (), "sections": ()}
    lines += _projection(before["projection"], after["projection"])
    for kind in ("routes", "actions"):
        lines += _members(kind, before[kind], after[kind])
    lines += _sections(before["sections"], after["sections"])
    lines += [f"! {item['message']}" for item in after["diagnostics"]]
    same = ("projection", "routes", "actions", "sections")
    if all(before[part] == after[part] for part in same):
        lines.append("The next View would hold the same as now.")
    return "\n".join(lines)


def _changed(changes: Sequence[Mapping[str, Any]], strategy: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{item['entryId']}: {_state(item['from'])} -> {_state(item['to'])}" for item in changes
    ]
    if strategy.get("from") != strategy.get("to"):
        lines.append(f"main Strategy: {strategy['from']} -> {strategy['to']}")
    return lines


def _state(on: bool) -> str:
    return "on" if on else "off"


def _projection(
    before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]
) -> list[str]:
    old = {item["source"]: item for item in before}
    new = {item["source"]: item for item in after}
    return [
        f"  {source}: {_share(old.get(source))} -> {_share(new.get(source))}"
        for source in dict.fromkeys((*old, *new))
        if old.get(source) != new.get(source)
    ]


def _sections(before: Sequence[Mapping[str, Any]], after: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name the guidance texts that would be others."""
    old = {item["name"]: item for item in before}
    new = {item["name"]: item for item in after}
    sizes = {name: (_size(old.get(name)), _size(new.get(name))) for name in (*old, *new)}
    return [
        f"  text {name}: {was} -> {becomes}"
        for name, (was, becomes) in sizes.items()
        if old.get(name) != new.get(name)
    ]


def _size(section: Mapping[str, Any] | None) -> str:
    return "none" if section is None else f"{section['characters']} characters"


def _share(item: Mapping[str, Any] | None) -> str:
    return "nothing" if item is None else f"{item['mode']}, {item['characters']} characters"


def _members(kind: str, before: Sequence[str], after: Sequence[str]) -> list[str]:
    gone = [name for name in before if name not in after]
    come = [name for name in after if name not in before]
    return [f"  {kind}: - {name}" for name in gone] + [f"  {kind}: + {name}" for name in come]


@app.command(name="enable")
async def _enable(entry: list[str], /, *, common: Common = _COMMON) -> int:
    """Switch entries on, together.

    Example: `dsh-mnemon compose enable mnemon-strategy-scoped`

    Parameters
    ----------
    entry
        Ids of entries, as `compose list` shows them.
    """
    return await _apply(Change(enable=tuple(entry)), common)


@app.command(name="disable")
async def _disable(entry: list[str], /, *, common: Common = _COMMON) -> int:
    """Switch entries off, together; nothing that they hold is deleted.

    Example: `dsh-mnemon compose disable mnemon-strategy-scoped`

    Parameters
    ----------
    entry
        Ids of entries, as `compose list` shows them.
    """
    return await _apply(Change(disable=tuple(entry)), common)


@app.command(name="strategy")
async def _strategy(name: str, /, *, common: Common = _COMMON) -> int:
    """Choose the main Strategy.

    Example: `dsh-mnemon compose strategy layered`

    Parameters
    ----------
    name
        Its type id, such as `default-three-tier` or `general`; its name in any case, such as
        `layered`; or the id of its entry.
    """
    return await _apply(Change(strategy=name), common)


async def _apply(change: Change, common: Common) -> int:
    async with open_host(common) as host:
        shown = await host.composition.apply(change)
    if common.json:
        print_json(shown)
    else:
        print_text(_outcome(shown))
    return 0


def _outcome(shown: Mapping[str, Any]) -> str:
    """Say what a change changed, and which main Strategy serves where another one is chosen."""
    lines = _changed(shown["changed"], shown.get("changedStrategy", {}))
    lines = [f"{line}; serves from the next turn" for line in lines] or ["Nothing to change."]
    serving = {entry["entryId"]: entry.get("strategyTypeId") for entry in shown["entries"]}
    if serving.get(shown.get("servingEntryId")) != shown["strategyTypeId"]:
        lines.append(_in_force(shown))
    lines += [f"! saved choices are not in force: {i['message']}" for i in shown["diagnostics"]]
    return "\n".join(lines)

"""The entries of a profile as people see them: what each is, gives and needs (host.md §20)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

import attrs
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.plugin import MemoryPlugin
from dsh_mnemon_core.profile import Row, RowReport, load_plugin
from dsh_mnemon_core.values import thaw

from dsh_mnemon_host.composition.choices import HOST_MODULE

__all__ = ("Entry", "EntryState", "read_entries")

EntryState: TypeAlias = Literal["active", "pending", "disabled", "absent", "failed"]

_SLOTS: Final = ("selection", "projection", "capture")
_PREFIX: Final = "strategy."
_ORDER: Final = ("source", "strategy", "strategy-extension")


@attrs.frozen(kw_only=True)
class Entry:
    """One row of the profile under the choices in force.

    Attributes:
        id: Row id.
        package: Distribution that provides it.
        roles: ``source``, ``strategy``, ``strategy-extension``; none for the Host.
        strategy_type_id: Type id of the main Strategy it provides, if it does.
        slot: Slot of the enhancement it provides, if it does.
        label: ``{en, zh-CN}``.
        description: ``{en, zh-CN}``.
        provides: ``{id, exclusive}`` of each capability.
        requires: Capability ids.
        enabled: Whether it is switched on.
        state: Where it stands; ``absent`` when its package is not installed.
        writable: Whether it can be switched.
        config: Its options in force, secrets in clear; never shown to anybody as they are.
        problem: Why it does not run.
    """

    id: str
    package: str
    roles: tuple[str, ...] = ()
    strategy_type_id: str | None = None
    slot: str | None = None
    label: Mapping[str, str] = attrs.field(factory=dict[str, str])
    description: Mapping[str, str] = attrs.field(factory=dict[str, str])
    provides: tuple[Mapping[str, Any], ...] = ()
    requires: tuple[str, ...] = ()
    enabled: bool
    state: EntryState
    writable: bool = True
    config: Mapping[str, Any] = attrs.field(factory=dict[str, Any], repr=False)
    problem: str | None = None

    def required_by(self, entries: Iterable[Entry]) -> tuple[str, ...]:
        """Return the ids of the entries that are on and need something only this one provides."""
        given = {str(item["id"]) for item in self.provides}
        others = [entry for entry in entries if entry.enabled and entry.id != self.id]
        elsewhere = {str(item["id"]) for entry in others for item in entry.provides}
        return tuple(entry.id for entry in others if (set(entry.requires) & given) - elsewhere)


async def read_entries(rows: Sequence[Row], reports: Sequence[RowReport]) -> tuple[Entry, ...]:
    """Describe rows, in the order of dependency: Sources, Strategies, enhancements, then by name.

    The modules of rows that are off are imported for what they say of themselves; nothing of them
    runs. One that is not installed is ``absent`` and no failure.
    """
    told = {report.id: report for report in reports}
    entries = [await _entry(row, told.get(row.id)) for row in rows]
    return tuple(sorted(entries, key=_rank))


def _rank(entry: Entry) -> tuple[int, str, str]:
    first = entry.roles[0] if entry.roles else ""
    return (_ORDER.index(first) if first in _ORDER else -1, entry.package, entry.id)


async def _entry(row: Row, report: RowReport | None) -> Entry:
    state: EntryState = report.state if report else "disabled"
    problem = report.message if report else None
    plugin: MemoryPlugin | None = None
    try:
        plugin = (await load_plugin(row.module)).memory_plugin
    except ConfigurationError as error:
        absent = error.code == "module-absent"
        state, problem = ("absent" if absent else "failed"), error.message
    entry = Entry(
        id=row.id,
        package=row.module.replace("_", "-"),
        enabled=row.enabled,
        state=state,
        writable=row.module != HOST_MODULE,
        config=row.config,
        problem=problem,
    )
    return entry if plugin is None else attrs.evolve(entry, **_described(plugin))


def _described(plugin: MemoryPlugin) -> dict[str, Any]:
    given = [item.id for item in plugin.provides]
    named = [name.removeprefix(_PREFIX) for name in given if name.startswith(_PREFIX)]
    strategies = [name for name in named if "strategy" in plugin.roles and name not in _SLOTS]
    slots = [name for name in named if name in _SLOTS]
    return {
        "package": plugin.package_name,
        "roles": plugin.roles,
        "strategy_type_id": strategies[0] if strategies else None,
        "slot": slots[0] if slots else None,
        "label": thaw(plugin.label),
        "description": thaw(plugin.description),
        "provides": tuple({"id": i.id, "exclusive": i.exclusive} for i in plugin.provides),
        "requires": plugin.requires or (),
    }

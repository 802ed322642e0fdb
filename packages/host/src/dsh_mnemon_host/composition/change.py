"""A wanted change of the composition, and the choices it comes to (host.md §20)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from dsh_mnemon_core.errors import AuthorityError, InputError
from dsh_mnemon_core.values import thaw
from dsh_mnemon_core.wire import nearest

from dsh_mnemon_host.composition.children import child_names
from dsh_mnemon_host.composition.entries import Entry
from dsh_mnemon_host.config import EntryChoice, MemoryView
from dsh_mnemon_host.config.redaction import restore

__all__ = ("Change", "choices_after")


@attrs.frozen(kw_only=True)
class Change:
    """What somebody wants.

    Attributes:
        enable: Ids of entries to switch on.
        disable: Ids of entries to switch off.
        strategy: Main Strategy to serve: a type id, a label in any case, or the id of its entry.
        configs: Options of entries by id; they replace the saved ones.
    """

    enable: tuple[str, ...] = ()
    disable: tuple[str, ...] = ()
    strategy: str | None = None
    configs: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict[str, Mapping[str, Any]])


def choices_after(change: Change, choices: MemoryView, entries: Sequence[Entry]) -> MemoryView:
    """Return the choices once a change is made.

    Raises:
        InputError: ``change-empty``, ``entry-unknown``, ``entry-contradictory``,
            ``strategy-unknown``.
        AuthorityError: ``entry-locked``: the Host's own entry.
    """
    if not (change.enable or change.disable or change.strategy or change.configs):
        raise InputError("change-empty", "say what is to change")
    known = {entry.id: entry for entry in entries}
    for name in (*change.enable, *change.disable, *change.configs):
        _check_known(name, known)
    both = sorted(set(change.enable) & set(change.disable))
    if both:
        raise InputError("entry-contradictory", f"{both[0]} cannot be switched on and off at once")
    wanted = dict.fromkeys(change.enable, True) | dict.fromkeys(change.disable, False)
    chosen = choices.strategy_type_id
    if change.strategy is not None:
        entry = _strategy(change.strategy, entries)
        chosen = entry.strategy_type_id
        wanted.setdefault(entry.id, True)
    saved = dict(choices.entries)
    for name in dict.fromkeys((*wanted, *change.configs)):
        former = saved.get(name)
        saved[name] = EntryChoice(
            enabled=wanted.get(name, former.enabled if former else known[name].enabled),
            config=_config(change, known[name], former),
        )
    strategy = {} if chosen is None else {"strategyTypeId": chosen}
    return MemoryView.model_validate({"entries": saved, **strategy})


def _config(change: Change, entry: Entry, former: EntryChoice | None) -> Mapping[str, Any]:
    """Return the options to save; a secret that is sent back as it was shown stays what it is."""
    if entry.id in change.configs:
        sent: dict[str, Any] = restore(change.configs[entry.id], thaw(entry.config))
        return sent
    return former.config if former else {}


def _check_known(name: str, known: Mapping[str, Entry]) -> None:
    if name not in known:
        _check_no_child(name, known)
        raise InputError(
            "entry-unknown",
            f"the profile has no entry {name!r}{nearest(name, known)}; `dsh-mnemon compose list` "
            "shows them all",
        )
    if not known[name].writable:
        raise AuthorityError("entry-locked", f"{name} is the Host itself; it stays on")


def _check_no_child(name: str, known: Mapping[str, Entry]) -> None:
    """Point from a Provider, which is no entry, to the command that switches it."""
    for entry in known.values():
        if name in child_names(entry):
            raise InputError(
                "entry-unknown",
                f"{name} is no entry but a Provider of {entry.id}; `dsh-mnemon spaces connect "
                f"{name}` switches it on, with --off it goes off",
            )


def _strategy(name: str, entries: Sequence[Entry]) -> Entry:
    strategies = [entry for entry in entries if entry.strategy_type_id is not None]
    for names in (_ids, _labels):
        fitting = [entry for entry in strategies if name.casefold() in names(entry)]
        if fitting:
            return fitting[0]
    known = [f"{entry.strategy_type_id} ({entry.label['en']})" for entry in strategies]
    raise InputError(
        "strategy-unknown",
        f"no entry provides the main Strategy {name!r}; there are: {', '.join(known) or 'none'}",
    )


def _ids(entry: Entry) -> set[str]:
    return {entry.id.casefold(), str(entry.strategy_type_id)}


def _labels(entry: Entry) -> set[str]:
    return {label.casefold() for label in entry.label.values()}

"""Looking at the composition, trying a change, making it (host.md §20)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dsh_mnemon_core.errors import CompositionRejected, ConflictError, MnemonError
from dsh_mnemon_core.values import configuration_digest
from dsh_mnemon_core.wire import to_wire

from dsh_mnemon_host.composition.change import Change, choices_after
from dsh_mnemon_host.composition.children import read_children
from dsh_mnemon_host.composition.choices import effective_rows
from dsh_mnemon_host.composition.entries import Entry, read_entries
from dsh_mnemon_host.composition.trial import trial, try_view
from dsh_mnemon_host.config import EntryChoice, MemoryView
from dsh_mnemon_host.config.redaction import redact
from dsh_mnemon_host.settings.operations import Operation

if TYPE_CHECKING:
    from dsh_mnemon_host.memory_host import MemoryHost

__all__ = ("Composition",)


class Composition:
    """The composition of one Host.

    Args:
        host: The Host.
    """

    def __init__(self, host: MemoryHost) -> None:
        self._host = host

    async def describe(self) -> dict[str, Any]:
        """Describe what takes part.

        Returns:
            ``{revision, writable, strategyTypeId, servingEntryId?, entries, diagnostics}``:
            ``strategyTypeId`` is the chosen main Strategy, ``servingEntryId`` the entry of the one
            that serves. An entry is ``{entryId,
            packageName, roles, strategyTypeId?, slot?, label, description, provides, requires,
            requiredBy, enabled, active, state, writable, config, diagnostic?, children?}``; Sources
            come first, then Strategies and enhancements, each by name. ``children`` are the
            Providers below an entry, as `read_children` describes them. A secret in ``config``
            stands as `REDACTED`.
        """
        entries = await self._entries()
        problem = self._host.choices_problem
        serving = (await self._host.graph()).evaluation.strategy_instance_key
        return {
            "revision": self._revision(entries),
            "writable": self._host.settings.writable,
            "strategyTypeId": self._chosen(),
            **({"servingEntryId": serving.removeprefix("strategy:")} if serving else {}),
            "entries": [
                {**_shown(entry, entries), **(await self._children(entry))} for entry in entries
            ],
            "diagnostics": [problem.to_wire()] if problem is not None else [],
        }

    async def preview(self, change: Change) -> dict[str, Any]:
        """Compose a View as it would be after a change, and publish nothing.

        Returns:
            ``{revision, changes: [{entryId, from, to}], strategyTypeId: {from, to}, before, after?,
            problem?}``; ``before`` and ``after`` as `shown_view`, ``problem`` says why it cannot
            be.

        Raises:
            InputError, AuthorityError: The change itself is wrong; see `choices_after`.
        """
        entries = await self._entries()
        choices = choices_after(change, self._choices(), entries)
        host = self._host
        serving = await host.graph()
        config = host.resolved_with(choices)
        shown: dict[str, Any] = {
            "revision": self._revision(entries),
            "changes": _changes(entries, choices),
            "strategyTypeId": {"from": self._chosen(), "to": config.strategy_type_id},
        }
        try:
            shown["before"] = await try_view(serving, host.workspace)
        except MnemonError as error:
            shown["before"] = {"problem": error.to_wire()}
        rows = effective_rows(host.rows.rows, choices)
        try:
            ill = [row.id for row in host.profile.report() if row.state in ("absent", "failed")]
            async with trial(rows, config, host.workspace, host.now, unusable=ill) as graph:
                shown["after"] = await try_view(graph, host.workspace)
        except MnemonError as error:
            shown["problem"] = error.to_wire()
        return shown

    async def apply(
        self, change: Change, *, expected_revision: str | None = None
    ) -> dict[str, Any]:
        """Make a change: prove it with a View first, store it, serve it from the next turn on.

        A failure at any point leaves settings, entries and the serving composition as they were.

        Args:
            change: What is wanted.
            expected_revision: The ``revision`` that the caller saw, when it has to be that one.

        Returns:
            As `describe`, after the change, with ``changed``: ``[{entryId, from, to}]``, and
            ``changedStrategy``: ``{from, to}``, the type ids, where that is another.

        Raises:
            ConflictError: ``composition-moved``, ``SETTINGS_CONFLICT``.
            CompositionRejected, ViewRejected: The change does not compose; the message names who.
            InputError, AuthorityError: As `choices_after`.
            StorageError: The settings cannot be written.
        """
        entries = await self._entries()
        if expected_revision is not None and expected_revision != self._revision(entries):
            raise ConflictError(
                "composition-moved", "the composition has changed meanwhile; look at it again"
            )
        choices = choices_after(change, self._choices(), entries)
        for entry in entries:
            # A row that is on already and does not run is not mounted anew: it would say nothing.
            if entry.id in change.enable and entry.enabled and entry.problem is not None:
                raise CompositionRejected("entry-unusable", f"{entry.id}: {entry.problem}")
        changed, former = _changes(entries, choices), self._chosen()
        edit = _operations(choices, self._choices())
        if edit:
            await self._host.settings.mutate("mnemon", edit)
        now = self._chosen()
        strategy = {} if now == former else {"changedStrategy": {"from": former, "to": now}}
        return {**await self.describe(), "changed": changed, **strategy}

    async def _children(self, entry: Entry) -> dict[str, Any]:
        host = self._host
        children = await read_children(entry, await host.graph(), host.workspace)
        return {"children": children} if children else {}

    async def _entries(self) -> tuple[Entry, ...]:
        return await read_entries(self._host.rows.current, self._host.profile.report())

    def _choices(self) -> MemoryView:
        return self._host.live.config.config.memory_view

    def _chosen(self) -> str | None:
        return self._host.live.config.strategy_type_id

    def _revision(self, entries: Sequence[Entry]) -> str:
        """Return the digest of all that a change could meet, secrets among it."""
        return configuration_digest(
            {
                "settings": [
                    {"ns": space.ns, "revision": space.revision}
                    for space in self._host.settings.describe()
                ],
                "entries": [
                    {**_shown(entry, entries), "config": to_wire(dict(entry.config))}
                    for entry in entries
                ],
            }
        )


def _operations(choices: MemoryView, former: MemoryView) -> list[Operation]:
    """Return the edit of the settings document; what did not change is not touched."""
    edit = [
        Operation(("memoryView", "entries", name), _document(choice))
        for name, choice in choices.entries.items()
        if former.entries.get(name) != choice
    ]
    if choices.strategy_type_id != former.strategy_type_id:
        edit.append(Operation(("memoryView", "strategyTypeId"), choices.strategy_type_id))
    return edit


def _document(choice: EntryChoice) -> dict[str, Any]:
    config = dict(choice.config)
    return {"enabled": choice.enabled, **({"config": config} if config else {})}


def _changes(entries: Sequence[Entry], choices: MemoryView) -> list[dict[str, Any]]:
    chosen = {
        entry.id: choices.entries[entry.id].enabled
        for entry in entries
        if entry.id in choices.entries
    }
    return [
        {"entryId": entry.id, "from": entry.enabled, "to": chosen[entry.id]}
        for entry in entries
        if chosen.get(entry.id, entry.enabled) != entry.enabled
    ]


def _shown(entry: Entry, entries: Sequence[Entry]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "entryId": entry.id,
        "packageName": entry.package,
        "roles": list(entry.roles),
        "strategyTypeId": entry.strategy_type_id,
        "slot": entry.slot,
        "label": dict(entry.label),
        "description": dict(entry.description),
        "provides": [dict(item) for item in entry.provides],
        "requires": list(entry.requires),
        "requiredBy": list(entry.required_by(entries)),
        "enabled": entry.enabled,
        "active": entry.state == "active",
        "state": entry.state,
        "writable": entry.writable,
        "config": redact(to_wire(dict(entry.config))),
        "diagnostic": entry.problem,
    }
    return {key: value for key, value in shown.items() if value is not None}

"""Saved choices over a profile's rows (host.md §20, ``memoryView.entries``)."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Final

import anyio
import attrs
from dsh_mnemon_core.errors import CompositionRejected
from dsh_mnemon_core.profile import MountedProfile, Row, RowReport

from dsh_mnemon_host.config import MemoryView

__all__ = ("HOST_MODULE", "ChosenRows", "effective_rows", "switched_off", "switched_on")

_log = logging.getLogger(__name__)

HOST_MODULE: Final = "dsh_mnemon_host"
"""The module of the Host's own row, which no choice can switch off."""


def effective_rows(rows: Iterable[Row], choices: MemoryView) -> tuple[Row, ...]:
    """Apply choices to rows; choices for rows that are not there are kept aside (D33).

    A choice says whether the row is on, and its options win over the row's, key by key.
    """
    return tuple(_chosen(row, choices) for row in rows)


def switched_off(rows: Iterable[Row], type_id: str) -> str | None:
    """Return the id of the row that is off and would provide a default type of Source."""
    return next((row.id for row in rows if not row.enabled and _provides(row, type_id)), None)


def switched_on(rows: Iterable[Row], type_id: str) -> bool:
    """Tell whether a row that provides a default type of Source is on, failed or not."""
    return any(row.enabled and _provides(row, type_id) for row in rows)


def _provides(row: Row, type_id: str) -> bool:
    """Tell by its name, as its module is not imported, whether a row provides a default type."""
    return row.module == f"dsh_mnemon_source_{type_id.replace('-', '_')}"


def _chosen(row: Row, choices: MemoryView) -> Row:
    choice = choices.entries.get(row.id)
    if choice is None or row.module == HOST_MODULE:
        return row
    return attrs.evolve(row, enabled=choice.enabled, config={**row.config, **choice.config})


class ChosenRows:
    """The mounted rows of a profile, under the choices in force.

    Args:
        mounted: The mounted profile.
        rows: Its rows, as the profile spells them.
    """

    def __init__(self, mounted: MountedProfile, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)
        self._mounted = mounted
        self._current = self.rows

    @property
    def current(self) -> tuple[Row, ...]:
        """The rows in force, choices included."""
        return self._current

    @asynccontextmanager
    async def under(self, choices: MemoryView, *, strict: bool) -> AsyncGenerator[bool]:
        """Mount the rows of some choices; the former ones are back when the block raises.

        Args:
            choices: What is chosen.
            strict: Whether an entry that is switched on and cannot run refuses the change; else it
                fails alone (D27).

        Yields:
            Whether anything changed.

        Raises:
            ConfigurationError: ``config-invalid``.
            CompositionRejected: ``entry-unusable``: an entry is absent or fails.
        """
        former, wanted = self._current, effective_rows(self.rows, choices)
        if wanted == former:
            yield False
            return
        try:
            await self._apply(wanted, strict=strict)
            if strict:
                self._check_usable(former)
            yield True
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._apply(former, strict=False)
            raise

    async def _apply(self, rows: tuple[Row, ...], *, strict: bool) -> None:
        try:
            await self._mounted.apply(rows, strict=strict)
        except ExceptionGroup:
            _log.exception("an entry was not undone cleanly")
        self._current = rows

    def _check_usable(self, former: Sequence[Row]) -> None:
        before = {row.id: row for row in former}
        changed = {row.id for row in self._current if before.get(row.id) != row}
        unusable = [
            report
            for report in self._mounted.report()
            if report.id in changed and report.state in ("absent", "failed", "pending")
        ]
        if unusable:
            raise CompositionRejected(
                "entry-unusable",
                "; ".join(f"{item.id}: {_reason(item)}" for item in unusable),
                details={"entries": [item.id for item in unusable]},
            )


def _reason(report: RowReport) -> str:
    return report.message or report.state

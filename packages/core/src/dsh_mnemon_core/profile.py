"""Profiles: rows to mounted plugins, explicit only (spec/core.md §19.4, D15, D27, D33)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeAlias

import anyio

from dsh_mnemon_core._foreign import calling
from dsh_mnemon_core._rows import Profile, Row, load_profile
from dsh_mnemon_core._seat import RowReport, RowState, Seat, load_plugin
from dsh_mnemon_core.errors import ConfigurationError
from dsh_mnemon_core.fiber import Context

__all__ = (
    "Batch",
    "MountedProfile",
    "Profile",
    "Row",
    "RowReport",
    "RowState",
    "load_plugin",
    "load_profile",
    "mount_profile",
)

Batch: TypeAlias = Callable[[], AbstractContextManager[Any]]
"""Opens a batch of the memory runtime; batches nest."""


class MountedProfile:
    """The rows of a profile, mounted; made by `mount_profile`."""

    def __init__(self, ctx: Context, batch: Batch) -> None:
        self._ctx = ctx
        self._batch = batch
        self._seats: dict[str, Seat] = {}
        self._lock = anyio.Lock()

    def report(self) -> tuple[RowReport, ...]:
        """Tell for every row, in order, where it stands at this moment."""
        return tuple(seat.report(self._ctx) for seat in self._seats.values())

    async def apply(self, rows: Iterable[Row], *, strict: bool = True) -> None:
        """Change to other rows; rows that are equal and alive are not touched.

        All new configurations are validated first. Then, inside one batch, rows that left are
        unmounted, the last row first, rows with another configuration restart, and new ones are
        mounted in order. Rows that had failed or were absent are tried again. Not to be awaited by
        a task that belongs to a row which thereby ends.

        Args:
            rows: All rows there shall be, in order.
            strict: Whether an invalid new configuration refuses the change; else it fails its row.

        Raises:
            ConfigurationError: ``row-duplicated``, or ``config-invalid`` for every row whose new
                configuration is wrong (``details["rows"]``: row id to problems); nothing changed.
            ExceptionGroup: What could not be undone; the change is complete nevertheless.
        """
        profile = Profile(rows=tuple(rows))
        async with self._lock:
            seats = {row.id: await self._prepare(row) for row in profile.rows}
            if strict:
                self._refuse_invalid(seats.values())
            with self._batch():
                failures = await self._unmount(seats)
                staying = set(self._seats)
                for seat in sorted(seats.values(), key=lambda seat: seat.row.id not in staying):
                    await self._take(seat)
                for seat in seats.values():
                    if seat.fiber is not None:
                        await seat.fiber.settled()
            self._seats = seats
        if failures:
            raise ExceptionGroup("not every row was undone cleanly", failures)

    async def dispose(self) -> None:
        """Unmount every row, the last first, inside one batch, whatever happens to the caller.

        Raises:
            ExceptionGroup: What could not be undone.
        """
        with anyio.CancelScope(shield=True):
            await self.apply(())

    async def _prepare(self, row: Row) -> Seat:
        """Load and configure a row, unless it is alive already."""
        old = self._seats.get(row.id)
        if old is not None and old.serves(row):
            return old
        seat = Seat(row)
        if row.problem is not None:
            seat.fail(row.problem)
        elif row.enabled:
            try:
                seat.plugin = await load_plugin(row.module)
                with calling(ConfigurationError, "row-failed", "its configuration model failed"):
                    seat.config = seat.plugin.configure(row.config, f"row {row.id!r}")
            except ConfigurationError as error:
                seat.fail(error)
        return seat

    def _refuse_invalid(self, seats: Iterable[Seat]) -> None:
        """Refuse configurations that are both new and invalid."""
        known = [seat.row for seat in self._seats.values()]
        refused = {
            seat.row.id: seat.refusal
            for seat in seats
            if seat.refusal is not None and seat.row not in known
        }
        if refused:
            raise ConfigurationError(
                "config-invalid",
                "; ".join(error.message for error in refused.values()),
                details={
                    "rows": {key: error.details["problems"] for key, error in refused.items()}
                },
            )

    async def _unmount(self, seats: Mapping[str, Seat]) -> list[Exception]:
        """Unmount, last row first, what neither stays nor restarts; return what failed."""
        failures: list[Exception] = []
        for row_id, seat in reversed(list(self._seats.items())):
            successor = seats.get(row_id)
            if successor is seat or seat.restarts_as(successor):
                continue
            del self._seats[row_id]
            try:
                if seat.fiber is not None:
                    await seat.fiber.dispose()
            except ExceptionGroup as group:
                failures.extend(group.exceptions)
        return failures

    async def _take(self, seat: Seat) -> None:
        """Let a row take its seat: restart the Fiber that stays there, or mount one."""
        old = self._seats.get(seat.row.id)
        self._seats[seat.row.id] = seat
        try:
            if old is not None and old is not seat and old.fiber is not None:
                seat.fiber = old.fiber
                await seat.fiber.update(seat.config)
            elif seat.fiber is None and seat.plugin is not None and seat.config is not None:
                seat.fiber = await self._ctx.mount(seat.plugin, seat.config, entry_id=seat.row.id)
        except Exception as error:
            seat.fail(error)


async def mount_profile(
    ctx: Context, profile: Profile, *, batch: Batch = nullcontext
) -> MountedProfile:
    """Mount the rows of a profile, in order, as children of a Context.

    Exactly the modules of enabled rows are imported, nothing is scanned. A row that cannot be
    imported, configured or started fails alone; see `MountedProfile.report`.

    Args:
        ctx: Where the rows live; services of rows are published there.
        profile: Rows.
        batch: Opens a batch of the memory runtime, so that it composes once for all rows.

    Raises:
        BaseException: Cancellation and failures of ``batch`` itself; all rows are unmounted.
    """
    mounted = MountedProfile(ctx, batch)
    try:
        await mounted.apply(profile.rows, strict=False)
    except BaseException:
        await mounted.dispose()
        raise
    return mounted

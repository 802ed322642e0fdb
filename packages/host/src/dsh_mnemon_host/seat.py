"""The Host's row of a profile: it provides the one service every other row requires (D28)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Self

from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_core.fiber import Context, Plugin
from dsh_mnemon_core.runtime import MemoryRuntime
from dsh_mnemon_core.sdk import MEMORY_SERVICE
from pydantic import BaseModel, ConfigDict, model_validator

from dsh_mnemon_host.config import HostConfig, read_strict

__all__ = ("HOST_SEAT", "HostRow", "HostSeat", "plugin")

HOST_SEAT: Final = "mnemonHostSeat"
"""Key under which a `MemoryHost` leaves its seat on the root; no plugin requires it."""


class HostRow(BaseModel):
    """The row's configuration: any Host setting, as the distribution's layer (host.md §2.1)."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _strict(cls, value: Any) -> Any:
        read_strict(HostConfig, value, where="row ")
        return value

    def layer(self) -> dict[str, Any]:
        """Return the settings as the row spells them."""
        return dict(self.model_extra or {})


class HostSeat:
    """Where the row meets the `MemoryHost` that mounted it.

    Args:
        runtime: The memory runtime of that Host.
    """

    def __init__(self, runtime: MemoryRuntime) -> None:
        self.runtime = runtime
        self._layer: Mapping[str, Any] = {}

    @property
    def layer(self) -> Mapping[str, Any]:
        """Settings of the distribution, once the row has been mounted."""
        return self._layer

    def take(self, row: HostRow) -> Self:
        """Note the row's settings."""
        self._layer = row.layer()
        return self


def _apply(ctx: Context, config: HostRow) -> None:
    seat: HostSeat | None = ctx.get(HOST_SEAT)
    if seat is None:
        raise LifecycleError(
            "host-seat-missing", "the Host's row can only be mounted by MemoryHost.open"
        )
    ctx.provide(MEMORY_SERVICE, seat.take(config).runtime.service)


plugin = Plugin(name="dsh-mnemon-host", apply=_apply, config_model=HostRow)

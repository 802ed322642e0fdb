"""One row of a mounted profile: loaded, configured, mounted; or why not (spec/README.md D27)."""

from __future__ import annotations

import importlib
import logging
import traceback
from contextlib import suppress
from threading import Thread
from typing import Literal, TypeAlias, cast

import anyio
import attrs
from pydantic import BaseModel

from dsh_mnemon_core._rows import Row
from dsh_mnemon_core.errors import ConfigurationError, LifecycleError, MnemonError
from dsh_mnemon_core.fiber import Context, Fiber, Plugin

_log = logging.getLogger(__name__)

RowState: TypeAlias = Literal["active", "pending", "disabled", "absent", "failed"]
"""``absent``: the module is not installed; ``pending``: a required service is missing."""


@attrs.frozen(kw_only=True)
class RowReport:
    """What became of one row.

    Attributes:
        id: Row id.
        module: The module it names.
        state: Where it stands now.
        code: Stable code when ``absent`` or ``failed``.
        message: Sentence for a person when ``absent``, ``failed`` or ``pending``; holds no text of
            a foreign exception raised at start, which goes to the log instead.
    """

    id: str
    module: str
    state: RowState
    code: str | None = None
    message: str | None = None


async def load_plugin(module: str, *, seconds: float = 60) -> Plugin:
    """Import one module, in a thread of its own, and return the ``plugin`` it exposes.

    Args:
        module: Importable name.
        seconds: How long the import may take; the thread of one that takes longer is left alone,
            and keeps no process from ending.

    Raises:
        ConfigurationError: ``module-absent`` when that very module is not installed,
            ``module-import-failed`` for any other failure, ``module-import-timeout``,
            ``plugin-missing``.
    """
    found: list[Plugin | ConfigurationError] = []
    done, token = anyio.Event(), anyio.lowlevel.current_token()

    def work() -> None:
        found.append(_import(module))
        with suppress(RuntimeError):  # the loop is gone
            anyio.from_thread.run_sync(done.set, token=token)

    Thread(target=work, name=f"import {module}", daemon=True).start()
    with anyio.move_on_after(seconds):
        await done.wait()
    late = ConfigurationError("module-import-timeout", f"importing {module} takes over {seconds} s")
    plugin = found.pop() if found else late
    if isinstance(plugin, ConfigurationError):
        raise plugin
    return plugin


def _import(module: str) -> Plugin | ConfigurationError:
    """Import and look, where neither Ctrl-C nor cancellation comes: every exception is its own."""
    try:
        plugin = getattr(importlib.import_module(module), "plugin", None)
    except BaseException as error:
        missing = error.name if type(error) is ModuleNotFoundError else None
        if missing and f"{module}.".startswith(f"{missing}."):
            return ConfigurationError("module-absent", f"{module} is not installed")
        reason = traceback.format_exception_only(error)[-1].strip()  # its own text may raise
        failure = ConfigurationError("module-import-failed", f"importing {module} failed: {reason}")
        failure.__cause__ = error
        return failure
    if not issubclass(type(plugin), Plugin):  # it may lie about its class
        return ConfigurationError("plugin-missing", f"{module} exposes no plugin")
    return cast("Plugin", plugin)


@attrs.define(eq=False)
class Seat:
    """A row and how far it got: loaded and configured, then mounted; or why not."""

    row: Row
    plugin: Plugin | None = None
    config: BaseModel | None = None
    fiber: Fiber | None = None
    error: Exception | None = None

    def serves(self, row: Row) -> bool:
        """Tell whether nothing is to be done to get from here to ``row``; failures try again."""
        alive = self.fiber is not None and self.fiber.state in ("active", "pending")
        return self.row == row and (alive or not row.enabled)

    def restarts_as(self, seat: Seat | None) -> bool:
        """Tell whether the Fiber can stay and restart with another configuration."""
        return (
            seat is not None
            and seat.config is not None
            and seat.plugin is self.plugin
            and self.fiber is not None
            and self.fiber.state != "disposed"
        )

    @property
    def refusal(self) -> MnemonError | None:
        """Why its configuration is refused, if it is."""
        if isinstance(self.error, MnemonError) and self.error.code == "config-invalid":
            return self.error
        return None

    def standing(self) -> tuple[RowState, Exception | None]:
        """Return where the row stands and, where it does not run, why."""
        if not self.row.enabled:
            return "disabled", None
        error, state = self.error, "pending"
        if self.fiber is not None:
            error, state = self.fiber.error, self.fiber.state
        if state == "disposed":
            return "failed", LifecycleError("fiber-inactive", "its Fiber was disposed elsewhere")
        if isinstance(error, MnemonError) and error.code == "module-absent":
            return "absent", error
        if error is not None:
            return "failed", error
        return "active" if state == "active" else "pending", None

    def report(self, ctx: Context) -> RowReport:
        """Tell where the row stands among the services of ``ctx``."""
        state, error = self.standing()
        code = message = None
        if isinstance(error, MnemonError):
            code, message = error.code, error.message
        elif error is not None:
            code, message = "row-failed", f"{type(error).__name__} at start; the log has more"
        elif state == "pending" and self.plugin is not None:
            missing = [key for key in self.plugin.requires if ctx.get(key) is None]
            message = f"waits for {', '.join(missing) or 'its turn'}"
        row = self.row
        return RowReport(id=row.id, module=row.module, state=state, code=code, message=message)

    def fail(self, error: Exception) -> None:
        """Keep an error for the report; the log gets all of it."""
        self.error = error
        _log.error("row %s of the profile failed", self.row.id, exc_info=error)

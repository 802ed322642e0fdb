"""The machinery under `fiber`: lives, their runs and the services between them (core.md §19.2).

A `Life` is the lifecycle of one Fiber and has a task of its own; each time its services are there
it makes a `Run`, which owns whatever the plugin does and is undone in that very task, last first.
A life is shielded from outside cancellation: its end is always asked for, so that order holds.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import anyio
import attrs
from anyio.abc import TaskGroup

from dsh_mnemon_core._effect import Effect, report
from dsh_mnemon_core._foreign import contain
from dsh_mnemon_core.errors import LifecycleError

_log = logging.getLogger(__name__)

State: TypeAlias = Literal["pending", "loading", "active", "failed", "unloading", "disposed"]
"""Where a Fiber stands; ``disposed`` is final."""


@attrs.define(eq=False)
class Service:
    """A provided service and the lives that were started because it exists, oldest first."""

    key: str
    value: Any
    owner: Life
    shelf: Run
    withdrawn: bool = False
    users: list[Life] = attrs.Factory(list["Life"])

    def serves(self, life: Life, *, own: bool = False) -> bool:
        """Tell whether it is visible: to its owner if ``own``, to others while that is active."""
        visible = own if self.owner is life else self.owner.state == "active"
        return visible and not self.withdrawn

    async def withdraw(self) -> None:
        """Hide it, wait until every user is unloaded, last started first, and take it away."""
        self.withdrawn = True
        while self.users:
            user = self.users[-1]
            user.renew()
            await user.changed.wait()
        if self.shelf.services.pop(self.key, None):
            self.owner.announce()


class Run:
    """One run of a life: the effects it owns and the services its children publish."""

    def __init__(self, life: Life, parent: Run | None, tasks: TaskGroup) -> None:
        self.life = life
        self.parent = parent
        self.tasks = tasks
        self.effects: dict[Effect, None] = {}
        self.services: dict[str, Service] = {}
        self.open = True

    @property
    def shelf(self) -> Run:
        """Where its own services lie: beside its siblings', the root's in its own run."""
        return self.parent or self

    def check_open(self) -> None:
        """Refuse to own anything after the end."""
        if not self.open:
            raise LifecycleError("fiber-inactive", f"Fiber {self.life.name!r} has ended")

    def find(self, key: str, life: Life, *, own: bool = False) -> Service | None:
        """Return the nearest visible service, from here towards the root."""
        service = self.services.get(key)
        if service is not None and service.serves(life, own=own):
            return service
        return self.parent.find(key, life, own=own) if self.parent else None

    def publish(self, key: str, value: Any) -> Service:
        """Put a service on the shelf and let the lives that may wait for it look."""
        if key in self.shelf.services:
            raise LifecycleError("service-duplicated", f"the service {key!r} is provided already")
        service = self.shelf.services[key] = Service(key, value, self.life, self.shelf)
        self.life.announce()
        return service

    async def close(self) -> list[Exception]:
        """Undo everything, after the users of its services; return what failed."""
        self.open = False
        provided = [item for item in self.shelf.services.values() if item.owner is self.life]
        for service in reversed(provided):
            await service.withdraw()
        failures: list[Exception] = []
        while self.effects:
            failures += await next(reversed(self.effects)).undo()
        return failures


class Life:
    """The lifecycle of one Fiber; ``start`` sets the plugin up on each new run."""

    def __init__(
        self,
        name: str,
        parent: Run | None,
        start: Callable[[Run], object],
        requires: tuple[str, ...] = (),
        entry_id: str | None = None,
    ) -> None:
        self.name = name
        self.entry_id = entry_id
        self.state: State = "pending"
        self.error: Exception | None = None
        self.changed = anyio.Event()
        self._parent = parent
        self._start = start
        self._requires = requires
        self._tree: dict[Life, None] = parent.life._tree if parent else {}
        self._effect: Effect | None = None
        self._task: int | None = None
        self._stale = True
        self._held: list[Service] | None = None
        self._stopping = False
        self._attended = False
        self._failures: list[Exception] = []
        self._wake = anyio.Event()
        self._loading = anyio.CancelScope()

    async def begin(self, parent: Run) -> None:
        """Start under ``parent`` and wait until settled; whatever goes wrong leaves no trace."""
        effect = self._effect = Effect(parent.effects, self._end)
        self._tree[self] = None
        parent.tasks.start_soon(self._live, name=f"fiber {self.name}")
        try:
            await self._attend()
        except BaseException:
            report(await effect.undo())
            raise

    async def restart(self) -> None:
        """Make a new run and wait until settled."""
        self.renew()
        await self._attend()

    async def end(self) -> None:
        """Undo everything and wait for it; the root's life ends with its block instead."""
        if self._task == anyio.get_current_task().id and self.state != "disposed":
            raise LifecycleError("fiber-own-end", "a Fiber cannot wait for its own end")
        if self._effect is not None:
            await self._effect()

    async def settled(self) -> None:
        """Wait until nothing is under way: it is pending, active, failed or disposed."""
        while self.state in ("loading", "unloading") or (
            self.state != "disposed" and self._outdated()
        ):
            await self.changed.wait()

    async def _attend(self) -> None:
        self._attended = True
        try:
            await self.settled()
        finally:
            self._attended = False
        self.check()

    def check(self) -> None:
        """Raise the error of a failed life, and refuse a disposed one."""
        if self.state == "failed" and self.error is not None:
            raise self.error
        if self._stopping:
            raise LifecycleError("fiber-inactive", f"Fiber {self.name!r} has ended")

    def enter(self, state: State) -> None:
        """Take a state and wake whoever waits for a change."""
        self.state = state
        self.changed.set()
        self.changed = anyio.Event()

    def poke(self) -> None:
        """Look again whether the current run is still wanted."""
        self._wake.set()
        if self.state == "loading" and self._over():
            self._loading.cancel()

    def renew(self) -> None:
        """Ask for a new run, even while a service is being withdrawn: it is this life's turn."""
        self._stale = True
        self.poke()

    def announce(self) -> None:
        """Poke every life of the tree, oldest first: a service has come or gone."""
        for life in tuple(self._tree):
            life.poke()

    def _outdated(self) -> bool:
        return self._stopping or self._stale or self._resolve() != self._held

    def _resolve(self) -> list[Service] | None:
        """Return the required services, or ``None`` while one of them is missing."""
        found = [self._parent.find(key, self) for key in self._requires] if self._parent else []
        services = [service for service in found if service is not None]
        return services if len(services) == len(found) else None

    def _over(self) -> bool:
        """Tell whether the run must end; one that loses a service waits for its turn."""
        if self._stopping or self._stale:
            return True
        return self._outdated() and all(item.serves(self) for item in self._held or ())

    async def _until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            self._wake = anyio.Event()
            await self._wake.wait()

    async def _end(self) -> None:
        self._stopping = True
        self.poke()
        while self.state != "disposed":
            await self.changed.wait()
        if self._failures:
            raise ExceptionGroup("not everything was undone cleanly", self._failures)

    async def _live(self) -> None:
        """Live until the end: run when the services are there, anew when they change."""
        self._task = anyio.get_current_task().id
        with anyio.CancelScope(shield=True):
            while not self._stopping:
                self._held, self._stale, self.error = self._resolve(), False, None
                if self._held is None:
                    self.enter("pending")
                else:
                    await self._run(self._held)
                await self._until(self._outdated)
        del self._tree[self]
        self.enter("disposed")

    async def _run(self, held: list[Service]) -> None:
        """Make one run and undo it when it fails or is outdated."""
        for service in held:
            service.users.append(self)
        broken, failures = False, list[Exception]()
        # The guard is opened before the plugin can open scopes of its own, for scopes must nest;
        # it turns into a shield as soon as there is something to undo.
        with anyio.CancelScope() as self._loading, anyio.CancelScope() as guard:
            async with anyio.create_task_group() as tasks:
                run = Run(self, self._parent, tasks)
                self.enter("loading")
                broken = await self._stay(run)
                guard.shield = True
                self.enter("unloading")
                failures = await run.close()
        self._judge(broken, failures)
        for service in held:
            service.users.remove(self)
        if self.error is not None:
            self.enter("failed")

    async def _stay(self, run: Run) -> bool:
        """Start the plugin and stay; tell whether a scope of the plugin's own broke the run."""
        try:
            outcome = self._start(run)
            if inspect.isawaitable(outcome):
                await outcome
            self.enter("active")
            self.announce()
            await self._until(self._over)
        except anyio.get_cancelled_exc_class():
            return not self._over()
        except BaseException as error:
            self.error = contain(error)
        return False

    def _judge(self, broken: bool, failures: list[Exception]) -> None:
        """Settle what becomes of the errors of a run."""
        if broken:
            causes = failures or [LifecycleError("fiber-broken", "its own scope was cancelled")]
            self.error = ExceptionGroup(f"Fiber {self.name!r} broke while it ran", causes)
        elif self._stopping:
            self._failures = failures
        else:
            report(failures)
        if self.error is not None and not self._attended:
            _log.error("Fiber %s failed", self.name, exc_info=self.error)

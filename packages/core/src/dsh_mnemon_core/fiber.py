"""Fibers: who owns what, and in which order it is undone (spec/core.md §2 and §19.2).

A `Fiber` is one mounted plugin. While it runs it has a `Context`: the scope in which the plugin
registers effects, provides services and mounts children. A restart gives the Fiber a fresh one.

Every Fiber has a task of its own. All that was registered on its Context is undone in that task,
strictly last first, whichever way it ends: by disposal, by the end of an ancestor, by the loss of a
required service, by a failure or by cancellation of whoever opened the root.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any, TypeVar

import anyio
import attrs
from pydantic import BaseModel, ConfigDict

from dsh_mnemon_core._effect import Action, Disposer, Effect, Undo, report
from dsh_mnemon_core._life import Life, Run, State
from dsh_mnemon_core.configuration import read_configuration
from dsh_mnemon_core.errors import LifecycleError
from dsh_mnemon_core.plugin import MemoryPlugin

__all__ = (
    "Action",
    "Context",
    "Disposer",
    "Fiber",
    "NoConfig",
    "Plugin",
    "State",
    "Undo",
    "open_root",
)


Entered = TypeVar("Entered")


class NoConfig(BaseModel):
    """The configuration of a plugin that has none."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@attrs.frozen(kw_only=True)
class Plugin:
    """What a plugin module exposes as ``plugin`` (spec/core.md §19.4).

    Attributes:
        name: Name for people and logs.
        apply: Sets the plugin up on a Context; runs in the Fiber's task, sync or async.
        config_model: Frozen pydantic model of the configuration, unknown keys forbidden.
        requires: Service keys that must exist while the plugin runs.
        memory_plugin: Descriptor of what it contributes, readable before anything runs.
    """

    name: str
    apply: Callable[[Context, Any], Awaitable[None] | None]
    config_model: type[BaseModel] = NoConfig
    requires: tuple[str, ...] = ()
    memory_plugin: MemoryPlugin | None = None

    def configure(self, config: object, label: str | None = None) -> BaseModel:
        """Validate a configuration as `read_configuration` does."""
        return read_configuration(self.config_model, config, label or f"plugin {self.name!r}")


class Context:
    """The scope of one run of a Fiber; what its ancestors' scopes hold is visible in it.

    A service is published in the scope where its Fiber was mounted, so that siblings and their
    descendants see it; the root publishes in its own.

    Attributes:
        fiber: The Fiber that runs.
    """

    def __init__(self, run: Run, fiber: Fiber) -> None:
        self.fiber = fiber
        self._run = run

    @property
    def entry_id(self) -> str | None:
        """Location of this Fiber, or of its nearest ancestor that has one."""
        run: Run | None = self._run
        while run is not None and run.life.entry_id is None:
            run = run.parent
        return run.life.entry_id if run else None

    def get(self, key: str) -> Any:
        """Return the nearest visible service, or ``None``; creates no dependency."""
        service = self._run.find(key, self._run.life, own=True)
        return service.value if service else None

    def require(self, key: str) -> Any:
        """Return the nearest visible service to a Fiber that still runs.

        Raises:
            LifecycleError: ``fiber-inactive`` or ``service-missing``.
        """
        self._run.check_open()
        service = self._run.find(key, self._run.life, own=True)
        if service is None:
            raise LifecycleError("service-missing", f"nobody provides the service {key!r} here")
        return service.value

    def provide(self, key: str, service: Any) -> Disposer:
        """Publish a service; others see it while this Fiber is active.

        The Fiber's end, or the disposer, first unloads the Fibers that require it, last started
        first, then withdraws it.

        Raises:
            LifecycleError: ``service-duplicated`` or ``fiber-inactive``.
        """
        self._run.check_open()
        return self.defer(self._run.publish(key, service).withdraw)

    def defer(self, undo: Undo) -> Disposer:
        """Register something to undo when this Fiber ends.

        Raises:
            LifecycleError: ``fiber-inactive``.
        """
        self._run.check_open()
        return Effect(self._run.effects, undo)

    async def effect(self, execute: Action) -> Disposer:
        """Do something now and own how it is undone.

        Args:
            execute: A context manager, async or sync, to enter; or a callable that returns or
                yields what undoes it (one `Undo`, several, or nothing), in sync or async form.
                Undone last first; if it fails midway, what it had yielded is undone at once.

        Raises:
            LifecycleError: ``fiber-inactive``; else whatever ``execute`` raises.
        """
        self._run.check_open()
        effect = Effect(self._run.effects)
        await effect.execute(execute)
        return effect

    async def enter(
        self, manager: AbstractAsyncContextManager[Entered] | AbstractContextManager[Entered]
    ) -> Entered:
        """Enter a context manager as an effect of this Fiber, and return its value.

        A manager that holds a cancel scope, such as a task group, must be entered in the Fiber's
        own task, that is in ``apply``. When a task group entered here breaks while the Fiber is
        active, the Fiber is undone and ``failed``.

        Raises:
            LifecycleError: ``fiber-inactive``; else whatever entering raises.
        """
        self._run.check_open()
        value: Entered = await Effect(self._run.effects).execute(manager)
        return value

    async def mount(
        self, plugin: Plugin, config: object = None, *, entry_id: str | None = None
    ) -> Fiber:
        """Mount a plugin as a child Fiber, which ends with this one at the latest.

        Args:
            plugin: What to run; one plugin may be mounted many times.
            config: Mapping or model instance; ``None`` counts as an empty mapping.
            entry_id: Location of the Fiber, such as the row id of a profile.

        Returns:
            The active Fiber; or the *pending* one while a required service is missing, which starts
            by itself later (see `Fiber.wait`).

        Raises:
            ConfigurationError: ``config-invalid``; nothing was mounted.
            LifecycleError: ``fiber-inactive``.
            Exception: What ``apply`` raised; the Fiber is undone and gone.
        """
        self._run.check_open()
        validated = plugin.configure(config)
        fiber: Fiber  # made below; the life and its handle know each other

        def start(run: Run) -> object:
            return plugin.apply(Context(run, fiber), fiber.config)

        life = Life(plugin.name, self._run, start, plugin.requires, entry_id)
        fiber = Fiber(plugin, validated, life)
        await life.begin(self._run)
        return fiber


class Fiber:
    """One mounted plugin.

    Attributes:
        plugin: What it runs.
        config: Validated configuration of the current or next run.
    """

    def __init__(self, plugin: Plugin, config: BaseModel, life: Life) -> None:
        self.plugin = plugin
        self.config = config
        self._life = life

    @property
    def state(self) -> State:
        """Where it stands."""
        return self._life.state

    @property
    def error(self) -> Exception | None:
        """Why its latest run failed; ``None`` while all is well."""
        return self._life.error

    async def wait(self) -> None:
        """Wait until it is active.

        Raises:
            LifecycleError: ``fiber-inactive`` when it is disposed.
            Exception: What ``apply`` raised, when it failed.
        """
        while self.state not in ("active", "failed", "disposed"):
            await self._life.changed.wait()
        self._life.check()

    async def settled(self) -> None:
        """Wait until nothing is under way: it is pending, active, failed or disposed."""
        await self._life.settled()

    async def update(self, config: object) -> None:
        """Restart with a new configuration, which is validated before anything is touched.

        Raises:
            ConfigurationError: ``config-invalid``; the running Fiber is left alone.
            LifecycleError: ``fiber-inactive``.
            Exception: What ``apply`` raised; the Fiber stays mounted and ``failed``.
        """
        validated = self.plugin.configure(config)
        if self.state == "disposed":
            self._life.check()
        self.config = validated
        await self._life.restart()

    async def dispose(self) -> None:
        """Undo everything, and wait for it whatever happens to the caller; idempotent.

        Raises:
            LifecycleError: ``fiber-own-end`` when called from the Fiber's own task, which would
                wait for itself.
            ExceptionGroup: What could not be undone; the rest is undone.
        """
        await self._life.end()


@asynccontextmanager
async def open_root() -> AsyncGenerator[Context]:
    """Open the root of a tree of Fibers; leaving the block undoes everything.

    Raises:
        ExceptionGroup: What could not be undone; an exception of the body has precedence.
    """
    life = Life("root", None, start=bool)
    root = Fiber(Plugin(name="root", apply=lambda _context, _config: None), NoConfig(), life)
    failure: BaseException | None = None
    failures: list[Exception] = []
    with anyio.CancelScope() as guard:
        async with anyio.create_task_group() as tasks:
            run = Run(life, None, tasks)
            life.enter("active")
            try:
                yield Context(run, root)
            except BaseException as error:
                failure = error  # raised again below, where no task group wraps it
            guard.shield = True
            life.enter("unloading")
            failures = await run.close()
            life.enter("disposed")
    if failures and (failure is None or isinstance(failure, anyio.get_cancelled_exc_class())):
        raise ExceptionGroup("not everything was undone cleanly", failures)
    if failure is not None:
        report(failures)
        raise failure

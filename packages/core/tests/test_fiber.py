"""Ownership, order of undoing, services and states of Fibers (spec/core.md §2, §19.2)."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import pytest
from dsh_mnemon_core.errors import ConfigurationError, LifecycleError
from dsh_mnemon_core.fiber import Context, NoConfig, Plugin, open_root
from pydantic import BaseModel, ConfigDict

Apply = Callable[[Context, Any], Awaitable[None] | None]


class Numbered(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    number: int = 0


def plugin(name: str, apply: Apply = lambda ctx, config: None, *requires: str) -> Plugin:
    return Plugin(name=name, apply=apply, requires=requires)


class Trace:
    """Collects what happens, and makes plugins that say when they start and stop."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def plugin(self, name: str, *requires: str, provides: str | None = None) -> Plugin:
        def apply(ctx: Context, _config: object) -> None:
            self.events.append(f"{name} up")
            ctx.defer(lambda: self.events.append(f"{name} down"))
            if provides:
                ctx.provide(provides, name)

        return plugin(name, apply, *requires)

    def take(self) -> list[str]:
        events, self.events = self.events, []
        return events


def tasks() -> set[Any]:
    return asyncio.all_tasks()


def codes(caught: pytest.ExceptionInfo[Any]) -> str:
    return caught.value.code


# Effects of one Fiber


async def test_effects_are_undone_last_first_and_awaited() -> None:
    order: list[str] = []

    async def slowly() -> None:
        await anyio.lowlevel.checkpoint()
        order.append("async")

    def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: order.append("first"))
        ctx.defer(slowly)
        ctx.defer(lambda: order.append("last"))

    async with open_root() as root:
        fiber = await root.mount(plugin("p", apply))
        assert fiber.state == "active"
        await fiber.dispose()
        assert fiber.state == "disposed"
    assert order == ["last", "async", "first"]


async def test_effects_accept_managers_callables_and_generators() -> None:
    order: list[str] = []

    def note(text: str) -> Callable[[], None]:
        return lambda: order.append(text)

    @asynccontextmanager
    async def async_manager() -> AsyncIterator[str]:
        yield "async value"
        order.append("async manager")

    @contextmanager
    def sync_manager() -> Iterator[str]:
        yield "sync value"
        order.append("sync manager")

    def yields() -> Iterator[Callable[[], None]]:
        yield note("yielded 1")
        yield note("yielded 2")

    async def yields_async() -> AsyncIterator[Callable[[], None]]:
        yield note("async yielded")

    async def returns() -> Callable[[], None]:
        return note("returned")

    async with open_root() as root:
        assert await root.enter(async_manager()) == "async value"
        assert await root.enter(sync_manager()) == "sync value"
        for action in (
            async_manager(),
            sync_manager(),
            yields,
            yields_async,
            returns,
            lambda: None,
        ):
            await root.effect(action)
    assert order == [
        "returned",
        "async yielded",
        "yielded 2",
        "yielded 1",
        "sync manager",
        "async manager",
        "sync manager",
        "async manager",
    ]


async def test_effect_that_fails_midway_undoes_what_it_had_done(
    caplog: pytest.LogCaptureFixture,
) -> None:
    order: list[str] = []

    def breaks() -> Iterator[Callable[[], object]]:
        yield lambda: order.append("undone")
        yield lambda: 1 / 0
        raise KeyError("midway")

    async with open_root() as root:
        with pytest.raises(KeyError, match="midway"):
            await root.effect(breaks)
        assert order == ["undone"]
        assert "ZeroDivisionError" in caplog.text


async def test_disposer_undoes_once_and_later_calls_wait_for_it() -> None:
    order: list[str] = []
    gate = anyio.Event()

    async def slowly() -> None:
        await gate.wait()
        order.append("undone")

    async def second(dispose: Callable[[], Awaitable[None]]) -> None:
        await dispose()
        order.append("second")

    async with open_root() as root:
        dispose = root.defer(slowly)
        async with anyio.create_task_group() as group:
            group.start_soon(dispose)
            group.start_soon(second, dispose)
            await anyio.wait_all_tasks_blocked()
            gate.set()
        await dispose()
    assert order == ["undone", "second"]


async def test_disposer_finishes_when_its_caller_is_cancelled() -> None:
    order: list[str] = []

    async def slowly() -> None:
        await anyio.lowlevel.checkpoint()
        order.append("undone")

    async with open_root() as root:
        dispose = root.defer(slowly)
        with anyio.CancelScope() as scope:
            scope.cancel()
            await dispose()
    assert order == ["undone"]


async def test_failing_disposers_stop_no_other_and_are_raised_together() -> None:
    order: list[str] = []

    def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: order.append("kept going"))
        ctx.defer(lambda: {}["missing"])
        ctx.defer(lambda: 1 / 0)

    async with open_root() as root:
        parent = await root.mount(plugin("parent", apply))
        with pytest.raises(ExceptionGroup) as caught:
            await parent.dispose()
        await parent.dispose()
    assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError, KeyError]
    assert order == ["kept going"]


async def test_failures_of_descendants_arrive_in_one_flat_group() -> None:
    async def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: {}["parent"])
        await ctx.mount(plugin("child", lambda ctx, config: ctx.defer(lambda: 1 / 0) and None))

    with pytest.raises(ExceptionGroup) as caught:
        async with open_root() as root:
            await root.mount(plugin("parent", apply))
    assert [type(error) for error in caught.value.exceptions] == [ZeroDivisionError, KeyError]


async def test_ended_fiber_owns_nothing_more() -> None:
    contexts: list[Context] = []
    async with open_root() as root:
        fiber = await root.mount(plugin("p", lambda ctx, config: contexts.append(ctx)))
        await fiber.dispose()
        (ctx,) = contexts
        for use in (
            lambda: ctx.defer(lambda: None),
            lambda: ctx.provide("key", 1),
            lambda: ctx.require("key"),
        ):
            with pytest.raises(LifecycleError) as caught:
                use()
            assert codes(caught) == "fiber-inactive"
        for awaited in (
            ctx.effect(lambda: None),
            ctx.enter(anyio.create_task_group()),
            ctx.mount(plugin("q")),
            fiber.update({}),
            fiber.wait(),
        ):
            with pytest.raises(LifecycleError) as caught:
                await awaited
            assert codes(caught) == "fiber-inactive"
        assert ctx.get("key") is None
        assert ctx.fiber is fiber


# Children


async def test_children_end_with_their_parent_in_reverse_order() -> None:
    trace = Trace()

    async def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: trace.events.append("parent down"))
        await ctx.mount(trace.plugin("a"))
        await ctx.mount(trace.plugin("b"))

    async with open_root() as root:
        parent = await root.mount(plugin("parent", apply))
        await parent.dispose()
    assert trace.events == ["a up", "b up", "b down", "a down", "parent down"]


async def test_fiber_unmounted_out_of_order_leaves_task_groups_intact() -> None:
    done: list[str] = []

    def worker(name: str) -> Plugin:
        async def work() -> None:
            try:
                await anyio.sleep_forever()
            finally:
                done.append(name)

        async def apply(ctx: Context, _config: object) -> None:
            group = await ctx.enter(anyio.create_task_group())
            ctx.defer(group.cancel_scope.cancel)
            group.start_soon(work)

        return plugin(name, apply)

    before = tasks()
    async with open_root() as root:
        first, second, third = [await root.mount(worker(name)) for name in ("a", "b", "c")]
        await anyio.wait_all_tasks_blocked()
        await first.dispose()
        await third.dispose()
        assert second.state == "active"
    assert done == ["a", "c", "b"]
    assert tasks() == before


async def test_entry_id_is_that_of_the_nearest_mounted_location() -> None:
    seen: list[str | None] = []

    async def inner(ctx: Context, _config: object) -> None:
        seen.append(ctx.entry_id)

    async def outer(ctx: Context, _config: object) -> None:
        seen.append(ctx.entry_id)
        await ctx.mount(plugin("inner", inner))
        await ctx.mount(plugin("inner", inner), entry_id="own")

    async with open_root() as root:
        await root.mount(plugin("inner", inner))
        await root.mount(plugin("outer", outer), entry_id="row")
    assert seen == [None, "row", "row", "own"]


# Start, failure, configuration


async def test_startup_failure_reaches_the_mounter_and_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trace = Trace()

    def apply(ctx: Context, _config: object) -> None:
        ctx.defer(lambda: trace.events.append("undone"))
        ctx.defer(lambda: 1 / 0)
        raise KeyError("no start")

    before = tasks()
    async with open_root() as root:
        healthy = await root.mount(trace.plugin("healthy"))
        with pytest.raises(KeyError, match="no start"):
            await root.mount(plugin("broken", apply))
        assert healthy.state == "active"
        assert trace.take() == ["healthy up", "undone"]
        assert "ZeroDivisionError" in caplog.text
    assert tasks() == before


async def test_cancelled_mounter_takes_the_loading_fiber_along() -> None:
    trace = Trace()

    async def apply(ctx: Context, _config: object) -> None:
        async def finish() -> None:
            await anyio.lowlevel.checkpoint()
            trace.events.append("undone")

        group = await ctx.enter(anyio.create_task_group())
        ctx.defer(group.cancel_scope.cancel)
        ctx.defer(finish)
        await anyio.sleep_forever()

    before = tasks()
    async with open_root() as root:
        with anyio.move_on_after(0.01) as scope:
            await root.mount(plugin("slow", apply))
        assert scope.cancelled_caught
        assert trace.events == ["undone"]
        assert tasks() == before
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0


@asynccontextmanager
async def takes_time_to_leave(events: list[str], name: str) -> AsyncIterator[None]:
    yield
    await anyio.lowlevel.checkpoint()
    events.append(f"{name} left")


async def test_manager_is_left_completely_when_loading_is_cancelled() -> None:
    events: list[str] = []

    async def apply(ctx: Context, _config: object) -> None:
        await ctx.enter(takes_time_to_leave(events, "manager"))
        await anyio.sleep_forever()

    async with open_root() as root:
        with anyio.move_on_after(0.01):
            await root.mount(plugin("slow", apply))
        assert events == ["manager left"]


async def test_manager_of_the_root_is_left_completely_when_it_is_cancelled() -> None:
    events: list[str] = []
    with anyio.move_on_after(0.01):
        async with open_root() as root:
            await root.enter(takes_time_to_leave(events, "manager"))
            await anyio.sleep_forever()
    assert events == ["manager left"]


async def test_cancellation_of_the_root_undoes_in_order() -> None:
    trace = Trace()

    async def lives() -> None:
        async with open_root() as root:
            for name in ("a", "b", "c"):
                await root.mount(trace.plugin(name))
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        group.start_soon(lives)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert trace.events == ["a up", "b up", "c up", "c down", "b down", "a down"]


async def test_configuration_is_validated_before_anything_is_mounted() -> None:
    started: list[int] = []
    numbered = Plugin(
        name="n",
        apply=lambda ctx, config: started.append(config.number),
        config_model=Numbered,
    )
    async with open_root() as root:
        with pytest.raises(ConfigurationError) as caught:
            await root.mount(numbered, {"numbr": 1})
        assert codes(caught) == "config-invalid"
        assert started == []
        await root.mount(numbered, {"number": 1})
        await root.mount(numbered, Numbered(number=2))
        await root.mount(numbered)
    assert started == [1, 2, 0]


async def test_update_restarts_and_an_invalid_update_touches_nothing() -> None:
    events: list[str] = []

    def apply(ctx: Context, config: Numbered) -> None:
        events.append(f"up {config.number}")
        ctx.defer(lambda: events.append(f"down {config.number}"))
        if config.number == 3:
            raise KeyError("three")

    numbered = Plugin(name="n", apply=apply, config_model=Numbered)
    async with open_root() as root:
        fiber = await root.mount(numbered, {"number": 1})
        with pytest.raises(ConfigurationError):
            await fiber.update({"number": "many"})
        assert (fiber.state, fiber.config) == ("active", Numbered(number=1))
        await fiber.update({"number": 2})
        assert events == ["up 1", "down 1", "up 2"]
        with pytest.raises(KeyError):
            await fiber.update({"number": 3})
        assert fiber.state == "failed"
        assert isinstance(fiber.error, KeyError)
        with pytest.raises(KeyError):
            await fiber.wait()
        await fiber.update({"number": 4})
        assert (fiber.state, fiber.error) == ("active", None)
    assert events[3:] == ["down 2", "up 3", "down 3", "up 4", "down 4"]


async def test_fiber_cannot_wait_for_its_own_end() -> None:
    async def apply(ctx: Context, _config: object) -> None:
        await ctx.fiber.dispose()

    async with open_root() as root:
        with pytest.raises(LifecycleError) as caught:
            await root.mount(plugin("p", apply))
    assert codes(caught) == "fiber-own-end"


async def test_root_fiber_ends_with_its_block_only() -> None:
    async with open_root() as root:
        await root.fiber.dispose()
        assert root.fiber.state == "active"
        assert root.fiber.config == NoConfig()
    assert root.fiber.state == "disposed"


async def test_broken_task_group_fails_the_fiber_and_undoes_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    trace = Trace()
    fuse = anyio.Event()

    async def burns() -> None:
        await fuse.wait()
        raise KeyError("burnt")

    @asynccontextmanager
    async def late_exit() -> AsyncIterator[None]:
        yield
        await anyio.lowlevel.checkpoint()
        trace.events.append("never: the broken scope cancels it")

    async def apply(ctx: Context, _config: object) -> None:
        async def finish() -> None:
            await anyio.lowlevel.checkpoint()
            trace.events.append("undone")

        ctx.defer(finish)
        group = await ctx.enter(anyio.create_task_group())
        await ctx.enter(late_exit())
        ctx.defer(finish)
        group.start_soon(burns)

    before = tasks()
    async with open_root() as root:
        healthy = await root.mount(trace.plugin("healthy"))
        fiber = await root.mount(plugin("fragile", apply))
        fuse.set()
        with anyio.fail_after(1):
            while fiber.state != "failed":
                await anyio.lowlevel.checkpoint()
        assert isinstance(fiber.error, ExceptionGroup)
        assert [type(error) for error in fiber.error.exceptions] == [KeyError]
        assert trace.take() == ["healthy up", "undone", "undone"]
        assert healthy.state == "active"
        await fiber.dispose()
    assert tasks() == before


@pytest.mark.requirement("core:foreign:contained")
@pytest.mark.parametrize("error", [SystemExit(1), BaseException(), KeyboardInterrupt()], ids=repr)
async def test_plugin_that_tries_to_end_the_process_only_fails(error: BaseException) -> None:
    def apply(ctx: Context, _config: object) -> None:
        raise error

    async with open_root() as root:
        healthy = await root.mount(plugin("healthy"))
        with pytest.raises(LifecycleError) as caught:
            await root.mount(plugin("rude", apply))
        assert codes(caught) == "fiber-broken"
        assert healthy.state == "active"


async def test_an_undoing_that_tries_to_end_the_process_only_fails() -> None:
    def leave() -> None:
        raise SystemExit(1)

    def apply(ctx: Context, _config: object) -> None:
        ctx.defer(leave)

    async with open_root() as root:
        rude = await root.mount(plugin("rude", apply))
        with pytest.raises(ExceptionGroup) as caught:
            await rude.dispose()
        assert [type(error) for error in caught.value.exceptions] == [LifecycleError]


async def test_scope_cancelled_from_inside_fails_the_fiber() -> None:
    groups: list[Any] = []

    async def apply(ctx: Context, _config: object) -> None:
        groups.append(await ctx.enter(anyio.create_task_group()))

    async with open_root() as root:
        fiber = await root.mount(plugin("p", apply))
        groups[0].cancel_scope.cancel()
        await anyio.wait_all_tasks_blocked()
        assert fiber.state == "failed"
        assert isinstance(fiber.error, ExceptionGroup)
        (error,) = fiber.error.exceptions
        assert isinstance(error, LifecycleError)
        assert error.code == "fiber-broken"


async def test_exception_of_the_root_block_has_precedence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def lives() -> None:
        async with open_root() as root:
            root.defer(lambda: 1 / 0)
            raise KeyError("body")

    with pytest.raises(KeyError, match="body"):
        await lives()
    assert "ZeroDivisionError" in caplog.text


async def test_broken_task_group_of_the_root_surfaces_at_its_end() -> None:
    async def burns() -> None:
        raise KeyError("burnt")

    async def lives() -> None:
        async with open_root() as root:
            group = await root.enter(anyio.create_task_group())
            group.start_soon(burns)
            await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as caught:
        await lives()
    assert [type(error) for error in caught.value.exceptions] == [KeyError]
